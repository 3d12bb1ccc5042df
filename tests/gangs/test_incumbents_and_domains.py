"""A gang goes where it already is; a value that is empty, or spoken for, is not a place to go."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.fleet import Marks
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from tests.worlds.fleets import bootstrapped, decided, preempted, reclaimed, verdict_of
from tests.worlds.racks import (
    SAME_RACK,
    cpus,
    in_rack,
    m5,
    own_stamp,
    profile,
    rack_gang,
    small_need,
)

CONFIGURED = MachineState.CONFIGURED


def test_two_gangs_of_one_profile_keep_each_its_own_rack() -> None:
    """D15: in either order, and though the racks are alike."""
    first, second = rack_gang("c", 12, "g-1"), rack_gang("c", 12, "g-2")
    machines = in_rack("b", 3, CONFIGURED, cluster="c", stamp=own_stamp(first))
    machines += in_rack("a", 3, CONFIGURED, cluster="c", stamp=own_stamp(second))
    for needs in ([first, second], [second, first]):
        decision = decided(machines, needs)
        assert verdict_of(decision, needs.index(first)).domain == "b"
        assert verdict_of(decision, needs.index(second)).domain == "a"
        assert decision.actions == ()


@given(
    gangs=st.integers(2, 6),
    machines_each=st.integers(1, 4),
    parked=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
def test_gangs_that_fit_no_rack_keep_each_its_own_machines(
    gangs: int, machines_each: int, parked: bool, chance: Random
) -> None:
    """E34, as a law: racks that are alike are never swapped, in whatever order gangs come."""
    wanted = 4 * (machines_each + 1)
    needs = [rack_gang("c", wanted, f"g-{i}", parked=parked) for i in range(gangs)]
    racks = chance.sample("abcdefgh", gangs)
    machines = [
        each
        for need, rack in zip(needs, racks, strict=True)
        for each in in_rack(rack, machines_each, CONFIGURED, cluster="c", stamp=own_stamp(need))
    ]
    home = dict(zip((need.group for need in needs), racks, strict=True))
    chance.shuffle(needs)
    decision = decided(machines, needs)
    assert decision.actions == ()
    for row, need in enumerate(needs):
        verdict, rack = verdict_of(decision, row), home[need.group]
        assert verdict.domain == rack
        assert verdict.claimed == tuple(f"{rack}-{i}" for i in range(1, machines_each + 1))


def test_a_parked_gang_that_lost_most_keeps_the_machine_that_is_its_own() -> None:
    """E34, loop 30751: a higher gang took two of its three; one that the higher gang left, in a
    rack whose name comes first, is as good, and not its own."""
    higher, parked = rack_gang("c", 8, "high", priority=1000), rack_gang("c", 24, "p", parked=True)
    machines = in_rack("b", 3, CONFIGURED, cluster="c", stamp=own_stamp(parked))
    machines += in_rack("a", 1, CONFIGURED, cluster="c", stamp=own_stamp(higher))
    decision = decided(machines, [higher, parked])
    assert verdict_of(decision, 0).claimed == ("b-1", "b-2")
    assert verdict_of(decision, 1).claimed == ("b-3",)
    assert reclaimed(decision) == ["a-1"]


def test_a_gang_leaves_its_own_machine_for_the_rack_that_preemption_completes() -> None:
    """ADR-0015: were it to stay in the rack where it is, it would never run."""
    need = rack_gang("c", 20, "g", priority=1000)
    machines = in_rack("a", 1, CONFIGURED, cluster="c", stamp=own_stamp(need))
    machines += [*in_rack("b", 4), m5("b-5", CONFIGURED, rack="b", cluster="other")]
    decision = decided(machines, [need, small_need("other", 4, priority=1)])
    assert bootstrapped(decision) == ["b-1", "b-2", "b-3", "b-4"]
    assert preempted(decision) == ["b-5"]
    assert reclaimed(decision) == ["a-1"]


def test_own_incumbents_are_credited_before_cheaper_strangers() -> None:
    need = rack_gang("c", 4, "g-1")
    machines = [
        m5("a-cheap", CONFIGURED, rack="a", cluster="c", price=0.1),
        m5("b-own", CONFIGURED, rack="a", cluster="c", price=9.0, stamp=own_stamp(need)),
    ]
    decision = decided(machines, [need])
    assert verdict_of(decision).claimed == ("b-own",)
    assert reclaimed(decision) == ["a-cheap"]


def test_an_empty_label_is_not_a_domain() -> None:
    """U9."""
    machines = [
        m5("m-1", rack=""),
        m5("m-2", rack=""),
        m5("bound", CONFIGURED, rack="", cluster="c"),
    ]
    verdict = verdict_of(decided(machines, [rack_gang("c", 8)]))
    assert (verdict.domain, verdict.claimed) == (None, ())


def test_a_gang_without_a_domain_acquires_nothing() -> None:
    """U10, and K7 and K8 as they end in a cycle: no rack is recorded, so nothing is taken."""
    decision = decided([m5("m-1"), m5("m-2")], [rack_gang("c", 8)])
    assert verdict_of(decision).domain is None
    assert decision.actions == ()


FIRST = rack_gang("a", 4, "g-1", priority=1000)
DEARER = profile(1000, SAME_RACK, interruption_dollars=4096)


def test_a_gang_of_a_lower_bucket_does_not_speak_for_what_completes_a_higher_one() -> None:
    """U22: at equal priority the bucket decides, in the pre-pass too, not the arrival."""
    assert DEARER.precedence > FIRST.profile.precedence
    second = Need("b", DEARER, cpus(8), cpus(4), group="g-2")
    machines = [m5("bound", CONFIGURED, rack="a", cluster="b"), m5("free", rack="a")]
    decision = decided(machines, [FIRST, second])
    assert verdict_of(decision, 0).claimed == ()
    assert verdict_of(decision, 1).claimed == ("bound", "free")


def test_a_gang_all_of_whose_stock_is_spoken_for_has_no_domain() -> None:
    """U10."""
    second = Need("b", DEARER, cpus(4), cpus(4), group="g-2")
    decision = decided([m5("free", rack="a")], [FIRST, second])
    assert (verdict_of(decision, 0).domain, verdict_of(decision, 0).claimed) == (None, ())
    assert verdict_of(decision, 1).claimed == ("free",)


def test_a_parked_gang_keeps_what_it_has_and_acquires_nothing() -> None:
    machines = in_rack("a", 1, CONFIGURED, cluster="c") + in_rack("b", 3)
    decision = decided(machines, [rack_gang("c", 12, parked=True)])
    verdict = verdict_of(decision)
    assert (verdict.parked, verdict.domain, verdict.claimed) == (True, "a", ("a-1",))
    assert decision.actions == ()


def parked_at(age: int) -> bool:
    need = rack_gang("c", 12, "g")
    memory = EngineMemory(parking={need.key: age})
    machines = in_rack("a", 2, CONFIGURED, cluster="c")
    return verdict_of(decided(machines, [need], memory=memory)).parked


def test_a_hopeless_gang_rests_from_its_eighth_cycle_and_tries_again_every_thirty_second() -> None:
    assert [age for age in range(70) if not parked_at(age)] == [*range(8), 32, 64]


def test_a_gang_in_the_wrong_rack_moves_as_a_whole() -> None:
    """Machines off the chosen domain are excess at once; those in it are bought."""
    machines = in_rack("a", 1, CONFIGURED, cluster="c") + in_rack("b", 2)
    decision = decided(machines, [rack_gang("c", 8)])
    assert (bootstrapped(decision), reclaimed(decision)) == (["b-1", "b-2"], ["a-1"])


def test_an_overdue_member_is_not_counted_for_its_rack() -> None:
    late = Marks(overdue=True)
    machines = [replace(m, marks=late) for m in in_rack("a", 2, CONFIGURED, cluster="c")]
    machines += in_rack("b", 2, CONFIGURED, cluster="c")
    assert verdict_of(decided(machines, [rack_gang("c", 8)])).domain == "b"
