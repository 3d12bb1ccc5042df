"""ShardAdmin.ListNeeds on the wire: Needs with their states, row by row.

Texts are cut to what may be told, so that a row is as large as its Need.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from itertools import islice
from typing import Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import DemandSource, cut_text
from bigfleet.model.need_states import NeedState
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.reasons import ToldReason
from bigfleet.model.shard_views import NeedListing, NeedQuery, NeedRow
from bigfleet.wire.cluster_report_records import CUT
from bigfleet.wire.record_codecs import (
    NOT_NEGATIVE,
    Conversion,
    Document,
    Field,
    RecordCodec,
    Unused,
    first_rows,
)
from bigfleet.wire.rpcs import ROWS_PER_FRAME, ClusterPart, in_frames
from bigfleet.wire.shard_read import NEED_VIEW
from bigfleet.wire.shard_views import NEED_COUNTS, known

#: Facts and refs of a reason.
MOST_FACTS = 32
#: States and sources that a query may name; there are fewer.
_MOST_STATES = 16
_SOURCES = tuple(DemandSource)

_EVERY_NEED = NeedQuery()


class NeedHandler(Protocol):
    async def list_needs(self, query: NeedQuery) -> NeedListing: ...


async def need_frames(
    handler: NeedHandler, request: pb.ListNeedsRequest
) -> AsyncGenerator[pb.ListNeedsResponse, None]:
    listing = await handler.list_needs(NEED_QUERY.record(request))
    yield pb.ListNeedsResponse(header=_header_message(listing))

    async def messages() -> AsyncGenerator[pb.NeedRow, None]:
        for row in listing.rows:
            yield NEED_ROW.message(row)

    async with (
        aclosing(messages()) as rows,
        aclosing(
            in_frames(
                rows,
                request.rows_per_frame,
                lambda row: pb.ListNeedsResponse(need=row),
                lambda some: pb.ListNeedsResponse(needs=some),
            )
        ) as frames,
    ):
        async for frame in frames:
            yield frame


def _told_to_cluster(frame: pb.ListNeedsResponse) -> pb.ListNeedsResponse:
    """Why a Need stands as it does, without the names of others and what the fleet has."""
    for row in (*([frame.need] if frame.HasField("need") else ()), *frame.needs):
        row.ClearField("remedy")
        row.ClearField("further_reasons")
        row.reason.ClearField("facts")
        row.reason.ClearField("refs")
        row.view.ClearField("matching_supply")
    return frame


#: A cluster may list its own Needs.
OWN_NEEDS = ClusterPart(lambda request: str(request.cluster_id), _told_to_cluster)


def _states_of(numbers: Sequence[int]) -> tuple[NeedState, ...]:
    """Raises Rejected where a state is not one."""
    states = tuple(state for value in numbers[:_MOST_STATES] if (state := known(NeedState, value)))
    if len(states) != len(numbers):
        names = ", ".join(state.label for state in NeedState)
        text = f"states names a state this shard does not know; it knows {names}"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    return states


def _sources_of(names: Sequence[str]) -> tuple[str, ...]:
    """Raises Rejected where a source is not one."""
    unknown = [name for name in names[:_MOST_STATES] if name not in _SOURCES]
    if unknown or len(names) > _MOST_STATES:
        text = f"sources names one this shard does not know; it knows {', '.join(_SOURCES)}"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    return tuple(names)


NEED_QUERY = RecordCodec(
    NeedQuery,
    pb.ListNeedsRequest,
    Unused("rows_per_frame"),
    limit=NOT_NEGATIVE,
    states=Conversion(read=_states_of),
    sources=Conversion(read=_sources_of),
    id_prefix="need_id_prefix",
)


def need_query_message(query: NeedQuery = _EVERY_NEED) -> pb.ListNeedsRequest:
    message = NEED_QUERY.message(query)
    message.rows_per_frame = ROWS_PER_FRAME
    return message


def need_listing(header: pb.ListNeedsHeader, rows: tuple[NeedRow, ...]) -> NeedListing:
    counts = NEED_COUNTS.record(header.counts)
    return NeedListing(header.cycle, header.computed_at_unix_nanos, counts, header.matching, rows)


def _header_message(listing: NeedListing) -> pb.ListNeedsHeader:
    return pb.ListNeedsHeader(
        cycle=listing.cycle,
        computed_at_unix_nanos=listing.computed_at,
        total_needs=listing.counts.total,
        counts=NEED_COUNTS.message(listing.counts),
        matching=listing.matching,
    )


def _facts_told(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: cut_text(value) for name, value in islice(facts.items(), MOST_FACTS)}


def _refs_told(refs: Sequence[str]) -> list[str]:
    return [cut_text(name) for name in refs[:MOST_FACTS]]


REASON = RecordCodec(
    ToldReason,
    pb.Reason,
    text=CUT,
    facts=Conversion(_facts_told, dict),
    refs=Conversion(_refs_told, tuple),
)
NEED_ROW = RecordCodec(
    NeedRow,
    pb.NeedRow,
    view=NEED_VIEW,
    reason=REASON,
    remedy=CUT,
    arriving="arriving_machines",
    further=Field("further_reasons", first_rows(MOST_FACTS, REASON)),
)


def need_row_document(row: NeedRow) -> Document:
    """What a row says of its Need beside the view."""
    document = NEED_ROW.document(row)
    del document["view"]
    return document
