"""Ruling U13: what is cut where a cycle may do only so much."""

from dataclasses import replace

import pytest

from bigfleet.model.fleet import Fleet, Marks, PlanOptions
from bigfleet.model.machines import CapacityType
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import ZONE_KEY, Operator, Requirement
from bigfleet.plan.cycle import decide_fleet
from bigfleet.plan.rails import kept_of
from tests.worlds import gpus
from tests.worlds.fleets import NOW, fleet_of
from tests.worlds.gpus import MILLION, plain


def in_zone(zone: str) -> Requirement:
    return Requirement.of(ZONE_KEY, Operator.IN, [zone])


def busy_fleet() -> Fleet:
    """One of each: the highest Need takes an Idle machine, a lower one must preempt for its own."""
    low, middle, high = (plain(c, p, 1) for c, p in (("low", 0), ("mid", 500), ("high", MILLION)))
    needs = [
        replace(need, profile=replace(need.profile, requirements=(in_zone(zone),)))
        for need, zone in ((low, "a"), (middle, "a"), (high, "b"))
    ]
    spot = Marks(idle_since=NOW - 3600 * SECOND)
    machines = [
        gpus.bound("a-victim", "low", 0, zone="a"),
        gpus.bound("c-excess", "low", 0, zone="c"),
        gpus.host("b-idle", zone="b"),
        gpus.host("z-old", zone="c", capacity_type=CapacityType.SPOT, marks=spot),
    ]
    return fleet_of(machines, needs, now=NOW)


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (1, ["b-idle"]),
        (2, ["b-idle", "a-victim"]),
        (3, ["b-idle", "a-victim", "c-excess"]),
        (4, ["b-idle", "a-victim", "c-excess", "z-old"]),
    ],
)
def test_the_highest_need_comes_first_then_reclaims_then_deletes(
    budget: int, kept: list[str]
) -> None:
    """U13."""
    fleet = replace(busy_fleet(), plan=PlanOptions(max_actions_per_cycle=budget))
    within = kept_of(decide_fleet(fleet), fleet)
    assert [action.machine for action in within.actions] == kept
    assert within.deferred == 4 - budget
