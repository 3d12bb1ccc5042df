"""Provisioning latency: from the first sight of a cluster's fingerprint to its first machine."""

from dataclasses import replace

import pytest

from bigfleet.engine.awaited import AwaitedMachine, awaiting_in
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.cycle import deliberate
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.rig import SHOP, Rig, cores, machine
from tests.worlds.fleets import fleet_of
from tests.worlds.gpus import bound, host, plain, slot

WEEK = 7 * 24 * 3600 * SECOND
S = MachineState


def rig_with(*states: MachineState) -> Rig:
    """Machines m0, m1 ... of eight cores; what is Configured is the shop's."""
    cluster = {S.CONFIGURED: SHOP}
    machines = [machine(f"m{i}", s, cluster.get(s, "")) for i, s in enumerate(states)]
    return Rig(ShardSettings(), machines)


def latencies(rig: Rig) -> tuple[int, float]:
    """How many, and their seconds together."""
    known = rig.counts.histograms.get(("provisioning_latency_seconds", ()))
    return (known.count, known.total) if known else (0, 0.0)


def test_the_time_runs_from_the_rollup_to_configured() -> None:
    rig = rig_with(S.IDLE)
    rig.report(8)
    rig.at += 5 * SECOND
    rig.cycle()
    assert rig.states() == {"m0": S.CONFIGURED}
    assert latencies(rig) == (1, 5.0)


def test_a_need_that_found_nothing_at_first_has_waited_since_it_was_first_seen() -> None:
    rig = rig_with()
    rig.report(8)
    rig.cycle()
    rig.cycle()
    rig.insert(machine("late", S.IDLE))
    rig.at += 28 * SECOND
    rig.cycle()
    assert latencies(rig) == (1, 30.0)


def test_a_rollup_that_says_more_of_the_same_does_not_start_the_time_again() -> None:
    rig = rig_with()
    rig.report(8)
    rig.at += 10 * SECOND
    rig.report(16)
    rig.insert(machine("late", S.IDLE))
    rig.cycle()
    assert latencies(rig) == (1, 10.0)


def test_only_the_first_machine_counts() -> None:
    rig = rig_with(S.IDLE, S.IDLE)
    rig.report(16)
    rig.cycle()
    assert set(rig.states().values()) == {S.CONFIGURED}
    assert latencies(rig) == (1, 0.0)


def test_each_fingerprint_waits_for_itself() -> None:
    rig = rig_with(S.IDLE, S.IDLE)
    rig.report(8, 8)
    rig.at += 3 * SECOND
    rig.cycle()
    assert latencies(rig) == (2, 6.0)


def test_what_existing_machines_cover_is_not_measured_nor_is_its_growth() -> None:
    rig = rig_with(S.CONFIGURED, S.IDLE)
    rig.report(8)
    rig.cycle()
    rig.at += WEEK
    rig.report(16)
    rig.cycle()
    assert set(rig.states().values()) == {S.CONFIGURED}
    assert latencies(rig) == (0, 0.0)


def test_demand_that_comes_again_is_seen_for_the_first_time_again() -> None:
    rig = rig_with()
    rig.report(8, 8)
    rig.cycle()
    rig.report(8)
    rig.cycle()
    rig.at += WEEK
    rig.report(8, 8)
    rig.at += 2 * SECOND
    rig.insert(machine("m0", S.IDLE))
    rig.cycle()
    assert rig.states() == {"m0": S.CONFIGURED}, "the higher priority is the one that came again"
    assert latencies(rig) == (1, 2.0)


def test_a_cluster_that_is_sent_away_waits_for_nothing_here() -> None:
    rig = rig_with()
    rig.report(8)
    rig.cycle()
    assert len(rig.state.parts.first_machines) == 1
    rig.state.parts.ingest.forget(SHOP)
    assert len(rig.state.parts.first_machines) == 0


def test_a_cycle_does_not_judge_demand_that_came_after_it_began() -> None:
    rig = rig_with(S.IDLE)
    given = rig.state.begin_cycle(rig.at)
    rig.report(8)
    rig.obey(rig.state.end_cycle(deliberate(given, map, lambda: 0.0), rig.at, 0.0))
    rig.at += 4 * SECOND
    rig.cycle()
    assert latencies(rig) == (1, 4.0)


def test_gangs_that_fold_have_their_machine_under_the_name_of_the_fold() -> None:
    rig = rig_with()
    rig.insert(replace(machine("m0", S.IDLE), instance_type="r6i", zone="a"))
    large = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["r6i"])
    together = Profile.of([large, Requirement.of(ZONE_KEY, Operator.SAME)])
    gang = Need(SHOP, together, cores(8), cores(4), group="g")
    rig.report_needs(gang)
    rig.at += 6 * SECOND
    rig.cycle()
    stamp = rig.state.parts.machines.truth("m0").assigned
    assert stamp.need_fingerprint == together.without_same().fingerprint != together.fingerprint
    assert latencies(rig) == (1, 6.0)


@pytest.mark.parametrize(
    ("machines", "waits"),
    [
        pytest.param([], True, id="short"),
        pytest.param([host("m1")], True, id="takes an idle one"),
        pytest.param([slot("m1", 1.0)], True, id="buys one"),
        pytest.param([host("m1", S.CONFIGURING, cluster="shop")], True, id="one is coming"),
        pytest.param([bound("m1", "shop", 100)], False, id="served"),
    ],
)
def test_a_need_waits_until_configured_machines_alone_cover_it(
    machines: list[FleetMachine], waits: bool
) -> None:
    need = plain("shop", 100, 1)
    decision = cycle_input(fleet_of(machines, [need, plain("bank", 90, 9)])).decide()
    awaiting = AwaitedMachine("shop", need.profile.fingerprint, need.profile.fingerprint)
    assert awaiting_in(decision, {"shop", "nowhere"}) == ([awaiting] if waits else [])
