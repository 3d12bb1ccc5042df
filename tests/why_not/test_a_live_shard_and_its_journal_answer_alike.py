"""The same question to a live shard, to its journal and to a dump of it: the same answer."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from bigfleet.explain.failing_actions import FailingActions
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.machine_answers import CycleCall, MachineCall, WhyNotCall, WhyNotQuestion
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.driving.explanations import Explanations
from bigfleet.shard.effects import Effects
from bigfleet.shard.execution.outcomes import Outcomes
from bigfleet.shard.state import ShardState
from tests.cli.shard_commands.rig import BOUGHT, FIRST, living_shard, need, run
from tests.journal.lives import START, LivingFleet

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("why", f"machine/{FIRST}"),
    ("why", f"machine/{BOUGHT}"),
    ("why-not", f"machine/{FIRST}"),
    ("why-not", f"machine/{BOUGHT}"),
    ("why-not", f"machine/{BOUGHT}", "--for", "need/shop/n"),
    ("why-not", "need/shop/n"),
)


def without_where(document: Any) -> Any:
    """Which cycle and which shard is the only difference there may be."""
    return {
        key: value
        for key, value in document.items()
        if key not in ("cycle", "unreachable", "shardId", "queriedAt", "events")
    }


async def test_live_journal_and_fleet_file_answer_alike(tmp_path: Path) -> None:
    live: dict[tuple[str, ...], Any] = {}
    file = tmp_path / "fleet.jsonl"
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 3)):
        await shard.until_bound("shop", 3)
        for question in QUESTIONS:
            live[question] = await shard.document(*question)
        await shard.shown("snapshot", "fleet", str(file))
        story = await shard.shown("why", f"machine/{FIRST}")
        assert "What touched it, newest last:" in story
        assert "last decided about it: Bootstrap in cycle" in story
        unknown = await shard.run("why-not", "machine/sim--bare-metal--std-8--a--0000")
        assert unknown.exit_code == 3
        assert FIRST in unknown.stderr
        future = await shard.run("why-not", f"machine/{FIRST}", "--at", "999999999")
        assert future.exit_code != 0
        assert "the last is" in future.stderr
    for question, told in live.items():
        from_file = await run(*question, "--fleet", str(file), "-o", "json")
        assert without_where(json.loads(from_file.stdout)) == without_where(told), question
        journal = ("--journal", str(tmp_path / "data" / "journal"), "--at", told["cycle"])
        recorded = await run(*question, *journal, "-o", "json")
        assert recorded.exit_code == 0, recorded.output
        answer = json.loads(recorded.stdout)
        assert answer["cycle"] == told["cycle"]
        assert without_where(answer) == without_where(told), question


@dataclass
class Loop:
    finished: FinishedCycle | None = None
    actions: tuple[object, ...] = ()


@dataclass
class Parts:
    outcomes: Outcomes = field(default_factory=lambda: Outcomes(Effects(), FailingActions()))


@dataclass
class State:
    decision_loop: Loop
    epoch: int = 3
    parts: Parts = field(default_factory=Parts)


@pytest.fixture
def asked(tmp_path: Path) -> tuple[Explanations, list[FinishedCycle]]:
    cycles = list(LivingFleet(7).cycles(12))
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in cycles:
        file.record(cycle, START)
    file.close()
    return Explanations(cast(ShardState, State(Loop(cycles[-1]))), tmp_path), cycles


async def test_a_past_cycle_is_read_from_the_journal(
    asked: tuple[Explanations, list[FinishedCycle]],
) -> None:
    explanations, cycles = asked
    acting = next(each for each in cycles if each.decision.action_count)
    number = acting.given.cycle
    found = await explanations.cycle(CycleCall(number))
    assert [view.machine for view in found.actions] == [a.machine for a in acting.decision.actions]
    assert all(view.reason for view in found.actions)
    answer = await explanations.machine(MachineCall(found.actions[0].machine, number))
    assert answer.cycle == number
    assert answer.actions[0].index == found.actions[0].index


async def test_what_is_not_kept_or_not_there_is_refused_with_its_code(
    asked: tuple[Explanations, list[FinishedCycle]], tmp_path: Path
) -> None:
    explanations, cycles = asked
    machine = cycles[-1].given.snapshot.ids[0]

    async def refusal(answers: Explanations, call: WhyNotCall) -> Code:
        with pytest.raises(Rejected) as refused:
            await answers.why_not(call)
        return Code(refused.value.code)

    removed = WhyNotQuestion.REMOVED
    assert await refusal(explanations, WhyNotCall(removed, machine, cycle=99)) is Code.NOT_FOUND
    assert await refusal(explanations, WhyNotCall(removed, "nowhere")) is Code.NOT_FOUND
    assert await refusal(explanations, WhyNotCall(removed)) is Code.INVALID_ARGUMENT
    assert await refusal(explanations, WhyNotCall(None, machine)) is Code.INVALID_ARGUMENT
    satisfied = WhyNotCall(WhyNotQuestion.SATISFIED)
    assert await refusal(explanations, satisfied) is Code.INVALID_ARGUMENT
    for path in tmp_path.iterdir():
        path.unlink()
    past = WhyNotCall(removed, machine, cycle=1)
    assert await refusal(explanations, past) is Code.OUT_OF_RANGE
    none = Explanations(cast(ShardState, State(Loop(cycles[-1]))), None)
    assert await refusal(none, past) is Code.OUT_OF_RANGE
