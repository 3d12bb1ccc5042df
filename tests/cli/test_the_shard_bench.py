"""`bigfleet bench shard` loads a real shard, measures every row of its budget, and ends."""

import asyncio

import pytest
from click.testing import CliRunner

from bigfleet.bench.measures import Measure
from bigfleet.bench.shard.fleet import ShardScale, cluster_name, records, rollup
from bigfleet.bench.shard.load import FULL, measured
from bigfleet.cli.main import cli
from bigfleet.engine.decide import decide
from bigfleet.engine.decision import Decision
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.actions import ActionKind
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions
from bigfleet.wire.machine_batches import batch_of, listed
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes
from bigfleet.wire.rollups import RollupReader

SMALL = ShardScale(machines=200, sessions=4, rows=5, rollups_per_second=20, seconds=0.5)
BUDGETED = {
    "roll-up rows read and taken over, one core, first ones": ">= 50,000",
    "roll-up rows read and taken over, one core, large ones": ">= 50,000",
    "roll-up rows read and taken over, one core, one changed": ">= 50,000",
    "longest work of the loop at a time, first List": "<= 50",
    "longest work of the loop at a time, all operators dial in": "<= 50",
    "longest work of the loop at a time, at rest": "<= 50",
    "longest work of the loop at a time, with roll-ups": "<= 50",
    "longest work of the loop at a time, at rest, machines moving": "<= 50",
    "longest work of the loop at a time, with roll-ups, machines moving": "<= 50",
    "roll-ups taken": ">= 18",
    "machines asked back": "<= 0",
    "roll-up to Configure, at rest, p50": "<= 100",
    "roll-up to Configure, with roll-ups, p50": "<= 100",
}
REPORTED = {
    "cycle p50, at rest",
    "cycle p99, at rest",
    "cycle p50, with roll-ups",
    "cycle p99, with roll-ups",
    "cycle CPU p50, verifier off",
    "cycle CPU p50, verifier on",
    "cycle CPU p50, thrash watch off",
    "cycle CPU p50, thrash watch on",
    "memory of the shard",
}


@pytest.fixture(scope="module")
def run() -> dict[str, Measure]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bigfleet.bench.timing.INDICES", 5_000)
        patch.setattr("bigfleet.bench.shard.rails.ROUNDS", 1)
        return {m.name: m for m in asyncio.run(measured(SMALL))}


def test_every_row_of_the_budget_is_measured(run: dict[str, Measure]) -> None:
    assert {name: m.budget for name, m in run.items() if m.budget} == BUDGETED
    assert {name for name in REPORTED if run[name].value <= 0} == set()


def test_the_load_moves_no_machine_but_those_asked_for(run: dict[str, Measure]) -> None:
    assert run["machines asked back"].verdict == "met"
    assert run["cycles, at rest"].value >= 1


def decided(scale: ShardScale, variant: int = 0, more: int = 0) -> Decision:
    entries = [list_entry(machine_bytes(record)) for record in records(scale)]
    now = listed(list_bytes(entries, b"1"))
    inventory, needs = Inventory(), NeedsTable()
    inventory.adopt(batch_of(now, now.rows()).batch, source="bench")
    reader, names = RollupReader(), []
    for cluster in range(scale.sessions):
        names.append(cluster_name(cluster))
        content = rollup(scale, cluster, variant, more if cluster == 0 else 0, 1)
        needs.replace(names[-1], reader.read(content, names[-1], 1000).needs)
    options = EngineOptions(clusters_ready=frozenset(names))
    return decide(inventory.snapshot(), needs.snapshot(), EngineMemory(), options, 1)


@pytest.mark.parametrize("variant", [0, 1, 7, 123])
def test_a_fleet_at_rest_has_nothing_to_do_whichever_amounts_are_shown(variant: int) -> None:
    assert decided(SMALL, variant).actions == ()


def test_no_roll_up_says_what_the_one_before_it_said() -> None:
    said = [rollup(SMALL, 0, variant, 0, 1) for variant in range(40)]
    assert [n for n in range(1, 40) if said[n] == said[n - 1]] == []


def test_a_probe_asks_for_one_machine_that_is_there() -> None:
    [action] = decided(SMALL, more=1).actions
    assert (action.kind, action.cluster) == (ActionKind.BOOTSTRAP, cluster_name(0))


def test_the_full_fleet_has_the_sizes_of_the_budget() -> None:
    assert (FULL.machines, FULL.sessions, FULL.rollups_per_second) == (100_000, 5_000, 500)
    assert sum(1 for _ in records(FULL)) == FULL.machines


def test_too_few_machines_for_the_sessions_are_refused_with_what_would_do() -> None:
    result = CliRunner().invoke(cli, ["bench", "shard", "--machines", "100", "--sessions", "90"])
    assert result.exit_code == 2
    assert "more --machines" in result.output


def test_it_has_options_of_its_own() -> None:
    result = CliRunner().invoke(cli, ["bench", "shard", "--help"])
    assert result.exit_code == 0
    assert "Usage: cli bench shard [OPTIONS]" in result.output
    assert "--rollups-per-second" in result.output
