"""Generated lives of a whole shard: every machine that was really taken has one statement, what was
held back has none, and the journal tells the same as the living shard."""

from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.costs.invoices import InvoiceSums
from bigfleet.model.actions import ActionKind
from bigfleet.model.statements import InvoiceCall, NextBestKind, Statement
from tests.hazards.virtual_fleet import bound
from tests.statements.recorded_fleet import (
    RecordedFleet,
    live_statements,
    recorded_invoices,
    wants,
)

CLUSTERS = {"batch": 10, "ml": 1000, "shop": 100_000}


def lived(seed: int) -> RecordedFleet:
    """Demand that comes and goes, slow drains, and pauses of one kind and cluster."""
    chance = Random(seed)
    names = [f"m-{number}" for number in range(chance.randint(1, 5))]
    slow = {name: chance.choice([1, 1, 3, 20]) for name in names}
    fleet = RecordedFleet([bound(name, "") for name in names], slow)
    for _ in range(chance.randint(4, 12)):
        cluster = chance.choice(list(CLUSTERS))
        match chance.randrange(6):
            case 0:
                kind = chance.choice([ActionKind.PREEMPT, ActionKind.RECLAIM])
                fleet.pause(kind, cluster)
            case 1:
                fleet.resume()
            case _:
                machines = chance.randint(0, len(names))
                priority = CLUSTERS[cluster] + chance.choice([0, 0, 5])
                asked = [wants(cluster, machines, priority, 4.0)] if machines else []
                fleet.report(cluster, *asked)
        fleet.run(chance.randint(1, 6))
    fleet.run(25)
    return fleet


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_every_machine_that_was_taken_has_one_statement_live_and_recorded(seed: int) -> None:
    fleet = lived(seed)
    made = live_statements(fleet.told)
    taken = [each for each in fleet.audited if each[0] in ("Preempt", "Reclaim")]
    assert Counter((each.kind.label, each.machine) for each in made) == Counter(taken)
    assert Counter(each.machine for each in made) == Counter(fleet.drained)
    assert len({each.id for each in made}) == len(made)
    for each in made:
        _is_whole(each)
    with TemporaryDirectory() as directory:
        told = recorded_invoices(fleet.told, Path(directory))
    assert list(reversed(told.invoices.statements)) == made
    assert told.invoices.gaps == ()
    sums = InvoiceSums()
    for each in made:
        sums.add(each)
    assert told.invoices.parts == sums.parts()


def _is_whole(made: Statement) -> None:
    assert (made.unknown, made.declared) == ("", 5.0)
    assert made.drain_seconds is not None
    assert made.completed_at >= made.decided_at > 0
    assert made.next_best.kind is not NextBestKind.UNSPECIFIED
    assert made.from_need.cluster in CLUSTERS
    if made.kind is ActionKind.PREEMPT:
        assert made.to_need is not None
        assert made.to_priority is not None
        assert made.from_priority is not None
        assert made.to_priority > made.from_priority


def test_generated_lives_take_machines_both_ways_and_are_held_back() -> None:
    kinds = Counter[str]()
    for seed in range(8):
        fleet = lived(seed)
        kinds.update(each.kind.label for each in live_statements(fleet.told))
        for kind in ("Preempt", "Reclaim"):
            kinds["held"] += fleet.counted("actions_suppressed_total", kind=kind) > 0
    assert {kind for kind, count in kinds.items() if count} >= {"Preempt", "Reclaim", "held"}


def test_a_range_leaves_out_what_was_complete_before_or_after(tmp_path: Path) -> None:
    fleet = next(fleet for fleet in map(lived, range(50)) if len(live_statements(fleet.told)) >= 3)
    made = live_statements(fleet.told)
    middle = made[len(made) // 2].completed_at
    before = recorded_invoices(fleet.told, tmp_path / "a", InvoiceCall(until=middle))
    after = recorded_invoices(fleet.told, tmp_path / "b", InvoiceCall(since=middle))
    assert before.invoices.total + after.invoices.total == len(made)
    assert all(each.completed_at < middle for each in before.invoices.statements)
    assert sum(part.count for part in after.invoices.parts) == after.invoices.total
