"""ShardAdmin.ListNeeds on the wire: Needs with their states, row by row.

Texts are cut to what may be told, so that a row is as large as its Need. Rows are bytes on their
way: a shard keeps those of Needs that did not change, and a page recognises them without reading.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.actions import UnmetReason
from bigfleet.model.cluster_reports import DemandSource, cut_text
from bigfleet.model.forecasts import Forecast
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import NeedListing, NeedQuery, NeedRow, ReasonCount
from bigfleet.v1alpha1 import capacity_pb2 as capacity
from bigfleet.v1alpha1 import shardread_pb2 as read
from bigfleet.wire.cluster_report_records import CUT
from bigfleet.wire.forecasts import FORECAST
from bigfleet.wire.needs import need_message
from bigfleet.wire.reasons import MOST_FACTS, REASON, reason_message
from bigfleet.wire.record_codecs import (
    NOT_NEGATIVE,
    Conversion,
    Document,
    Field,
    RecordCodec,
    Unused,
    first_rows,
)
from bigfleet.wire.rpcs import MOST_PER_FRAME, ROWS_PER_FRAME, ClusterPart
from bigfleet.wire.shard_read import COVERAGE, MOST_CANDIDATES, NEED_VIEW, shortage_fields
from bigfleet.wire.shard_views import NEED_COUNTS, known

#: States and sources that a query may name; there are fewer.
_MOST_STATES = 16
#: Profiles that a writer remembers; a fleet has some hundreds.
_MOST_PROFILES = 4_096
_SOURCES = tuple(DemandSource)

_EVERY_NEED = NeedQuery()


@dataclass(frozen=True, slots=True)
class EncodedNeeds:
    """A listing on its way to who asked."""

    #: Without its rows.
    head: NeedListing
    #: Each a message's bytes.
    rows: Sequence[bytes]

    @classmethod
    def of(cls, listing: NeedListing) -> "EncodedNeeds":
        return cls(replace(listing, rows=()), list(map(NeedRowWriter().row, listing.rows)))


class NeedHandler(Protocol):
    async def list_needs(self, query: NeedQuery) -> EncodedNeeds: ...


async def need_frames(
    handler: NeedHandler, request: pb.ListNeedsRequest
) -> AsyncGenerator[Message, None]:
    listing = await handler.list_needs(NEED_QUERY.record(request))
    yield pb.ListNeedsResponse(header=_header_message(listing.head))
    most = min(request.rows_per_frame, MOST_PER_FRAME)
    if most <= 1:
        for row in listing.rows:
            yield NEED_FRAME(need=row)
        return
    for start in range(0, len(listing.rows), most):
        yield NEED_FRAME(needs=listing.rows[start : start + most])


def _frame_type() -> Any:
    """ListNeedsResponse for those who do not look into its rows: they are bytes. On the wire both
    are the same."""
    file = descriptor_pb2.FileDescriptorProto(
        name="bigfleet/wire/need_frames.proto",
        package="bigfleet.wire",
        dependency=[pb.DESCRIPTOR.name],
        syntax="proto3",
    )
    frame = file.message_type.add()
    pb.ListNeedsResponse.DESCRIPTOR.CopyToProto(frame)
    frame.name = "NeedFrame"
    for each in frame.field:
        if each.name in ("need", "needs"):
            each.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
            each.ClearField("type_name")
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("bigfleet.wire.NeedFrame"))


NEED_FRAME = _frame_type()


@lru_cache(256)
def need_sources_bytes(sources: tuple[str, ...]) -> bytes:
    """What comes behind a row without sources, so that it is one with them."""
    return pb.NeedRow(sources=sources).SerializeToString()


def forecast_bytes(forecast: Forecast) -> bytes:
    """What comes behind a row without a forecast, so that it is one with it."""
    return pb.NeedRow(forecast=FORECAST.message(forecast)).SerializeToString()


def _told_to_cluster(encoded: Message) -> pb.ListNeedsResponse:
    """Why a Need stands as it does, without the names of others and what the fleet has."""
    frame = pb.ListNeedsResponse.FromString(encoded.SerializeToString())
    for row in (*([frame.need] if frame.HasField("need") else ()), *frame.needs):
        row.ClearField("remedy")
        row.ClearField("further_reasons")
        row.reason.ClearField("facts")
        row.reason.ClearField("refs")
        row.view.ClearField("matching_supply")
        if row.HasField("forecast"):
            row.forecast.ClearField("basis")
    return frame


#: A cluster may list its own Needs, of the last cycle: a past one is read from the journal and
#: decided again, and a tenant could keep a shard busy with questions (as in ruling C66).
OWN_NEEDS = ClusterPart(
    lambda request: "" if request.cycle else str(request.cluster_id), _told_to_cluster
)


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
    cycle=NOT_NEGATIVE,
    states=Conversion(read=_states_of),
    sources=Conversion(read=_sources_of),
    id_prefix="need_id_prefix",
)


REASON_COUNT = RecordCodec(ReasonCount, pb.ReasonCount)


def need_query_message(query: NeedQuery = _EVERY_NEED) -> pb.ListNeedsRequest:
    message = NEED_QUERY.message(query)
    message.rows_per_frame = ROWS_PER_FRAME
    return message


def full_frames_message(query: NeedQuery = _EVERY_NEED) -> pb.ListNeedsRequest:
    """The same by one that takes rows as bytes: frames may be as large as they come."""
    message = need_query_message(query)
    message.rows_per_frame = MOST_PER_FRAME
    return message


def need_listing(header: pb.ListNeedsHeader, rows: tuple[NeedRow, ...]) -> NeedListing:
    counts = NEED_COUNTS.record(header.counts)
    return NeedListing(
        header.cycle,
        header.computed_at_unix_nanos,
        counts,
        header.matching,
        rows,
        header.unjudged,
        REASON_COUNT.records(header.reasons),
    )


def _header_message(listing: NeedListing) -> pb.ListNeedsHeader:
    return pb.ListNeedsHeader(
        cycle=listing.cycle,
        computed_at_unix_nanos=listing.computed_at,
        total_needs=listing.counts.total + listing.unjudged,
        counts=NEED_COUNTS.message(listing.counts),
        matching=listing.matching,
        unjudged=listing.unjudged,
        reasons=REASON_COUNT.messages(listing.reasons),
    )


NEED_ROW = RecordCodec(
    NeedRow,
    pb.NeedRow,
    view=NEED_VIEW,
    reason=REASON,
    remedy=CUT,
    arriving="arriving_machines",
    further=Field("further_reasons", first_rows(MOST_FACTS, REASON)),
    forecast=FORECAST,
)


def need_row_document(row: NeedRow) -> Document:
    """What a row says of its Need beside the view."""
    document = NEED_ROW.document(row)
    del document["view"]
    return document


_UNMET_REASONS: dict[UnmetReason | None, read.UnmetReason.ValueType] = {
    None: read.UNMET_REASON_UNSPECIFIED,
    **{each: read.UnmetReason.Value(f"UNMET_REASON_{each.name}") for each in UnmetReason},
}


class NeedRowWriter:
    """Rows as NEED_ROW writes them. By hand, as a page asks for thousands; what Needs of one
    profile share is written once."""

    def __init__(self) -> None:
        #: By fingerprint.
        self._profiles: dict[str, bytes] = {}

    def row(self, row: NeedRow) -> bytes:
        view, need = row.view, row.view.need
        demand = capacity.CapacityNeed(
            aggregate_resources=need.aggregate.texts(),
            min_unit=need.min_unit.texts(),
            group=need.group,
        )
        shown = read.NeedView(
            cluster_id=need.cluster,
            arrival_unix_nanos=need.arrival_unix_nanos,
            profile_fingerprint=need.profile.fingerprint,
            satisfied=view.satisfied,
            claimed_machine_count=view.claimed,
            bootstrap_count=view.bootstraps,
            provision_count=view.provisions,
            same_domain=view.same_domain,
            same_satisfiable=view.same_satisfiable,
            acquisition_parked=view.parked,
            parked_age_cycles=view.parked_age,
            age_cycles_unmet=view.unmet_age,
            unmet_reason=_UNMET_REASONS[view.unmet_reason],
            **shortage_fields(view),
        )
        if view.same_candidates:
            shown.same_candidates.extend(COVERAGE.messages(view.same_candidates[:MOST_CANDIDATES]))
        content = pb.NeedRow(
            state=row.state,  # type: ignore[arg-type]
            reason=reason_message(row.reason),
            since_unix_nanos=row.since,
            remedy=cut_text(row.remedy),
            arriving_machines=row.arriving,
            stuck_pods=row.stuck_pods,
            further_reasons=map(reason_message, row.further[:MOST_FACTS]),
            sources=row.sources,
            forecast=None if row.forecast is None else FORECAST.message(row.forecast),
        ).SerializeToString(deterministic=True)
        # Pieces of a message behind each other are one message.
        whole = self._profile(need.profile) + demand.SerializeToString(deterministic=True)
        told = _nested(whole) + shown.SerializeToString(deterministic=True)
        return _nested(told) + content

    def _profile(self, profile: Profile) -> bytes:
        known = self._profiles.get(profile.fingerprint)
        if known is None:
            if len(self._profiles) >= _MOST_PROFILES:
                self._profiles.clear()
            need = Need(cluster="", profile=profile, aggregate=Resources())
            known = need_message(need).SerializeToString(deterministic=True)
            self._profiles[profile.fingerprint] = known
        return known


def _nested(content: bytes) -> bytes:
    """As field 1 of a message: `view` of a row, `need` of a view."""
    size, prefix = len(content), bytearray(b"\x0a")
    while size > 0x7F:
        prefix.append(size & 0x7F | 0x80)
        size >>= 7
    prefix.append(size)
    return bytes(prefix) + content
