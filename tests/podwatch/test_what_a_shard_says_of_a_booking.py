"""States of Needs as an answer about a booking: the worst of them counts."""

from bigfleet.model.need_states import NeedState
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.reasons import ToldReason
from bigfleet.model.shard_views import NeedRow, NeedView
from bigfleet.podwatch.capacity_questions import Verdict
from bigfleet.podwatch.driving.shard_questions import not_answered, told_of
from bigfleet.podwatch.provisioning_requests import needs_of
from tests.podwatch.provisioning import plan

NEEDS = needs_of("shop", plan(2))
KEYS = [need.key for need in NEEDS]


def row(state: NeedState, code: str = "supply.none", *, group: str = "") -> NeedRow:
    (need,) = NEEDS
    moved = type(need)(need.cluster, need.profile, need.aggregate, need.min_unit, group=group)
    view = NeedView(moved, satisfied=state is NeedState.MET)
    return NeedRow(view, state, ToldReason(code, "no machine fits"), 0)


def test_machines_that_are_there_are_a_yes() -> None:
    assert told_of(KEYS, [row(NeedState.MET)]).verdict is Verdict.YES


def test_a_need_that_is_short_is_a_no_with_its_reason() -> None:
    answer = told_of(KEYS, [row(NeedState.SHORT)])
    assert answer.verdict is Verdict.NO
    assert answer.text.endswith("supply.none: no machine fits")


def test_what_is_held_back_or_not_known_yet_is_on_its_way() -> None:
    for rows in ([], [row(NeedState.ARRIVING)], [row(NeedState.BLOCKED, "rail.paused")]):
        assert told_of(KEYS, rows).verdict is Verdict.ARRIVING


def test_rows_that_an_operator_splits_by_sizes_are_still_the_needs_own_and_margins_are_not() -> (
    None
):
    split = [row(NeedState.MET, group="size-1"), row(NeedState.SHORT, group="margin")]
    assert told_of(KEYS, split).verdict is Verdict.YES


def test_a_shard_that_cannot_be_asked_gives_no_answer() -> None:
    older = not_answered("s:1", Rejected(Code.UNIMPLEMENTED, "no"))
    gone = not_answered("s:1", Rejected(Code.UNAVAILABLE, "refused"))
    assert {older.verdict, gone.verdict} == {Verdict.UNKNOWN}
    assert "upgrade" in older.text
    assert "refused" in gone.text
