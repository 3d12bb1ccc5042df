"""A live shard's journal tells what happened beside the cycles, and answers as the shard does."""

import json
from pathlib import Path
from typing import Any

from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.model.journal import JournalEvent, JournalRecord
from bigfleet.model.machine_answers import CycleCall, DecisionQuery
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.cli.shard_commands.rig import WHY, living_shard, need, run
from tests.shard_system.waiting import until_told

#: Of an answer about a machine, what no later event changes.
STEADY = ("action", "rails", "disposition", "outcome", "for", "next best")


def steps_of(document: dict[str, Any]) -> dict[str, str]:
    told = {step["phase"]: step["text"] for step in document["steps"]}
    return {phase: told[phase] for phase in STEADY}


def noted(journal: Path) -> list[JournalRecord]:
    return list(records_in_order(segments_of(journal)))


async def test_outcomes_stories_and_events_are_recorded_and_told_again(tmp_path: Path) -> None:
    journal = tmp_path / "data" / "journal"
    async with living_shard(tmp_path) as shard:
        async with shard.operator("shop", need("shop", 3)):
            await shard.until_bound("shop", 3)
            machine = shard.bound_to("shop")[0]
            await shard.shown("pause", "--cluster", "batch", *WHY)
            await shard.shown("resume", "--all", *WHY)
            live_story = await shard.document("why", f"machine/{machine}")
        async with ShardAdminClient(shard.address) as admin:
            decided = await admin.decisions(DecisionQuery(machine=machine))
            (action,) = decided.decisions
            live = await shard.document("why", f"action/{action.cycle}.{action.index}")
            whole = await admin.cycle(CycleCall(action.cycle))
    assert (action.disposition, action.outcome) == (Disposition.ENQUEUED, "success")
    assert [view.outcome for view in whole.actions] == ["success"] * 3

    bodies = [record.body for record in noted(journal)]
    ended = [body for body in bodies if isinstance(body, ActionView)]
    assert {view.outcome for view in ended} == {"success"}
    assert [view.machine for view in ended].count(machine) == 1
    kinds = [body.kind for body in bodies if isinstance(body, JournalEvent)]
    order = ["session_opened", "rollup_accepted", "pause_set", "pause_lifted", "session_closed"]
    assert [kind for kind in kinds if kind in order] == order
    assert b"join" not in b"".join(path.read_bytes() for path in journal.iterdir())

    recorded = await run("why", f"machine/{machine}", "--journal", str(journal), "-o", "json")
    assert recorded.exit_code == 0, recorded.output
    texts = [body.text for body in bodies if isinstance(body, StoryEvent)]
    assert [event["text"] for event in live_story["events"]]
    assert {event["text"] for event in live_story["events"]} <= set(texts)
    name = f"action/{live['cycle'].partition(':')[0]}:{action.cycle}.{action.index}"
    from_journal = await run("why", name, "--journal", str(journal), "-o", "json")
    assert from_journal.exit_code == 0, from_journal.output
    assert steps_of(json.loads(from_journal.stdout)) == steps_of(live)
    assert steps_of(live)["outcome"].startswith("success, seen at ")


async def test_decisions_that_are_no_longer_remembered_come_from_the_journal(
    tmp_path: Path,
) -> None:
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("shop", need("shop", 3)),
        ShardAdminClient(shard.address) as admin,
    ):
        await shard.until_bound("shop", 3)
        remembered = (await admin.decisions(DecisionQuery())).decisions
        shard.process.state.decision_loop.actions.clear()
        assert (await admin.decisions(DecisionQuery())).decisions == ()

        async def recorded() -> tuple[ActionView, ...]:
            return (await admin.decisions(DecisionQuery(from_cycle=1))).decisions

        async def all_are_there() -> bool:
            return [view.machine for view in await recorded()] == [
                view.machine for view in remembered
            ]

        await until_told(all_are_there)
        again = await recorded()
        assert {view.outcome for view in again} == {"success"}
        assert [view.reason for view in again] == [view.reason for view in remembered]
        assert [view.reasons for view in again] == [view.reasons for view in remembered]
        assert [view.bill_change for view in again] == [view.bill_change for view in remembered]
        assert all(view.reasons and view.bill_change is not None for view in again)
        narrow = DecisionQuery(from_cycle=1, machine=remembered[0].machine)
        (one,) = (await admin.decisions(narrow)).decisions
        assert one.machine == remembered[0].machine
        few = await admin.decisions(DecisionQuery(from_cycle=1, limit=2))
        assert (len(few.decisions), few.truncated) == (2, True)
