"""What Phase 1's workers cost each other is counted by mode, and what cannot happen stands at 0."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

from bigfleet.edge.counts import Counts
from bigfleet.engine.decision import Decision, Mode
from bigfleet.model.machines import MachineState
from bigfleet.model.options import EngineOptions
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.cycle import deliberate
from bigfleet.shard.ledgers.summaries import measure_contention
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.rig import Rig, machine
from tests.worlds.fleets import fleet_of
from tests.worlds.gpus import gang, plain, zoned

MODES = ("incremental", "all-or-nothing")


def contended(workers: int) -> Decision:
    """Plain Needs and gangs by turns, all for the hosts of one zone, and not enough of these."""
    needs = [
        (gang if number % 3 == 0 else plain)("shop", 100 - number, 2, f"g{number}")
        for number in range(24)
    ]
    fleet = fleet_of(
        zoned("a", 31),
        needs,
        options=EngineOptions(smallest_share=1, most_conflicts=1.0, fold=False),
    )
    with ThreadPoolExecutor(workers) as threads:
        return cycle_input(fleet, workers=workers, run_workers=threads.map).decide()


def retries(counts: Counts, mode: str, outcome: str) -> float:
    return counts.of("phase1_occ_retries_total", mode=mode, outcome=outcome)


def test_every_conflict_is_retried_and_told_by_mode_and_by_what_it_found() -> None:
    counts, decision = Counts(), contended(workers=4)
    measure_contention(counts, decision, 0.0)
    for mode in Mode:
        found = [retries(counts, mode.value, outcome) for outcome in ("committed", "empty")]
        assert min(found) > 0
        assert sum(found) == decision.counters_of_mode[mode].conflicts
    conflicts = sum(each.conflicts for each in decision.counters_of_mode.values())
    assert counts.of("phase1_occ_proposals_total", outcome="conflict") == conflicts


def test_each_mode_has_its_own_fraction_of_conflicts() -> None:
    counts, decision = Counts(), contended(workers=4)
    measure_contention(counts, decision, 0.0)
    for mode in Mode:
        counters = decision.counters_of_mode[mode]
        fraction = counts.of("phase1_occ_conflict_fraction", mode=mode.value)
        assert fraction == counters.conflicts / counters.committed > 0


def test_conflicts_without_any_commit_are_not_hidden_by_the_fraction() -> None:
    taken = fleet_of(
        zoned("a", 2),
        [plain("shop", 9, 1), plain("shop", 8, 1), gang("shop", 7, 2), gang("shop", 6, 2)],
        options=EngineOptions(smallest_share=1, most_conflicts=1.0, fold=False),
    )
    counts, decision = Counts(), cycle_input(taken, workers=4).decide()
    measure_contention(counts, decision, 0.0)
    assert decision.counters_of_mode[Mode.ALL_OR_NOTHING].committed == 0
    assert counts.of("phase1_occ_conflict_fraction", mode="all-or-nothing") >= 1


def test_what_the_broker_rules_out_is_named_and_stands_at_zero() -> None:
    counts = Counts()
    measure_contention(counts, contended(workers=4), 0.0)
    never = {
        ("phase1_occ_displacements_total", ()),
        ("phase1_occ_retries_exhausted_total", ()),
        *(
            ("phase1_occ_retries_total", (("mode", mode), ("outcome", "conflict")))
            for mode in MODES
        ),
    }
    assert {series: counts.counters.get(series) for series in never} == dict.fromkeys(never, 0)


def test_one_worker_meets_no_other() -> None:
    counts = Counts()
    measure_contention(counts, contended(workers=1), 0.0)
    assert sum(v for (name, _), v in counts.counters.items() if "retries" in name) == 0


def test_the_time_at_the_broker_is_shared_by_all_proposals() -> None:
    counts, decision = Counts(), contended(workers=2)
    measure_contention(counts, decision, 0.024)
    plain_ones, gangs = (
        counts.histograms["phase1_proposal_duration_seconds", (("mode", mode),)] for mode in MODES
    )
    assert (plain_ones.count, gangs.count) == (16, 8)
    assert round(plain_ones.total, 9) == 0.016
    assert round(gangs.total, 9) == 0.008
    assert sum(gangs.counts) == 8


def test_a_cycle_measures_its_broker_and_nothing_else() -> None:
    """The clock goes on by a second whenever it is read: one reading ends the broker's part."""
    rig = Rig(ShardSettings(), [machine("m1", MachineState.IDLE)])
    rig.report(8)
    ticks = count()
    thought = deliberate(rig.state.begin_cycle(rig.at), map, lambda: float(next(ticks)))
    rig.obey(rig.state.end_cycle(thought, rig.at, 0.0))
    assert thought.broker_seconds == 1.0
    key = ("phase1_proposal_duration_seconds", (("mode", "incremental"),))
    assert rig.counts.histograms[key].total == 1.0
