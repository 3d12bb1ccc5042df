"""States of Needs as an answer about a booking: the worst of them counts."""

from pathlib import Path

from bigfleet.model.need_states import NeedState
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.reasons import ToldReason
from bigfleet.model.shard_views import NeedCounts, NeedListing, NeedRow, NeedView
from bigfleet.model.what_if import AddDemand, AddedNeed, WhatIfAnswer, WhatIfCall, WhatIfSide
from bigfleet.podwatch.capacity_questions import CapacityAnswer, Verdict, beside_others
from bigfleet.podwatch.driving.shard_questions import (
    ShardQuestions,
    covered_in,
    not_answered,
    told_of,
)
from bigfleet.podwatch.provisioning_requests import needs_of
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN
from tests.etcd_cluster import free_ports
from tests.podwatch.provisioning import plan
from tests.wire.admin import ScriptedAdmin
from tests.wire.certificates import Authority
from tests.wire.sessions import ScriptedShard, line_to

NEEDS = needs_of("shop", plan(2))
KEYS = [need.key for need in NEEDS]


def row(state: NeedState, code: str = "supply.none", *, group: str = "") -> NeedRow:
    (need,) = NEEDS
    moved = type(need)(need.cluster, need.profile, need.aggregate, need.min_unit, group=group)
    view = NeedView(moved, satisfied=state is NeedState.MET)
    return NeedRow(view, state, ToldReason(code, "no machine fits"), 0)


def listed(*rows: NeedRow) -> NeedListing:
    return NeedListing(7, 0, NeedCounts(), len(rows), rows)


def test_machines_that_are_there_are_a_yes() -> None:
    assert told_of(KEYS, listed(row(NeedState.MET))).verdict is Verdict.YES


def test_a_need_that_is_short_is_a_no_with_its_reason() -> None:
    answer = told_of(KEYS, listed(row(NeedState.SHORT)))
    assert answer.verdict is Verdict.NO
    assert answer.text.endswith("supply.none: no machine fits")


def test_what_is_held_back_is_on_its_way_and_what_is_not_known_yet_is_no_answer() -> None:
    for each in (row(NeedState.ARRIVING), row(NeedState.BLOCKED, "rail.paused")):
        answer = told_of(KEYS, listed(each))
        assert (answer.verdict, answer.cycle) == (Verdict.ARRIVING, 7)
    assert told_of(KEYS, listed()).verdict is Verdict.UNKNOWN


def test_rows_that_an_operator_splits_by_sizes_are_still_the_needs_own_and_margins_are_not() -> (
    None
):
    split = (row(NeedState.MET, group="size-1"), row(NeedState.SHORT, group="margin"))
    assert told_of(KEYS, listed(*split)).verdict is Verdict.YES


def test_a_shard_that_cannot_be_asked_gives_no_answer() -> None:
    older = not_answered("s:1", Rejected(Code.UNIMPLEMENTED, "no"))
    gone = not_answered("s:1", Rejected(Code.UNAVAILABLE, "refused"))
    assert {older.verdict, gone.verdict} == {Verdict.UNKNOWN}
    assert "upgrade" in older.text
    assert "refused" in gone.text


# -- before a booking ----------------------------------------------------------------------------


def what_if(*added: AddedNeed) -> WhatIfAnswer:
    return WhatIfAnswer("3:9", WhatIfSide(), WhatIfSide(), added=added)


def test_demand_that_would_be_covered_is_a_yes_of_that_cycle() -> None:
    answer = covered_in(KEYS, what_if(AddedNeed(KEYS[0], True)), "s:1")
    assert answer == CapacityAnswer(Verdict.YES, "cycle 3:9")


def test_demand_that_would_be_short_is_a_no_with_code_and_sentence() -> None:
    short = AddedNeed(KEYS[0], False, "supply.none", "no machine fits")
    answer = covered_in(KEYS, what_if(short), "s:1")
    assert answer.verdict is Verdict.NO
    assert answer.text == f"need/shop/{KEYS[0].need_id}: supply.none: no machine fits"


def test_a_shard_that_does_not_speak_of_the_demand_has_not_said_yes() -> None:
    answer = covered_in(KEYS, what_if(), "s:1")
    assert answer.verdict is Verdict.UNKNOWN
    assert "upgrade" in answer.text


def test_a_no_beside_bookings_that_may_be_counted_twice_is_not_final() -> None:
    no = CapacityAnswer(Verdict.NO, "supply.none: no machine fits")
    assert beside_others(no, 0) == no
    later = beside_others(no, 2)
    assert later.verdict is Verdict.OTHERS_FIRST
    assert later.text.startswith("beside 2 bookings that were granted before it")
    yes = CapacityAnswer(Verdict.YES, "cycle 1")
    assert beside_others(yes, 2) == yes


class _Scripted(ScriptedAdmin):
    async def what_if(self, call: WhatIfCall) -> WhatIfAnswer:
        await super().what_if(call)
        edits = [edit for edit in call.edits if isinstance(edit, AddDemand)]
        return what_if(*(AddedNeed(edit.need.key, True) for edit in edits))


async def test_a_shard_is_asked_about_all_of_it_at_once_with_the_clusters_identity(
    tmp_path: Path,
) -> None:
    authority, people = Authority(tmp_path), _Scripted()
    async with line_to(
        ScriptedShard(),
        server_tls=authority.leaf("server"),
        extra_services=[RpcService(SHARD_ADMIN, people)],
    ) as line:
        tls = authority.leaf("shop", "bigfleet://cluster/shop")
        questions = ShardQuestions(line.client.address, "shop", tls)
        several = needs_of("shop", plan(2, 1))
        beside = needs_of("shop", plan(3))
        answer = await questions.would_be_covered(several, beside)
        assert answer.verdict is Verdict.YES
        ((_, call),) = people.asked
        assert isinstance(call, WhatIfCall)
        asked = [edit.need for edit in call.edits if isinstance(edit, AddDemand)]
        assert sum(need.aggregate["cpu"] for need in asked) == 3 * 500 + 2 * 500 + 2000
        assert len({need.key for need in asked}) == len(asked)
        assert (await questions.are_there(KEYS)).verdict is Verdict.UNKNOWN
        another = ShardQuestions(line.client.address, "bank", tls)
        for refused in (
            await another.are_there(KEYS),
            await another.would_be_covered(needs_of("bank", plan(2))),
        ):
            assert refused.verdict is Verdict.UNKNOWN
            assert "bigfleet://cluster/shop may not do this" in refused.text


async def test_a_shard_that_is_away_and_certificates_that_are_missing_are_no_answer(
    tmp_path: Path,
) -> None:
    (port,) = free_ports(1)
    gone = ShardQuestions(f"127.0.0.1:{port}", "shop", None)
    files = TlsFiles(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    unreadable = ShardQuestions(f"127.0.0.1:{port}", "shop", files)
    for questions, said in ((gone, "does not answer"), (unreadable, "cannot be read")):
        for answer in (await questions.would_be_covered(NEEDS), await questions.are_there(KEYS)):
            assert answer.verdict is Verdict.UNKNOWN
            assert said in answer.text
