"""A stored journal is decided as it was, unless the change log says what changes."""

import pytest

from bigfleet.journal.comparison import Comparison
from bigfleet.journal.diffs import compare, this_engine
from bigfleet.journal.history import History
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.model.actions import ActionKind
from tests.journal.stored_journal import STORED, decisions_in, why_not_recorded

MOST_BYTES = 200_000


def differences() -> Comparison:
    cycles = History().cycles(records_in_order(segments_of(STORED)))
    return compare(cycles, this_engine({}))


def test_the_stored_cycles_are_decided_as_they_were() -> None:
    found = differences()
    if found.changed:
        pytest.fail(
            f"{found.changed} of {found.cycles} stored cycles are decided otherwise, the first is"
            f" {found.first_changed}: added {dict(found.added)}, removed {dict(found.removed)}."
            ' If that is meant: write a line under "Decisions" in CHANGELOG.md, then'
            " python -m tests.journal.stored_journal"
        )


def test_the_stored_journal_is_small_and_has_every_kind_of_action() -> None:
    segments = segments_of(STORED)
    assert sum(segment.size for segment in segments) < MOST_BYTES
    kinds: set[int] = set()
    for cycle in History().cycles(records_in_order(segments)):
        kinds |= set(cycle.given.decide().outcome.action_columns.kind.tolist())
    assert kinds == {int(kind) for kind in ActionKind}


def test_a_change_without_an_entry_is_not_recorded() -> None:
    before = decisions_in("### Decisions\n\n- One\n  line.\n- Two.\n\n### Security\n\n- No.\n")
    assert before == ["One line.", "Two."]
    assert "no new entry" in (why_not_recorded(before, before) or "")
    assert "no new entry" in (why_not_recorded(before[:1], before) or "")
    assert why_not_recorded([*before, "Three."], before) is None
