"""ShardAdmin.ListNeeds on the wire: Needs with their states, row by row.

Texts are cut to what may be told, so that a row is as large as its Need.
"""

from collections.abc import AsyncGenerator
from typing import Protocol

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import cut_text
from bigfleet.model.need_states import NeedState
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.reasons import ToldReason
from bigfleet.model.shard_views import NeedCounts, NeedListing, NeedQuery, NeedRow
from bigfleet.wire.shard_read import need_view_message, need_view_of
from bigfleet.wire.shard_views import counts_message, counts_of, known, number

#: Facts and refs of a reason.
MOST_FACTS = 32
#: States that a query may name; there are fewer.
_MOST_STATES = 16

_EVERY_NEED = NeedQuery()


class NeedHandler(Protocol):
    async def list_needs(self, query: NeedQuery) -> NeedListing: ...


async def need_frames(
    handler: NeedHandler, request: pb.ListNeedsRequest
) -> AsyncGenerator[pb.ListNeedsResponse, None]:
    listing = await handler.list_needs(query_of(request))
    yield pb.ListNeedsResponse(header=_header_message(listing))
    for row in listing.rows:
        yield pb.ListNeedsResponse(need=need_row_message(row))


def query_of(message: pb.ListNeedsRequest) -> NeedQuery:
    """Raises Rejected where a state is not one."""
    states = tuple(found for value in message.states[:_MOST_STATES] if (found := _state(value)))
    if len(states) != len(message.states):
        names = ", ".join(state.label for state in NeedState)
        text = f"states names a state this shard does not know; it knows {names}"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    return NeedQuery(message.cluster_id, max(0, message.limit), states, message.need_id_prefix)


def _state(value: int) -> NeedState | None:
    return known(NeedState, value)


def need_query_message(query: NeedQuery = _EVERY_NEED) -> pb.ListNeedsRequest:
    return pb.ListNeedsRequest(
        cluster_id=query.cluster,
        limit=query.limit,
        states=map(number, query.states),
        need_id_prefix=query.id_prefix,
    )


def need_listing(header: pb.ListNeedsHeader, rows: tuple[NeedRow, ...]) -> NeedListing:
    counts = counts_of(header.counts) if header.HasField("counts") else NeedCounts()
    return NeedListing(header.cycle, header.computed_at_unix_nanos, counts, header.matching, rows)


def _header_message(listing: NeedListing) -> pb.ListNeedsHeader:
    return pb.ListNeedsHeader(
        cycle=listing.cycle,
        computed_at_unix_nanos=listing.computed_at,
        total_needs=listing.counts.total,
        counts=counts_message(listing.counts),
        matching=listing.matching,
    )


def need_row_message(row: NeedRow) -> pb.NeedRow:
    return pb.NeedRow(
        view=need_view_message(row.view),
        state=number(row.state),
        reason=_reason_message(row.reason),
        since_unix_nanos=row.since,
        remedy=cut_text(row.remedy),
        arriving_machines=row.arriving,
        stuck_pods=row.stuck_pods,
        further_reasons=map(_reason_message, row.further[:MOST_FACTS]),
    )


def _reason_message(reason: ToldReason) -> pb.Reason:
    facts = list(reason.facts.items())[:MOST_FACTS]
    return pb.Reason(
        code=reason.code,
        text=cut_text(reason.text),
        facts={name: cut_text(value) for name, value in facts},
        refs=[cut_text(name) for name in reason.refs[:MOST_FACTS]],
    )


def _reason_of(message: pb.Reason) -> ToldReason:
    return ToldReason(message.code, message.text, dict(message.facts), tuple(message.refs))


def need_row_of(message: pb.NeedRow) -> NeedRow:
    return NeedRow(
        need_view_of(message.view),
        NeedState(message.state),
        _reason_of(message.reason),
        message.since_unix_nanos,
        message.remedy,
        message.arriving_machines,
        message.stuck_pods,
        tuple(map(_reason_of, message.further_reasons)),
    )
