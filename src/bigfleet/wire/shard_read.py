"""ShardRead on the wire: what the last cycle did for each Need, row by row."""

from collections.abc import AsyncGenerator
from typing import Protocol

from bigfleet.model.actions import UnmetReason
from bigfleet.model.shard_views import DomainCoverage, MatchingSupply, NeedPage, NeedView
from bigfleet.v1alpha1 import shardread_pb2 as pb
from bigfleet.wire.needs import need_message, need_of, resources_message, resources_of
from bigfleet.wire.rpcs import Page, RpcClient, Service

#: Domains shown of a gang that cannot be placed.
MOST_CANDIDATES = 6

_NUMBER_OF = {reason: pb.UnmetReason.Value(f"UNMET_REASON_{reason.name}") for reason in UnmetReason}
_REASON_OF = {number: reason for reason, number in _NUMBER_OF.items()}


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
        yield pb.InspectNeedsResponse(need=need_view_message(view))


def _need_page(header: pb.InspectNeedsHeader, views: tuple[NeedView, ...]) -> NeedPage:
    return NeedPage(header.cycle, header.computed_at_unix_nanos, header.total_needs, views)


def need_view_message(view: NeedView) -> pb.NeedView:
    """What only explains a shortage is left out where there is none."""
    need, unmet = view.need, not view.satisfied
    return pb.NeedView(
        need=need_message(need),
        cluster_id=need.cluster,
        arrival_unix_nanos=need.arrival_unix_nanos,
        profile_fingerprint=need.profile.fingerprint,
        satisfied=view.satisfied,
        residual_deficit=resources_message(view.deficit) if unmet else None,
        claimed_machine_count=view.claimed,
        bootstrap_count=view.bootstraps,
        provision_count=view.provisions,
        same_domain=view.same_domain,
        same_satisfiable=view.same_satisfiable,
        acquisition_parked=view.parked,
        parked_age_cycles=view.parked_age,
        age_cycles_unmet=view.unmet_age,
        unmet_reason=_NUMBER_OF[view.unmet_reason]
        if view.unmet_reason is not None
        else pb.UNMET_REASON_UNSPECIFIED,
        matching_supply=_supply_message(view.supply or MatchingSupply()) if unmet else None,
        preemption=pb.PreemptionSummary(
            victims_found=view.victims, capacity_freed=resources_message(view.freed)
        )
        if view.victims
        else None,
        same_candidates=[
            pb.DomainCoverage(
                domain=candidate.domain,
                coverage_per_mille=candidate.per_mille,
                satisfiable=candidate.satisfiable,
            )
            for candidate in view.same_candidates[:MOST_CANDIDATES]
        ],
    )


def need_view_of(message: pb.NeedView) -> NeedView:
    supply = message.matching_supply
    return NeedView(
        need=need_of(message.need, message.cluster_id, message.arrival_unix_nanos),
        satisfied=message.satisfied,
        deficit=resources_of(message.residual_deficit),
        claimed=message.claimed_machine_count,
        bootstraps=message.bootstrap_count,
        provisions=message.provision_count,
        same_domain=message.same_domain,
        same_satisfiable=message.same_satisfiable,
        parked=message.acquisition_parked,
        parked_age=message.parked_age_cycles,
        unmet_age=message.age_cycles_unmet,
        unmet_reason=_REASON_OF.get(message.unmet_reason),
        supply=MatchingSupply(supply.idle, supply.configured, supply.speculative, supply.capped)
        if message.HasField("matching_supply")
        else None,
        victims=message.preemption.victims_found,
        freed=resources_of(message.preemption.capacity_freed),
        same_candidates=tuple(
            DomainCoverage(c.domain, c.coverage_per_mille, c.satisfiable)
            for c in message.same_candidates
        ),
    )


def _supply_message(supply: MatchingSupply) -> pb.MatchingSupply:
    return pb.MatchingSupply(
        idle=supply.idle,
        configured=supply.configured,
        speculative=supply.speculative,
        capped=supply.capped,
    )


class ShardReadClient(RpcClient):
    needs = SHARD_READ.listing(
        "InspectNeeds",
        _needs_request,
        _need_frames,
        Page(pb.InspectNeedsResponse, "need", need_view_of, _need_page),
        "needs",
        "reports",
    )
