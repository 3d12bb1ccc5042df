"""Rulings U17 and U20: a gang that has something under its own name keeps its form."""

from dataclasses import replace

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from tests.worlds.fleets import decided, memory_of, reserved, verdict_of
from tests.worlds.racks import BIG_GANG, cpus, own_stamp, pods_gang, r6i

FOLD = EngineOptions()
GANG = pods_gang("c1", 4, "g")
FOLDED = Need("c1", BIG_GANG.without_same(), GANG.aggregate, GANG.aggregate)


def folds(
    machines: list[FleetMachine], gang: Need = GANG, memory: EngineMemory | None = None
) -> bool:
    return verdict_of(decided(machines, [gang], options=FOLD, memory=memory)).folded


def small(name: str, stamp: Assigned | None = None) -> FleetMachine:
    """Bound, with room for half of the gang."""
    half = cpus(4, 32)
    return r6i(name, MachineState.CONFIGURED, cluster="c1", offered=half, stamp=stamp)


def test_a_gang_served_by_small_machines_of_its_own_does_not_fold() -> None:
    """U17: one large machine that appears must not unsatisfy it."""
    large = r6i("z-large")
    assert folds([small("m-1"), small("m-2"), large])
    own = own_stamp(GANG)
    assert not folds([small("m-1", own), small("m-2", own), large])
    decision = decided([small("m-1", own), small("m-2", own), large], [GANG], options=FOLD)
    assert verdict_of(decision).claimed == ("m-1", "m-2")
    assert decision.actions == ()


def test_an_incumbent_that_hosts_the_whole_gang_does_not_keep_it_from_folding() -> None:
    """U17: only one too small to host it alone does."""
    assert folds([r6i("m", MachineState.CONFIGURED, cluster="c1", stamp=own_stamp(GANG))])


def test_where_small_machines_exist_only_as_many_gangs_fold_as_large_ones_hold() -> None:
    """U17: sixteen CPUs hold two gangs of eight."""
    gangs = [pods_gang("c1", 4, f"g-{i}") for i in range(3)]
    decision = decided([r6i("large"), small("small")], gangs, options=FOLD)
    assert [verdict_of(decision, n).folded for n in range(3)] == [True, True, False]


def test_where_all_machines_are_large_every_gang_folds() -> None:
    gangs = [pods_gang("c1", 4, f"g-{i}") for i in range(3)]
    decision = decided([r6i("large")], gangs, options=FOLD)
    assert [verdict_of(decision, n).folded for n in range(3)] == [True, True, True]


def test_a_gang_with_an_order_in_flight_does_not_fold() -> None:
    """U20."""
    ordered = r6i("ordered", MachineState.CREATING, stamp=own_stamp(GANG))
    assert folds([r6i("host")])
    assert not folds([r6i("host"), ordered])


def test_a_gang_with_a_victim_on_its_way_does_not_fold() -> None:
    """U20."""
    victim = r6i("victim", MachineState.DRAINING, cluster="other")
    assert folds([r6i("host"), victim])
    assert not folds([r6i("host"), victim], memory=memory_of(reserved("victim", GANG)))


def test_an_order_of_the_folded_need_is_host_enough() -> None:
    """U20: else the gang would unfold and buy a second machine."""
    ordered = r6i("ordered", MachineState.CREATING, stamp=own_stamp(FOLDED))
    decision = decided([ordered, r6i("slot", MachineState.SPECULATIVE)], [GANG], options=FOLD)
    assert folds([ordered])
    assert verdict_of(decision).claimed == ("ordered",)
    assert decision.actions == ()


def test_a_victim_that_drains_for_the_folded_need_is_host_enough() -> None:
    """U20."""
    victim = r6i("victim", MachineState.DRAINING, cluster="other")
    assert not folds([victim])
    assert folds([victim], memory=memory_of(reserved("victim", FOLDED)))


def test_an_order_of_another_group_keeps_no_gang_from_folding() -> None:
    stranger = replace(own_stamp(GANG), group="another")
    assert folds([r6i("host"), r6i("ordered", MachineState.CREATING, stamp=stranger)])
