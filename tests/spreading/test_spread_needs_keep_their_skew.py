"""Phase 1 for strict Spread Needs: no domain gets ahead of the emptiest by more than the skew."""

from collections import Counter
from dataclasses import replace

import pytest

from bigfleet.model.actions import UnmetReason
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Spread, WhenUnsatisfiable
from bigfleet.model.requirements import ZONE_KEY
from tests.worlds import gpus, racks
from tests.worlds.fleets import bootstrapped, decided, provisioned, verdict_of
from tests.worlds.gpus import STRICT_ZONES, zoned
from tests.worlds.racks import STRICT_RACKS, in_rack

LOOSE_ZONES = Spread(ZONE_KEY, 1, WhenUnsatisfiable.SCHEDULE_ANYWAY)


def spread_need(count: int, spread: Spread = STRICT_ZONES) -> Need:
    return gpus.need("c", gpus.profile(0, spread=(spread,)), count)


def taken_by_zone(machines: list[FleetMachine], need: Need) -> Counter[str]:
    return Counter(name.split("-")[0] for name in bootstrapped(decided(machines, [need])))


def test_three_zones_share_evenly() -> None:
    """T1."""
    machines = zoned("a", 4) + zoned("b", 4) + zoned("c", 4)
    assert taken_by_zone(machines, spread_need(6)) == {"a": 2, "b": 2, "c": 2}


def test_an_exhausted_zone_holds_the_others_back() -> None:
    """T2."""
    decision = decided(zoned("a", 1) + zoned("b", 5) + zoned("c", 5), [spread_need(6)])
    taken = Counter(name.split("-")[0] for name in bootstrapped(decision))
    assert taken.total() == 5
    assert max(taken.values()) - min(taken.values()) <= 1
    assert verdict_of(decision).deficit == gpus.gpus(8)
    assert verdict_of(decision).unmet_reason is UnmetReason.TOPOLOGY_UNSATISFIABLE


def test_a_spread_that_may_be_ignored_is_ignored() -> None:
    """T4."""
    machines = zoned("a", 6, price=1) + zoned("b", 2, price=5)
    assert taken_by_zone(machines, spread_need(4, LOOSE_ZONES)) == {"a": 4}


def test_a_dear_zone_is_used_as_much_as_a_cheap_one() -> None:
    """T5."""
    machines = zoned("a", 3, price=1) + zoned("b", 3, price=5)
    assert taken_by_zone(machines, spread_need(4)) == {"a": 2, "b": 2}


def test_three_racks_give_one_machine_each() -> None:
    """K12."""
    machines = in_rack("a", 2) + in_rack("b", 2) + in_rack("c", 2)
    need = Need("c", racks.profile(100, spread=[STRICT_RACKS]), racks.cpus(12), racks.cpus(4))
    assert taken_by_zone(machines, need) == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize(("skew", "most"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_a_wider_skew_lets_one_zone_go_further_ahead(skew: int, most: int) -> None:
    """An empty zone in sight, whose only machine comes last; a skew of zero counts as one."""
    machines = [*zoned("a", 5, price=1), *zoned("b", 1, price=9)]
    spread = replace(STRICT_ZONES, max_skew=skew)
    taken = taken_by_zone(machines, spread_need(most + 1, spread))
    assert taken == {"a": most, "b": 1}


def test_skew_holds_over_what_is_bound_idle_and_still_to_be_bought() -> None:
    """U5: two are bound in a, so b comes first, with its idle machine and then with a slot."""
    bound = gpus.bound_many(2, "c", zone="a")
    slots = [gpus.host(f"b-slot-{i}", MachineState.SPECULATIVE, zone="b") for i in range(2)]
    machines = bound + zoned("a", 3) + zoned("b", 1) + slots
    decision = decided(machines, [spread_need(6)])
    assert bootstrapped(decision) == ["a-0", "b-0"]
    assert provisioned(decision) == ["b-slot-0", "b-slot-1"]
    assert verdict_of(decision).satisfied


def test_a_machine_without_a_zone_serves_no_spread_need() -> None:
    decision = decided([gpus.host("nowhere"), *zoned("a", 1)], [spread_need(2)])
    assert bootstrapped(decision) == ["a-0"]


def test_where_a_gang_is_also_spread_the_gang_wins() -> None:
    need = gpus.need("c", gpus.profile(0, same_zone=True, spread=(STRICT_ZONES,)), 3)
    assert taken_by_zone(zoned("a", 3) + zoned("b", 3), need).total() == 3
    assert len(taken_by_zone(zoned("a", 3) + zoned("b", 3), need)) == 1
