"""Phase 1 for plain Needs: what is bound counts first, then Idle machines, then slots."""

from bigfleet.bench.engine.catalog import CAT6
from bigfleet.model.actions import Rule
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from tests.worlds import gpus, racks
from tests.worlds.fleets import (
    UNREPORTED,
    bootstrapped,
    decided,
    machine,
    provisioned,
    unsatisfied,
    verdict_of,
)
from tests.worlds.gpus import MILLION


def test_idle_machines_are_bootstrapped_for_the_cluster_that_asks() -> None:
    """P1."""
    decision = decided(gpus.idle(4), [gpus.plain("cluster-a", 0, 3)])
    assert [(a.kind.label, a.cluster, a.rule) for a in decision.actions] == [
        ("Bootstrap", "cluster-a", Rule.IDLE)
    ] * 3
    assert len({a.machine for a in decision.actions}) == 3
    assert unsatisfied(decision) == []


def test_of_two_slots_the_cheaper_is_provisioned() -> None:
    """P2."""
    decision = decided([gpus.slot("dear", 6.0), gpus.slot("near", 1.0)], [gpus.plain("c", 0, 1)])
    assert [(a.kind.label, a.machine, a.rule) for a in decision.actions] == [
        ("Provision", "near", Rule.SPECULATIVE)
    ]


def test_where_interruptions_are_dear_the_safe_slot_is_provisioned() -> None:
    """P3."""
    need = gpus.need("c", gpus.profile(0, interruption=bucket_of_dollars(8_388_608)), 1)
    spot = gpus.host(
        "a-spot",
        MachineState.SPECULATIVE,
        capacity_type=CapacityType.SPOT,
        price=1.8,
        probability=0.1,
    )
    assert provisioned(decided([spot, gpus.slot("b-demand", 6.0)], [need])) == ["b-demand"]


def test_an_idle_machine_goes_before_a_cheaper_slot() -> None:
    """P4."""
    decision = decided([gpus.host("idle"), gpus.slot("slot", 1.0, 0.05)], [gpus.plain("c", 0, 1)])
    assert (bootstrapped(decision), provisioned(decision)) == (["idle"], [])


def test_what_a_cluster_has_is_enough() -> None:
    """P5."""
    decision = decided(gpus.bound_many(2, "c"), [gpus.plain("c", 0, 2)])
    assert decision.actions == ()
    assert unsatisfied(decision) == []


def test_what_can_be_had_is_taken_and_the_rest_is_deficit() -> None:
    """P6."""
    decision = decided(gpus.idle(2), [gpus.plain("c", 0, 5)])
    assert len(bootstrapped(decision)) == 2
    assert verdict_of(decision).deficit == gpus.gpus(24)


def test_the_higher_need_is_served_first_wherever_it_stands() -> None:
    """P7."""
    needs = [gpus.plain("c", 0, 2), gpus.plain("c", MILLION, 2)]
    decision = decided(gpus.idle(2), needs)
    assert [verdict_of(decision, n).bootstraps for n in (0, 1)] == [0, 2]
    assert unsatisfied(decision) == [0]


def test_many_needs_of_one_profile_share_what_is_bound_and_what_is_idle() -> None:
    """P8."""
    machines = gpus.bound_many(5, "c") + gpus.idle(25)
    decision = decided(machines, [gpus.plain("c", 0, 1, f"g-{i}") for i in range(30)])
    assert len(bootstrapped(decision)) == 25
    assert unsatisfied(decision) == []


def test_every_dimension_must_be_covered() -> None:
    """P9: CPU is there for ten pods, memory only for eight."""
    pod = racks.cpus(1, 4)
    bound = racks.m5("m", MachineState.CONFIGURED, cluster="c", offered=racks.cpus(16, 32))
    decision = decided([bound], [Need("c", racks.profile(), pod.times(10), pod)])
    assert decision.actions == ()
    assert verdict_of(decision).deficit == racks.cpus(0, 8)


def test_a_machine_serves_as_many_units_as_it_holds() -> None:
    """P11: hosts of ten units each."""
    machines = [gpus.host(f"m-{i:02d}", offered=gpus.units(10)) for i in range(16)]
    decision = decided(machines, [gpus.plain("c", 0, 100)])
    assert len(bootstrapped(decision)) == 10
    assert unsatisfied(decision) == []


def test_an_archetype_of_the_catalog_finds_its_machines() -> None:
    """P12."""
    batch = next(a for a in CAT6 if a.name == "cpu-batch")
    unit = batch.sizes[0]
    profile = Profile.of([racks.of_type(*batch.types)], priority=batch.priorities[0])
    machines = [
        machine(
            f"m-{i:03d}",
            MachineState.IDLE,
            unit.times(2),
            instance_type=batch.types[i % len(batch.types)],
            zone=batch.zones[i % len(batch.zones)],
        )
        for i in range(100)
    ]
    needs = [Need(f"c-{i}", profile, unit.times(2), unit) for i in range(50)]
    assert len(bootstrapped(decided(machines, needs))) > 0


def test_verdicts_say_who_got_what_and_whether_supply_exists_at_all() -> None:
    """V1."""
    needs = [gpus.plain("a", 2 * MILLION, 1), gpus.plain("z", MILLION, 1)]
    decision = decided([gpus.host("m")], needs)
    assert len(decision.verdicts) == 2
    served, starved = verdict_of(decision, 0), verdict_of(decision, 1)
    assert (served.satisfied, served.bootstraps, served.claimed) == (True, 1, ("m",))
    assert (starved.satisfied, starved.claimed, starved.matching_supply) == (False, (), True)


def test_an_empty_inventory_has_no_matching_supply() -> None:
    """V2."""
    verdict = verdict_of(decided([], [gpus.plain("c", 0, 1)]))
    assert (verdict.satisfied, verdict.matching_supply) == (False, False)


def test_a_machine_that_serves_a_higher_cluster_is_still_matching_supply() -> None:
    """V3."""
    taken = gpus.bound("m", "other", 2 * MILLION)
    verdict = verdict_of(decided([taken], [gpus.plain("c", MILLION, 1)], options=UNREPORTED))
    assert (verdict.claimed, verdict.matching_supply) == ((), True)
