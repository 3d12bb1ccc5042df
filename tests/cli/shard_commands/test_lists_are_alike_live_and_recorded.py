"""The same list of a live shard, of a past cycle of it, of its journal and of a dump of that cycle:
the same rows."""

import json
from pathlib import Path
from typing import Any

from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.journal.history import cycle_at
from bigfleet.journal.segments import segments_of
from tests.cli.shard_commands.rig import LiveShard, living_shard, need, run

#: Which cycle, which shard and when.
PROVENANCE = {
    *("cycle", "cycleName", "shardId", "queriedAt", "unreachable", "shards"),
    *("computedAtUnixNanos", "receivedAtUnixNs"),
}
#: What a shard knows of its last cycle beside what its engine saw: that a Need is met, since when,
#: when it is expected to be (elsewhere `reports eta` tells that), the provider's words and
#: addresses. Elsewhere it is empty, or said to be unknown.
LIVE_ONLY = {
    "forecast",
    *("state", "needStates", "sinceUnixNanos", "ageCycles", "ageCyclesUnmet"),
    *("host", "nodeName", "stateSinceUnixNanos", "lastError", "providerName", "failed"),
    *("providerAddress", "reason", "remedy"),
}
LISTS: dict[str, tuple[str, ...]] = {
    "needs": ("needs",),
    "needs of a cluster": ("needs", "--cluster", "shop"),
    "machines": ("machines",),
    "machines of a cluster": ("machines", "cluster=shop"),
    "reservations": ("machines", "reservations"),
    "reports shards": ("reports", "shards"),
}
Answers = dict[str, Any]


def rows_of(told: Any) -> Any:
    if isinstance(told, dict):
        left = {key: each for key, each in told.items() if key not in PROVENANCE | LIVE_ONLY}
        return {key: rows_of(each) for key, each in left.items()}
    return [rows_of(each) for each in told] if isinstance(told, list) else told


async def live(shard: LiveShard, *rest: str) -> Answers:
    return {name: await shard.document(*words, *rest) for name, words in LISTS.items()}


async def recorded(*source: str) -> Answers:
    found: Answers = {}
    for name, words in LISTS.items():
        answer = await run(*words, *source, "-o", "json")
        assert answer.exit_code == 0, answer.output
        found[name] = json.loads(answer.stdout)
    return found


async def kept(shard: LiveShard, journal: Path) -> str:
    """The last cycle, once it is in the journal: a moment after it ended."""
    cycle = (shard.process.state.epoch, given_of(shard).cycle)
    await shard.until(lambda: cycle_at(segments_of(journal), cycle) is not None)
    return f"{cycle[0]}:{cycle[1]}"


def given_of(shard: LiveShard) -> EngineInput:
    finished = shard.process.state.decision_loop.finished
    assert finished is not None
    return finished.given


def holds_a_slot(shard: LiveShard) -> bool:
    snapshot = given_of(shard).snapshot
    return any(machine_at(snapshot, row).marks.held for row in range(len(snapshot)))


async def test_a_list_has_the_same_rows_wherever_it_comes_from(tmp_path: Path) -> None:
    file, journal = str(tmp_path / "fleet.jsonl"), tmp_path / "data" / "journal"
    needs = (need("shop", 3), need("shop", 2, kind="gpu-8"))
    async with living_shard(tmp_path) as shard, shard.operator("shop", *needs):
        await shard.until_bound("shop", 3)
        at = await kept(shard, journal)
        then = await live(shard, "--at", at)
        await shard.shown("snapshot", "fleet", file, "--at", at)
        now = await live(shard)
    from_journal = await recorded("--journal", str(journal), "--at", at)
    from_file = await recorded("--fleet", file)
    assert [row["claimed"] for row in now["machines of a cluster"]["items"]] == [True] * 3
    assert [row["satisfied"] for row in now["needs"]["items"]] == [True, False]
    for name in LISTS:
        assert rows_of(then[name]) == rows_of(from_journal[name]), name
        assert rows_of(from_file[name]) == rows_of(from_journal[name]), name
        assert rows_of(now[name]) == rows_of(from_journal[name]), name
    assert {name: told["cycle"] for name, told in then.items() if "cycle" in told} == {
        name: told["cycle"] for name, told in from_journal.items() if "cycle" in told
    }


async def test_what_was_out_of_stock_is_told_of_a_past_cycle_too(tmp_path: Path) -> None:
    journal = tmp_path / "data" / "journal"
    async with living_shard(tmp_path) as shard:
        await shard.do("stock", "type=std-2", "0")
        async with shard.operator("shop", need("shop", 1, kind="std-2")):
            await shard.until(lambda: holds_a_slot(shard))
            at = await kept(shard, journal)
            [now] = (await shard.document("reports", "offerings"))["items"]
            [then] = (await shard.document("reports", "offerings", "--at", at))["items"]
            shown = await shard.shown("reports", "offerings", "--at", at)
    assert now["name"] == f"sim/{then['name']}" == "sim/std-2/b/OnDemand"
    assert now["state"] == then["state"]
    assert then["heldSlots"] == 1
    assert "1 slot held; what opened it and its provider are not recorded" in shown


async def test_a_cycle_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        for words in (*LISTS.values(), ("snapshot", "fleet", "-")):
            later = await shard.run(*words, "--at", "99999999")
            assert later.exit_code == 3
            assert "no cycle 1:99999999 yet; the last is 1:" in later.stderr
            other = await shard.run(*words, "--at", "77:1")
            assert other.exit_code == 3
            assert "the shard is in epoch 1; --journal DIR asks about cycles" in other.stderr
