"""Phase 1 for gangs: all machines of a Same Need share one value, chosen once a cycle."""

from collections import Counter
from dataclasses import replace

import pytest

from bigfleet.model.fleet import FleetMachine, Held, HeldBy, Marks
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory, ReservationKind
from bigfleet.model.needs import Need
from tests.worlds import gpus, racks
from tests.worlds.fleets import (
    bootstrapped,
    decided,
    memory_of,
    reclaimed,
    reserved,
    verdict_of,
)
from tests.worlds.racks import in_rack, m5, rack_gang

CONFIGURED, CONFIGURING = MachineState.CONFIGURED, MachineState.CONFIGURING


def zones_of(names: list[str]) -> Counter[str]:
    return Counter(name.split("-")[0] for name in names)


def test_a_gang_is_served_from_one_zone() -> None:
    """S1."""
    decision = decided(gpus.zoned("a", 3) + gpus.zoned("b", 3), [gpus.gang("c", 0, 3)])
    assert list(zones_of(bootstrapped(decision)).values()) == [3]


def test_the_zone_that_holds_the_whole_gang_is_chosen() -> None:
    """S2."""
    decision = decided(gpus.zoned("a", 4) + gpus.zoned("b", 2), [gpus.gang("c", 0, 4)])
    assert zones_of(bootstrapped(decision)) == {"a": 4}


def test_a_gang_too_large_for_any_zone_takes_what_one_of_them_offers() -> None:
    """S3."""
    decision = decided(gpus.zoned("a", 3) + gpus.zoned("b", 3), [gpus.gang("c", 0, 5)])
    assert list(zones_of(bootstrapped(decision)).values()) == [3]
    assert verdict_of(decision).deficit == gpus.gpus(16)
    assert not verdict_of(decision).same_satisfiable


def test_one_machine_that_holds_the_whole_gang_is_enough() -> None:
    """S4: hosts of a hundred units each."""
    machines = [gpus.host(f"m-{i}", zone="a", offered=gpus.gpus(800)) for i in range(8)]
    decision = decided(machines, [gpus.gang("c", 0, 8)])
    assert len(decision.actions) == 1
    assert verdict_of(decision).satisfied


def test_the_rack_that_covers_the_gang_is_taken_whole() -> None:
    """K7: found through the recorded domain; without one a gang acquires nothing (U10)."""
    decision = decided(in_rack("a", 1) + in_rack("b", 2), [rack_gang("c", 8)])
    assert bootstrapped(decision) == ["b-1", "b-2"]


def test_where_no_rack_covers_the_gang_the_fullest_is_taken() -> None:
    """K8: as K7."""
    decision = decided(in_rack("a", 1) + in_rack("b", 3), [rack_gang("c", 20)])
    assert bootstrapped(decision) == ["b-1", "b-2", "b-3"]


def test_credit_is_taken_in_the_rack_that_covers_the_gang() -> None:
    """K18: what is bound in the other rack stays unclaimed and is excess."""
    machines = in_rack("a", 2, CONFIGURED, cluster="c") + in_rack("b", 3, CONFIGURED, cluster="c")
    decision = decided(machines, [rack_gang("c", 12)])
    assert verdict_of(decision).claimed == ("b-1", "b-2", "b-3")
    assert reclaimed(decision) == ["a-1", "a-2"]


def test_where_no_rack_covers_the_gang_it_keeps_one_of_them() -> None:
    """K19."""
    machines = in_rack("a", 2, CONFIGURED, cluster="c") + in_rack("b", 2, CONFIGURED, cluster="c")
    verdict = verdict_of(decided(machines, [rack_gang("c", 12)]))
    assert list(zones_of(list(verdict.claimed)).values()) == [2]
    assert verdict.deficit == racks.cpus(4)


def test_configured_members_are_credited_before_configuring_ones() -> None:
    """K20."""
    machines = [
        m5("a-1", CONFIGURING, rack="a", cluster="c"),
        m5("a-2", CONFIGURING, rack="a", cluster="c"),
        m5("a-3", CONFIGURED, rack="a", cluster="c"),
    ]
    verdict = verdict_of(decided(machines, [rack_gang("c", 8)]))
    assert "a-3" in verdict.claimed
    assert len(verdict.claimed) == 2
    assert verdict.satisfied


def test_a_free_rack_that_covers_the_gang_beats_a_bound_one_that_does_not() -> None:
    machines = in_rack("a", 1, CONFIGURED, cluster="c") + in_rack("b", 2)
    decision = decided(machines, [rack_gang("c", 8)])
    assert verdict_of(decision).domain == "b"
    assert bootstrapped(decision) == ["b-1", "b-2"]


def test_without_cover_anywhere_three_free_machines_beat_two_bound_ones() -> None:
    machines = in_rack("a", 2, CONFIGURED, cluster="c") + in_rack("b", 3)
    assert verdict_of(decided(machines, [rack_gang("c", 20)])).domain == "b"


EARLIER_GANG = rack_gang("other", 8, priority=500)
OFFERS = memory_of(
    *(reserved(name, EARLIER_GANG, kind=ReservationKind.OFFER) for name in ("b-1", "b-2"))
)
HELD = [replace(entry, marks=Marks(held=Held(HeldBy.UNSEEN))) for entry in in_rack("b", 2)]


@pytest.mark.parametrize(
    ("rack_b", "others", "memory"),
    [
        pytest.param(in_rack("b", 2), [EARLIER_GANG], EngineMemory(), id="by an earlier gang"),
        pytest.param(in_rack("b", 2), [], OFFERS, id="by another shard"),
        pytest.param(HELD, [], EngineMemory(), id="by no Need, but not in sight"),
    ],
)
def test_a_rack_that_is_held_is_not_counted_on(
    rack_b: list[FleetMachine], others: list[Need], memory: EngineMemory
) -> None:
    """K22."""
    machines = in_rack("a", 1, CONFIGURED, cluster="c") + rack_b
    verdict = verdict_of(decided(machines, [rack_gang("c", 8), *others], memory=memory))
    assert (verdict.domain, verdict.claimed) == ("a", ("a-1",))


def test_earlier_gangs_leave_later_ones_what_they_do_not_need() -> None:
    """K23."""
    machines = in_rack("a", 2, CONFIGURED, cluster="c") + in_rack("b", 2)
    decision = decided(machines, [rack_gang("c", 8, "g-1"), rack_gang("c", 8, "g-2")])
    first, second = verdict_of(decision, 0), verdict_of(decision, 1)
    assert (first.domain, first.claimed, first.bootstraps) == ("a", ("a-1", "a-2"), 0)
    assert (second.domain, second.claimed, second.bootstraps) == ("b", ("b-1", "b-2"), 2)
