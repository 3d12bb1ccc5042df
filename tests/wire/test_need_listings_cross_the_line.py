"""ListNeeds: what is asked is checked, and what is told has bounds."""

from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import LONGEST_TEXT
from bigfleet.model.need_states import NeedState
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import NeedCounts, NeedQuery, NeedRow
from bigfleet.wire.need_listings import (
    NEED_QUERY,
    NEED_ROW,
    NeedRowWriter,
    need_frames,
    need_listing,
    need_query_message,
    need_sources_bytes,
)
from bigfleet.wire.reasons import MOST_FACTS
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN, ShardAdminClient
from tests.wire.admin import BLOCKED, LISTING, SERVED, ScriptedAdmin
from tests.wire.certificates import Authority
from tests.wire.sessions import ScriptedShard, line_to


@pytest.mark.parametrize(
    "query",
    [
        NeedQuery(),
        NeedQuery("shop", 7, tuple(NeedState), "n3f9", ("pod", "buffer"), 8, "supply.none", True),
    ],
    ids=["all", "some"],
)
def test_a_query_arrives_as_it_was_asked(query: NeedQuery) -> None:
    sent = need_query_message(query).SerializeToString()
    assert NEED_QUERY.record(pb.ListNeedsRequest.FromString(sent)) == query


def test_a_negative_limit_is_no_limit() -> None:
    assert NEED_QUERY.record(pb.ListNeedsRequest(limit=-3)).limit == 0


@pytest.mark.parametrize(
    "states", [(0,), (99,), (1, 7), (1,) * 1000], ids=["unspecified", "later", "both", "many"]
)
def test_unknown_states_are_refused_with_the_known_ones(states: tuple[int, ...]) -> None:
    request = pb.ListNeedsRequest(states=states)  # type: ignore[arg-type]
    with pytest.raises(Rejected, match="met, arriving, blocked, short") as rejected:
        NEED_QUERY.record(request)
    assert rejected.value.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize("sources", [("pods",), ("pod", ""), ("pod",) * 1000])
def test_unknown_sources_are_refused_with_the_known_ones(sources: tuple[str, ...]) -> None:
    with pytest.raises(Rejected, match="pod, buffer, provisioning-request") as rejected:
        NEED_QUERY.record(pb.ListNeedsRequest(sources=sources))
    assert rejected.value.code is Code.INVALID_ARGUMENT


UNJUDGED = replace(SERVED, state=None, since=0)
SHORT = replace(BLOCKED, state=NeedState.SHORT, further=(SERVED.reason, BLOCKED.reason))


@pytest.mark.parametrize(
    "row", [BLOCKED, SERVED, SHORT, UNJUDGED], ids=["blocked", "met", "short", "past"]
)
def test_a_row_comes_back_as_it_was(row: object) -> None:
    assert NEED_ROW.record(NEED_ROW.message(row)) == row  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [BLOCKED, SERVED, SHORT], ids=["blocked", "met", "short"])
def test_a_row_written_by_hand_is_what_its_table_of_fields_writes(row: NeedRow) -> None:
    writer = NeedRowWriter()
    assert pb.NeedRow.FromString(writer.row(row)) == NEED_ROW.message(row)
    assert writer.row(row) == writer.row(row)


def test_a_large_row_written_by_hand_is_whole() -> None:
    loud = "x" * 1_000_000
    reason = replace(BLOCKED.reason, text=loud, facts={"fact": loud}, refs=(loud,) * 1000)
    view = replace(BLOCKED.view, same_domain=loud)
    row = replace(BLOCKED, view=view, reason=reason, remedy=loud, further=(reason,) * 1000)
    assert pb.NeedRow.FromString(NeedRowWriter().row(row)) == NEED_ROW.message(row)


def test_sources_behind_a_row_are_part_of_it() -> None:
    row = NeedRowWriter().row(replace(SERVED, sources=()))
    whole = NEED_ROW.record(pb.NeedRow.FromString(row + need_sources_bytes(("pod", "buffer"))))
    assert whole == replace(SERVED, sources=("pod", "buffer"))


@pytest.mark.parametrize("per_frame", [0, 1, 2, 10_000])
async def test_rows_come_one_by_one_or_as_many_in_a_frame_as_asked(per_frame: int) -> None:
    rows = (BLOCKED, SERVED, SHORT)
    people = ScriptedAdmin()
    people.listing = replace(LISTING, rows=rows)
    asked = pb.ListNeedsRequest(rows_per_frame=per_frame)
    frames = [
        pb.ListNeedsResponse.FromString(frame.SerializeToString())
        async for frame in need_frames(people, asked)
    ]
    found = [row for frame in frames[1:] for row in (*frame.needs, *_alone(frame))]
    assert [NEED_ROW.record(row) for row in found] == list(rows)
    assert frames[0].header.cycle == LISTING.cycle
    assert len(frames) - 1 == {0: 3, 1: 3, 2: 2}.get(per_frame, 1)


def _alone(frame: pb.ListNeedsResponse) -> list[pb.NeedRow]:
    return [frame.need] if frame.HasField("need") else []


def test_what_a_provider_said_makes_no_row_grow() -> None:
    loud = "x" * 1_000_000
    reason = replace(
        BLOCKED.reason,
        text=loud,
        facts={f"fact-{n}": loud for n in range(1000)},
        refs=(loud,) * 1000,
    )
    message = NEED_ROW.message(replace(BLOCKED, reason=reason, remedy=loud))
    assert message.ByteSize() < (2 * MOST_FACTS + 4) * (LONGEST_TEXT + 32)
    assert message.reason.text.endswith("...")


def test_a_listing_without_frames_says_that_nothing_was_computed() -> None:
    listing = need_listing(pb.ListNeedsHeader(), ())
    assert (listing.cycle, listing.counts, listing.rows) == (0, NeedCounts(), ())


async def test_a_cluster_lists_its_own_needs_without_what_is_the_fleets(tmp_path: Path) -> None:
    authority, people = Authority(tmp_path), ScriptedAdmin()
    async with line_to(
        ScriptedShard(),
        server_tls=authority.leaf("server"),
        extra_services=[RpcService(SHARD_ADMIN, people)],
    ) as line:
        address = line.client.address
        shop = authority.leaf("shop", "bigfleet://cluster/shop")
        async with ShardAdminClient(address, shop) as client:
            told = await client.needs(NeedQuery("shop"))
            for query in (NeedQuery(), NeedQuery("bank"), NeedQuery("shop", cycle=8)):
                with pytest.raises(Rejected) as rejected:
                    await client.needs(query)
                assert rejected.value.code is Code.PERMISSION_DENIED
        reader = authority.leaf("reader", "bigfleet://readonly")
        async with ShardAdminClient(address, reader) as client:
            assert await client.needs(NeedQuery("shop")) == LISTING
    assert people.asked == [("list_needs", NeedQuery("shop"))] * 2
    (row, _) = told.rows
    assert (row.state, row.reason.code) == (BLOCKED.state, BLOCKED.reason.code)
    assert row.reason.text == BLOCKED.reason.text
    assert not any((row.reason.facts, row.reason.refs, row.remedy, row.further, row.view.supply))
