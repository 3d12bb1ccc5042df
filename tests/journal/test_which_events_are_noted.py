"""Which events the journal is told of, and that each is said with its subject, owner and end."""

import re
from pathlib import Path

import pytest

import bigfleet.shard
from bigfleet.explain.failing_actions import FailingActions
from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.actions import ActionKind
from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    Done,
    InstructionKind,
    NotYet,
    Refused,
)
from bigfleet.model.journal import JournalEvent, JournalNote
from bigfleet.model.options import SECOND
from bigfleet.model.rails import rails_passed
from bigfleet.model.rollups import RollupRefused
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent, StorySource
from bigfleet.shard.effects import Effects
from bigfleet.shard.execution.outcomes import REMEMBERED, Outcomes
from bigfleet.shard.instructions import WriteNote
from bigfleet.shard.journal_notes import (
    MOST_CHARACTERS,
    SUBJECT_OF_EVENT,
    event_of,
    instruction_event,
)
from tests.ingest.rig import Rig
from tests.pauses.switches import HOUR, START, asked, shard

SOURCES = Path(bigfleet.shard.__file__).parent


def noted(effects: Effects) -> list[JournalNote]:
    return [each.body for each in effects.taken() if isinstance(each, WriteNote)]


@pytest.mark.parametrize("event", SUBJECT_OF_EVENT)
def test_every_kept_event_is_one_of_the_log(event: str) -> None:
    """Those of sessions are named by their end."""
    said = "".join(
        path.read_text() for path in SOURCES.rglob("*.py") if path.name != "journal_notes.py"
    )
    name = event.removeprefix("session_")
    assert f'"{event}"' in said or (name != event and re.search(rf'"{name}"\)', said))


def test_roll_ups_taken_held_and_refused_are_noted_and_repeated_ones_are_not() -> None:
    rig = Rig()
    rig.report(20)
    rig.report(20, after=1)
    rig.report(0, after=10)
    rig.released(accept=True)
    rig.give(RollupRefused("too_heavy", "too many profiles"), after=20)
    found = noted(rig.effects)
    kinds = [body.kind for body in found if isinstance(body, JournalEvent)]
    assert kinds == [
        *("rollup_accepted", "rollup_held", "rollup_accepted", "rollup_released"),
        "rollup_rejected",
    ]
    first = found[0]
    assert isinstance(first, JournalEvent)
    assert (first.subject, first.attributes) == ("shop", {"rows": "20", "baseline": "0"})


def test_streams_opened_replaced_and_closed_are_noted_with_their_peer() -> None:
    rig = Rig()
    rig.clusters.connect("ml")
    rig.clusters.connect("ml")
    rig.clusters.disconnect("ml")
    found = noted(rig.effects)
    assert [(body.kind, body.peer) for body in found if isinstance(body, JournalEvent)] == [
        ("session_opened", "test"),
        ("session_replaced", "test"),
        ("session_opened", "test"),
        ("session_closed", "test"),
    ]
    assert {body.subject for body in found if isinstance(body, JournalEvent)} == {"ml"}


def test_a_pause_is_noted_whole_and_so_is_its_end() -> None:
    parts = shard()
    made = parts.pauses.pause(asked(owner="ada", created_by="bigfleet://admin"), START)
    brief = parts.pauses.pause(asked(ttl_seconds=60), START)
    parts.pauses.tick(START + 60 * SECOND)
    parts.pauses.resume(made.pause_id, False, START + HOUR, "bob", "it was \x1b[31mthe deploy")
    found = [body for body in noted(parts.effects) if isinstance(body, JournalEvent)]
    assert [body.kind for body in found] == [
        *("pause_set", "pause_set", "pause_expired", "pause_lifted"),
    ]
    assert found[0].pause == made
    assert found[0].peer == "bigfleet://admin"
    ended = [body.pause for body in found[2:] if body.pause is not None]
    assert [(each.pause_id, each.ended_at, each.ended) for each in ended] == [
        (brief.pause_id, START + 60 * SECOND, "expired"),
        (made.pause_id, START + HOUR, "lifted by bob: it was \x1b[31mthe deploy"),
    ]
    assert parts.pauses.gone() == tuple(ended)


def test_an_instruction_is_noted_once_it_is_carried_out_or_refused() -> None:
    told = CoordinatorInstruction("i-1", InstructionKind.ASSIGN_DOMAIN, 7, machine_ids=("m-1",))
    assert instruction_event(told, NotYet("its machines drain")) is None
    done = instruction_event(told, Done())
    assert done is not None
    assert (done.kind, done.subject) == ("instruction", "i-1")
    assert done.text == "carried out assign_domain of the coordinator"
    refused = instruction_event(told, Refused("no such domain"))
    assert refused is not None
    assert refused.text == "refused assign_domain of the coordinator: no such domain"


def test_an_action_that_ended_is_noted_with_the_providers_words_within_bounds() -> None:
    effects = Effects()
    outcomes = Outcomes(effects, FailingActions())
    view = ActionView(7, 2, ActionKind.PROVISION, "m-1", "shop", reason="cheapest")
    outcomes.end(view, ActionOutcome.STOCKOUT, START, "no capacity " * 1000)
    (ended,) = noted(effects)
    assert isinstance(ended, ActionView)
    assert (ended.cycle, ended.index, ended.machine, ended.reason) == (7, 2, "m-1", "")
    assert ended.outcome.startswith("stockout: no capacity")
    assert len(ended.outcome) < MOST_CHARACTERS + 20
    assert outcomes.known() == {(7, "m-1"): ended}
    for number in range(REMEMBERED + 10):
        outcomes.end(
            ActionView(8, number, ActionKind.DELETE, f"m-{number}"), ActionOutcome.SUCCESS, START
        )
    assert len(outcomes) == REMEMBERED
    assert (7, "m-1") not in outcomes.known()


def test_a_line_of_a_story_is_told_and_noted() -> None:
    effects = Effects()
    effects.cycle = 9
    event = StoryEvent(START, StorySource.PROVIDER, "it stands", machine="m-1")
    effects.tell(event)
    assert list(effects.stories.of("m-1")) == [event]
    assert effects.taken() == [WriteNote(9, event)]


def test_what_a_person_changed_is_noted_with_who_and_why() -> None:
    effects = Effects()
    effects.log(
        "warning", "admin", "ada: retry of m-1 (flaky)", owner="ada", reason="flaky", peer="x"
    )
    (event,) = noted(effects)
    assert event == JournalEvent(
        "admin", "", "ada: retry of m-1 (flaky)", {"owner": "ada", "reason": "flaky"}, "x"
    )
    effects.log("info", "frame_skipped", "not worth keeping")
    assert noted(effects) == []
    assert len(event_of("admin", "x" * 5000, {}).text) <= MOST_CHARACTERS + 1


def test_rails_are_told_up_to_the_one_that_stopped_it() -> None:
    assert rails_passed(Disposition.DEDUPED) == ()
    assert rails_passed(Disposition.SUPPRESSED) == ("nothing under way",)
    assert rails_passed(Disposition.VETOED)[-1] == "provider and budget free"
    assert len(rails_passed(Disposition.ENQUEUED)) == len(Disposition) - 1
