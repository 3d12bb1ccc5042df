"""A redacted journal decides the same, and no name of its owner is left in it."""

from dataclasses import replace
from string import ascii_lowercase

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.journal.history import History
from bigfleet.journal.redaction import (
    KEPT,
    Redactor,
    Renaming,
    profile_of,
    renamed_digests,
    renaming_of,
)
from bigfleet.journal.renaming import names_by_rank
from bigfleet.journal.replay import Replayed, replayed
from bigfleet.model.actions import ActionKind
from bigfleet.model.journal import CycleOutput, JournalEvent, JournalNote, JournalRecord
from bigfleet.model.needs import MARGIN_GROUP
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.profiles import Profile
from bigfleet.model.shard_views import ActionView, StoryEvent, StorySource
from bigfleet.wire.journal_records import record_bytes, record_of
from tests.journal.lives import LivingFleet
from tests.journal.test_recorded_cycles_replay import CYCLES, SEEDS, recorded

TEXTS = st.lists(
    st.one_of(st.text("ab,;:|-1", max_size=5), st.text(max_size=6), st.sampled_from(sorted(KEPT))),
    max_size=12,
)


def records_of_seed(seed: int) -> list[JournalRecord]:
    return [record_of(each) for each in recorded(list(LivingFleet(seed).cycles(CYCLES)))]


def redacted(records: list[JournalRecord], renaming: Renaming) -> list[JournalRecord]:
    digests = dict(renamed_digests(records, renaming))
    redactor = Redactor(renaming, digests)
    return [record_of(record_bytes(redactor.renamed(record))) for record in records]


def actions_of(each: Replayed, renaming: Renaming) -> list[tuple[object, ...]]:
    outcome = each.decision.outcome
    return [
        (
            action.kind,
            renaming.text(action.machine),
            renaming.text(action.cluster),
            None if action.need is None else renaming.key(outcome.key(action.need)),
            action.grace_seconds,
        )
        for action in each.decision.actions
    ]


@settings(max_examples=60)
@given(seed=SEEDS)
def test_every_cycle_decides_the_same_under_the_new_names(seed: int) -> None:
    records = records_of_seed(seed)
    renaming, same = renaming_of(records), Renaming(lambda text: text)
    before = list(replayed(History().cycles(records)))
    after = list(replayed(History().cycles(redacted(records, renaming))))
    assert all(each.identical for each in after)
    assert [actions_of(each, renaming) for each in before] == [
        actions_of(each, same) for each in after
    ]


@settings(max_examples=20)
@given(seed=SEEDS)
def test_no_name_is_left_in_the_bytes(seed: int) -> None:
    records = records_of_seed(seed)
    seen: set[str] = set()

    def noted(text: str) -> str:
        seen.add(text)
        return text

    noting = Renaming(noted)
    for record in records:
        noting.body(record.body)
    content = b"\n".join(map(record_bytes, redacted(records, renaming_of(records))))
    for kept in sorted(KEPT, key=len, reverse=True):
        content = content.replace(kept.encode(), b"")
    left = [text for text in seen - KEPT if len(text) >= 4 and text.encode() in content]
    assert left == []


@given(texts=TEXTS)
def test_names_compare_as_the_texts_do(texts: list[str]) -> None:
    names = names_by_rank(texts, KEPT)
    ordered = sorted({*texts})
    assert [names[text] for text in ordered] == sorted(names[text] for text in ordered)
    assert len({*names.values()}) == len(ordered)
    assert all(names[text] == text for text in KEPT & {*texts})


@given(texts=TEXTS, ends=st.tuples(st.sampled_from(",:;|"), st.sampled_from(",:;|")))
def test_names_with_something_behind_them_compare_as_the_texts_do(
    texts: list[str], ends: tuple[str, str]
) -> None:
    names = names_by_rank(texts, KEPT)
    for one in texts:
        for other in texts:
            was = one + ends[0] < other + ends[1]
            assert (names[one] + ends[0] < names[other] + ends[1]) == was


def test_a_value_that_begins_with_another_keeps_its_side_of_the_separator() -> None:
    names = names_by_rank(["rack1", "rack10", "rack2"])
    assert names["rack10"].startswith(names["rack1"])
    assert names["rack10"] + ";" < names["rack1"] + ";" < names["rack2"] + ";"


def test_a_hundred_thousand_names_are_short() -> None:
    names = names_by_rank([f"machine-of-a-company-{n:06d}" for n in range(100_000)])
    assert max(map(len, names.values())) <= 6
    assert {char for name in names.values() for char in name} <= {*ascii_lowercase}


def test_a_cycle_that_differs_differs_under_the_new_names_too() -> None:
    records = records_of_seed(7)
    place = next(
        place
        for place, record in enumerate(records)
        if isinstance(record.body, CycleOutput) and place > 3
    )
    output = records[place].body
    assert isinstance(output, CycleOutput)
    records[place] = replace(records[place], body=replace(output, digest=b"another" * 4))
    after = replayed(History().cycles(redacted(records, renaming_of(records))))
    different = [each.recorded.given.cycle for each in after if not each.identical]
    assert different == [records[place].cycle]


def test_a_margin_stays_one_and_a_fingerprint_that_cannot_be_read_keeps_its_precedence() -> None:
    renaming = Renaming(lambda text: text and "x")
    assert renaming.group(MARGIN_GROUP) == MARGIN_GROUP
    assert renaming.group("margin:gang-7") == "margin:x"
    assert renaming.fingerprint("made elsewhere") == "x"
    odd = Profile.of(priority=7).fingerprint + "#2"
    assert renaming.fingerprint(odd) == "p=7|ipb=0|rpb=0|x"
    assert profile_of(odd) is None


def test_notes_are_kept_and_name_nothing() -> None:
    scope = PauseScope(("secret-shard",), ("secret-cluster",))
    pause = Pause("secret-pause", PauseSource.RPC, scope, "secret-owner", "secret-reason", 7, 9)
    pause = replace(pause, created_by="secret-san", ended_at=8, ended="lifted by secret-owner")
    notes: tuple[JournalNote, ...] = (
        ActionView(
            7, 2, ActionKind.PROVISION, "secret-1", "secret-cluster", outcome="stockout: secret"
        ),
        StoryEvent(
            5, StorySource.PROVIDER, "secret", 7, cluster="secret-cluster", machine="secret-1"
        ),
        JournalEvent("pause_lifted", "secret-pause", "secret", {"why": "secret"}, "secret", pause),
        JournalEvent("rollup_accepted", "secret-cluster", "secret", {"rows": "7"}),
        ActionView(7, 3, ActionKind.PREEMPT, "secret-1", outcome="paused by secret-owner: secret"),
    )
    records = [JournalRecord(seq, 7, 5, body) for seq, body in enumerate(notes, 1)]
    told = redacted(records, renaming_of(records))
    assert not any(b"secret" in record_bytes(each) for each in told)
    outcome, story, lifted, accepted, _held = (each.body for each in told)
    assert isinstance(outcome, ActionView)
    assert isinstance(story, StoryEvent)
    assert isinstance(lifted, JournalEvent)
    assert isinstance(accepted, JournalEvent)
    assert outcome.outcome.startswith("stockout: ")
    assert (outcome.machine, outcome.index) == (story.machine, 2)
    assert lifted.pause is not None
    assert lifted.pause.scope.cluster_ids == (outcome.cluster,)
    assert (lifted.pause.created_at, lifted.pause.ended_at) == (7, 8)
    assert accepted.attributes == {"rows": "7"}
