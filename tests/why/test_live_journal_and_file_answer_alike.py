"""The same question to a live shard, to its journal and to a dump of it: the same answer."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from bigfleet.explain.failing_actions import FailingActions
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.explanations import ExplainNeedCall
from bigfleet.model.needs import NeedKey
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.driving.explanations import Explanations
from bigfleet.shard.effects import Effects
from bigfleet.shard.execution.outcomes import Outcomes
from bigfleet.shard.ledgers.needs import NeedsLedger
from bigfleet.shard.state import ShardState
from tests.cli.shard_commands.rig import living_shard, need, run
from tests.journal.lives import START, LivingFleet

#: Which cycle, which shard and when.
PROVENANCE = ("cycle", "cycleName", "shardId", "queriedAt", "unreachable", "decidedUnixNanos")
#: That it is met, only a live shard knows; the others say so in a note.
MET, UNKNOWN = "NEED_STATE_MET", "NEED_STATE_UNSPECIFIED"


def without_where(document: dict[str, Any]) -> dict[str, Any]:
    """Ages are counted in cycles: a dump begins anew. A forecast names its cycle too."""
    view = {name: value for name, value in document["view"].items() if name != "ageCyclesUnmet"}
    rest = {k: v for k, v in document.items() if k not in (*PROVENANCE, "notes")}
    state = document["state"]
    if "forecast" in rest:
        rest["forecast"] = {name: rest["forecast"][name] for name in ("path", "basis", "steps")}
    return {**rest, "view": view, "state": UNKNOWN if state == MET else state}


async def test_live_journal_and_fleet_file_answer_alike(tmp_path: Path) -> None:
    file = tmp_path / "fleet.jsonl"
    live: list[dict[str, Any]] = []
    needs = (need("shop", 3), need("shop", 2, kind="gpu-8"))
    async with living_shard(tmp_path) as shard, shard.operator("shop", *needs):
        await shard.until_bound("shop", 3)
        waiting = f"need/shop/{needs[1].key.need_id}"
        while "forecast" not in await shard.document("why", waiting):
            """It comes after the cycle."""
        for each in needs:
            live.append(await shard.document("why", f"need/shop/{each.key.need_id[:8]}"))
        await shard.shown("snapshot", "fleet", str(file))
        shown = await shard.shown("why", f"need/shop/{needs[1].key.need_id}")
        assert shown.startswith("SHORT  need/shop/n")
        assert "supply.requirement" in shown
        unknown = await shard.run("why", "need/shop/nffffffff")
        assert unknown.exit_code == 3
        assert "no need shop/nffffffff in this shard" in unknown.stderr
        several = await shard.run("why", "need/shop/n")
        assert several.exit_code == 2
        assert "2 Needs begin with" in several.stderr
        future = await shard.run("why", f"need/shop/{needs[0].key.need_id}", "--at", "999999999")
        assert future.exit_code != 0
        assert "the last is" in future.stderr
    assert [told["state"] for told in live] == ["NEED_STATE_MET", "NEED_STATE_SHORT"]
    for each, told in zip(needs, live, strict=True):
        name = f"need/shop/{each.key.need_id}"
        from_file = await run("why", name, "--fleet", str(file), "-o", "json")
        assert without_where(json.loads(from_file.stdout)) == without_where(told)
        journal = ("--journal", str(tmp_path / "data" / "journal"), "--at", told["cycleName"])
        recorded = await run("why", name, *journal, "-o", "json")
        assert recorded.exit_code == 0, recorded.output
        answer = json.loads(recorded.stdout)
        assert answer["cycleName"] == told["cycleName"]
        assert without_where(answer) == without_where(told)


@dataclass
class Loop:
    finished: FinishedCycle | None
    ledger: NeedsLedger


@dataclass
class Parts:
    outcomes: Outcomes = field(default_factory=lambda: Outcomes(Effects(), FailingActions()))


@dataclass
class State:
    decision_loop: Loop
    epoch: int = 3
    parts: Parts = field(default_factory=Parts)


Asked = tuple[Callable[[Path | None], Explanations], list[FinishedCycle]]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    cycles = list(LivingFleet(14).cycles(12))
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in cycles:
        file.record(cycle, START)
    file.close()
    state = cast(ShardState, State(Loop(cycles[-1], NeedsLedger())))
    return (lambda journal: Explanations(state, journal)), cycles


async def test_a_past_cycle_is_read_from_the_journal(asked: Asked, tmp_path: Path) -> None:
    explanations, cycles = asked
    past = cycles[4]
    assert len(past.decision.outcome) > 1
    for row in range(len(past.decision.outcome)):
        key = past.decision.outcome.key(row)
        told = await explanations(tmp_path).need(ExplainNeedCall(key, past.given.cycle))
        assert told.cycle == past.given.cycle
        assert told.view.need.key == key
        assert told.view.claimed == int((past.decision.outcome.credit.holder == row).sum())


async def test_what_is_not_kept_or_not_there_is_refused_with_its_code(
    asked: Asked, tmp_path: Path
) -> None:
    explanations, _ = asked
    key = NeedKey("a", "f", "g")

    async def refusal(call: ExplainNeedCall, journal: Path | None = tmp_path) -> Code:
        with pytest.raises(Rejected) as refused:
            await explanations(journal).need(call)
        return Code(refused.value.code)

    assert await refusal(ExplainNeedCall(key, 99)) is Code.NOT_FOUND
    assert await refusal(ExplainNeedCall(NeedKey("nowhere", "", ""), 0, 0, "n")) is Code.NOT_FOUND
    everything = ExplainNeedCall(NeedKey("", "", ""), 0, 0, "n")
    assert await refusal(everything) is Code.INVALID_ARGUMENT
    assert await refusal(ExplainNeedCall(key, 1), None) is Code.OUT_OF_RANGE
    for path in tmp_path.iterdir():
        path.unlink()
    assert await refusal(ExplainNeedCall(key, 1)) is Code.OUT_OF_RANGE
