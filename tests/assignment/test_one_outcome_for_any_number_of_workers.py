"""Workers are mechanism: they change how fast a cycle is, never what it decides."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from bigfleet.model.fleet import Fleet
from bigfleet.model.needs import Need
from bigfleet.plan.cycle import FileDecision, cycle_input
from tests.worlds.fleets import PHASES, fleet_of, unsatisfied, verdict_of
from tests.worlds.racks import cpus, m5, profile, small_need

#: Wake every worker even for a handful of Needs that all want the same machines.
EAGER = replace(PHASES, smallest_share=1, most_conflicts=1.0)


def decided_by(workers: int, fleet: Fleet) -> FileDecision:
    with ThreadPoolExecutor(workers) as threads:
        given = cycle_input(fleet, workers=workers, run_workers=threads.map)
        return given.in_file_order(given.decide())


def test_the_higher_need_wins_the_last_machine_every_time() -> None:
    """Y6."""
    needs = [small_need("low", 4, priority=100), small_need("high", 4, priority=500)]
    fleet = fleet_of([m5("m")], needs, options=EAGER)
    for _ in range(16):
        decision = decided_by(2, fleet)
        assert verdict_of(decision, 1).claimed == ("m",)
        assert unsatisfied(decision) == [0]


def test_a_hundred_needs_claim_a_hundred_machines() -> None:
    """Y7."""
    needs = [small_need("c", 4, priority=i) for i in range(100)]
    fleet = fleet_of([m5(f"m-{i:03d}") for i in range(100)], needs, options=EAGER)
    decision = decided_by(8, fleet)
    claimed = [name for verdict in decision.verdicts for name in verdict.claimed]
    assert len(claimed) == len(set(claimed)) == 100


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_the_same_needs_are_satisfied_every_time(workers: int) -> None:
    """Y8."""
    needs = [small_need(f"c-{i}", 8) for i in range(5)]
    fleet = fleet_of([m5(f"m-{i:02d}") for i in range(20)], needs, options=EAGER)
    decisions = [decided_by(workers, fleet) for _ in range(10)]
    assert [unsatisfied(decision) for decision in decisions] == [[]] * 10
    assert len({decision.actions for decision in decisions}) == 1


def test_where_machines_are_short_every_number_of_workers_serves_the_same_needs() -> None:
    needs = [small_need(f"c-{i % 7}", 8, priority=i % 3, group=f"g-{i}") for i in range(40)]
    machines = [m5(f"m-{i:02d}", price=i % 5) for i in range(50)]
    fleet = fleet_of(machines, needs, options=EAGER)
    alone = decided_by(1, fleet)
    assert unsatisfied(alone) != []
    for workers in (2, 3, 8):
        together = decided_by(workers, fleet)
        assert (together.actions, together.verdicts) == (alone.actions, alone.verdicts)


def conflicts(fleet: Fleet) -> int:
    with ThreadPoolExecutor(4) as threads:
        given = cycle_input(fleet, workers=4, run_workers=threads.map)
        return given.decide().counters.conflicts


def test_needs_that_would_only_conflict_are_left_to_one_worker() -> None:
    """All want one kind of machine: cut up, every proposal but the first worker's is stale."""
    needs = [small_need(f"c-{i}", 4) for i in range(40)]
    fleet = fleet_of([m5(f"m-{i:02d}") for i in range(40)], needs, options=EAGER)
    assert conflicts(fleet) > 20
    assert conflicts(replace(fleet, options=replace(EAGER, most_conflicts=0.25))) == 0


def test_needs_that_seldom_meet_are_shared_out_though_a_chain_links_them() -> None:
    """Types a and b are linked by one Need that takes either; the others want one of them."""
    wanted = ["a"] * 21 + ["b"] * 20
    needs = [
        Need(f"c-{i}", profile(100, types=(kind,)), cpus(4), cpus(4), i)
        for i, kind in enumerate(wanted)
    ]
    needs.append(Need("either", profile(100, types=("a", "b")), cpus(4), cpus(4), 99))
    machines = [m5(f"{kind}-{i}", instance_type=kind) for i, kind in enumerate(wanted * 2)]
    options = replace(EAGER, most_conflicts=0.25)
    fleet = fleet_of(machines, needs, options=options)
    given = cycle_input(fleet, workers=2)
    shares: list[int] = []

    def counted(work: Callable[[Any], Any], items: Sequence[Any], /) -> Iterable[Any]:
        shares.extend(len(item) for item in items)
        return map(work, items)

    together = replace(given, run_workers=counted).decide()
    assert min(shares) > 10
    assert together.counters.conflicts <= 10
    assert together.actions == cycle_input(fleet).decide().actions
