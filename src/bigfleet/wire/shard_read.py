"""ShardRead on the wire: what the last cycle did for each Need, row by row."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol

from bigfleet.model.shard_views import DomainCoverage, MatchingSupply, NeedPage, NeedView
from bigfleet.v1alpha1 import shardread_pb2 as pb
from bigfleet.wire.needs import need_message, need_of, resources_message, resources_of
from bigfleet.wire.record_codecs import ByHand, Document, RecordCodec, first_rows
from bigfleet.wire.rpcs import Page, RpcClient, Service

_NO_SUPPLY = MatchingSupply()
#: Domains shown of a gang that cannot be placed.
MOST_CANDIDATES = 6


class ShardReadHandler(Protocol):
    async def needs(self, cluster: str, limit: int) -> NeedPage:
        """Of all clusters where none is named; 0: no limit."""


SHARD_READ: Service[ShardReadHandler] = Service("bigfleet.v1alpha1.ShardRead", "shard")


def _needs_request(cluster: str = "", limit: int = 0) -> pb.InspectNeedsRequest:
    return pb.InspectNeedsRequest(cluster_id=cluster, limit=limit)


async def _need_frames(
    handler: ShardReadHandler, request: pb.InspectNeedsRequest
) -> AsyncGenerator[pb.InspectNeedsResponse, None]:
    page = await handler.needs(request.cluster_id, max(0, request.limit))
    header = pb.InspectNeedsHeader(
        cycle=page.cycle, computed_at_unix_nanos=page.computed_at, total_needs=page.total
    )
    yield pb.InspectNeedsResponse(header=header)
    for view in page.needs:
        yield pb.InspectNeedsResponse(need=NEED_VIEW.message(view))


def _need_page(header: pb.InspectNeedsHeader, views: tuple[NeedView, ...]) -> NeedPage:
    return NeedPage(header.cycle, header.computed_at_unix_nanos, header.total_needs, views)


def _need_fields(view: NeedView) -> Mapping[str, Any]:
    need = view.need
    return {
        "need": need_message(need),
        "cluster_id": need.cluster,
        "arrival_unix_nanos": need.arrival_unix_nanos,
        "profile_fingerprint": need.profile.fingerprint,
    }


def _need_in(message: pb.NeedView) -> Mapping[str, Any]:
    return {"need": need_of(message.need, message.cluster_id, message.arrival_unix_nanos)}


def shortage_fields(view: NeedView) -> Mapping[str, Any]:
    """What only explains a shortage is left out where there is none."""
    found: dict[str, Any] = {}
    if not view.satisfied:
        found["residual_deficit"] = resources_message(view.deficit)
        supply = view.supply or _NO_SUPPLY
        found["matching_supply"] = pb.MatchingSupply(
            idle=supply.idle,
            configured=supply.configured,
            speculative=supply.speculative,
            capped=supply.capped,
        )
    if view.victims:
        found["preemption"] = pb.PreemptionSummary(
            victims_found=view.victims, capacity_freed=resources_message(view.freed)
        )
    return found


def _shortage_in(message: pb.NeedView) -> Mapping[str, Any]:
    told = message.HasField("matching_supply")
    return {
        "deficit": resources_of(message.residual_deficit),
        "supply": SUPPLY.record(message.matching_supply) if told else None,
        "victims": message.preemption.victims_found,
        "freed": resources_of(message.preemption.capacity_freed),
    }


SUPPLY = RecordCodec(MatchingSupply, pb.MatchingSupply)
COVERAGE = RecordCodec(DomainCoverage, pb.DomainCoverage, per_mille="coverage_per_mille")
NEED_VIEW = RecordCodec(
    NeedView,
    pb.NeedView,
    ByHand(
        ("need",),
        ("need", "cluster_id", "arrival_unix_nanos", "profile_fingerprint"),
        _need_fields,
        _need_in,
    ),
    ByHand(
        ("deficit", "supply", "victims", "freed"),
        ("residual_deficit", "matching_supply", "preemption"),
        shortage_fields,
        _shortage_in,
    ),
    claimed="claimed_machine_count",
    bootstraps="bootstrap_count",
    provisions="provision_count",
    parked="acquisition_parked",
    parked_age="parked_age_cycles",
    unmet_age="age_cycles_unmet",
    same_candidates=first_rows(MOST_CANDIDATES, COVERAGE),
)


def need_view_document(view: NeedView) -> Document:
    return {**NEED_VIEW.document(view), "needId": view.need.key.need_id}


class ShardReadClient(RpcClient):
    needs = SHARD_READ.listing(
        "InspectNeeds",
        _needs_request,
        _need_frames,
        Page(pb.InspectNeedsResponse, "need", NEED_VIEW.record, _need_page),
        "needs",
        "reports shards",
    )
