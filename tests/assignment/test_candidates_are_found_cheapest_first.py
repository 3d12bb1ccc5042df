"""What a Need proposes to take: the cheapest that fits, no more than covers it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bigfleet.engine.arrays import Pool, need_and_kind_arrays
from bigfleet.engine.fold import normalise
from bigfleet.engine.kernels.records import NeedArrays, PoolArrays
from bigfleet.engine.reservations import guards_of, in_flight
from bigfleet.engine.scene import scene_of
from bigfleet.model.fleet import Fleet, FleetMachine, Held, HeldBy, Marks
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import cycle_input
from tests.worlds import racks
from tests.worlds.fleets import bootstrapped, decided, fleet_of, unsatisfied, verdict_of
from tests.worlds.racks import m5, small_need


def priced(*prices: float) -> list[FleetMachine]:
    """Idle hosts, the dearest first by id."""
    ordered = sorted(prices, reverse=True)
    return [m5(f"{i}-at-{price:g}", price=price) for i, price in enumerate(ordered)]


def test_the_cheapest_idle_machine_is_taken() -> None:
    """K3."""
    assert bootstrapped(decided(priced(1, 2, 3), [small_need("c", 4)])) == ["2-at-1"]


def test_the_cheaper_of_two_is_enough() -> None:
    """Y3."""
    assert bootstrapped(decided(priced(1, 2), [small_need("c", 4)])) == ["1-at-1"]


def test_at_one_price_the_smaller_id_is_taken() -> None:
    assert bootstrapped(decided([m5("b"), m5("a")], [small_need("c", 4)])) == ["a"]


def test_a_machine_held_by_a_higher_need_is_not_taken() -> None:
    """K4."""
    needs = [small_need("low", 4, priority=0), small_need("high", 4, priority=50)]
    decision = decided(priced(1, 2), needs)
    assert verdict_of(decision, 0).claimed == ("0-at-2",)
    assert verdict_of(decision, 1).claimed == ("1-at-1",)


def test_as_many_are_taken_as_cover_the_deficit() -> None:
    """K5."""
    assert len(bootstrapped(decided(priced(1, 2, 3, 4), [small_need("c", 10)]))) == 3


def test_a_need_for_nothing_takes_nothing() -> None:
    """K6."""
    need = Need("c", racks.profile(), Resources(), racks.cpus(1))
    decision = decided(priced(1), [need])
    assert decision.actions == ()
    assert verdict_of(decision).claimed == ()
    assert unsatisfied(decision) == []


def test_one_machine_for_two_leaves_a_deficit() -> None:
    """Y4."""
    decision = decided([m5("m")], [small_need("c", 8)])
    verdict = verdict_of(decision)
    assert (verdict.bootstraps, verdict.satisfied) == (1, False)
    assert verdict.deficit == racks.cpus(4)


def test_without_machines_nothing_is_claimed() -> None:
    """Y5."""
    verdict = verdict_of(decided([], [small_need("c", 8)]))
    assert (verdict.satisfied, verdict.claimed) == (False, ())


def test_without_needs_there_are_no_verdicts() -> None:
    """Y1."""
    decision = decided([m5("m")])
    assert (decision.verdicts, decision.actions) == ((), ())


def test_a_machine_too_small_for_one_unit_is_passed_over() -> None:
    need = Need("c", racks.profile(), racks.cpus(8), racks.cpus(8))
    machines = [m5("a-small", price=0.1), m5("b-large", price=9, offered=racks.cpus(8))]
    assert bootstrapped(decided(machines, [need])) == ["b-large"]


def test_a_machine_held_back_is_neither_taken_nor_supply() -> None:
    held = m5("m", marks=Marks(held=Held(HeldBy.BACKOFF)))
    verdict = verdict_of(decided([held], [small_need("c", 4)]))
    assert (verdict.claimed, verdict.matching_supply) == ((), False)


def eligibility_of(fleet: Fleet) -> tuple[NeedArrays, PoolArrays]:
    """What acquisition works on: which runs of machines each Need may use."""
    given = cycle_input(fleet)
    scene = scene_of(given.given.snapshot, given.given.needs.demand)
    everyone = Pool(scene, guards_of([]))
    normalised = normalise(scene, everyone.machines, in_flight(scene, []), False)
    needs, kinds = need_and_kind_arrays(scene, normalised, np.zeros(len(normalised), np.bool_))
    return needs, everyone.arrays(kinds)


def test_needs_that_may_use_the_same_machines_share_one_list_of_them() -> None:
    """K1: one key, one list of runs; another profile has its own."""
    needs = [small_need("c", 4, group=g) for g in ("g-1", "g-2")]
    other = Need("d", racks.profile(100, types=("t3.large",)), racks.cpus(4), racks.cpus(1))
    columns, pool = eligibility_of(fleet_of([m5("a"), m5("b"), m5("c", price=2)], [*needs, other]))
    first, second, third = columns.key.tolist()
    assert first == second != third
    sizes = (pool.key_starts[1:] - pool.key_starts[:-1]).tolist()
    assert (sizes[first], sizes[third]) == (2, 0)


def test_two_decisions_on_one_snapshot_at_the_same_time_are_equal() -> None:
    """K2."""
    needs = [small_need(f"c-{i % 3}", 8, priority=i % 5, group=f"g-{i}") for i in range(12)]
    fleet = fleet_of(priced(*(i % 4 + 1 for i in range(16))), needs)
    given = cycle_input(fleet)
    with ThreadPoolExecutor(4) as threads:
        decisions = [d.result() for d in [threads.submit(given.decide) for _ in range(8)]]
    assert len({decision.actions for decision in decisions}) == 1
    assert len({decision.verdicts for decision in decisions}) == 1
