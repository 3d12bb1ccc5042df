"""ShardRead on the wire: what the last cycle did for each Need, row by row."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol, Self

import grpc

from bigfleet.model.actions import UnmetReason
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_views import DomainCoverage, MatchingSupply, NeedPage, NeedView
from bigfleet.v1alpha1 import shardread_pb2 as pb
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.needs import need_message, need_of, resources_message, resources_of

SERVICE = "bigfleet.v1alpha1.ShardRead"
#: Domains shown of a gang that cannot be placed.
MOST_CANDIDATES = 6

_NUMBER_OF = {reason: pb.UnmetReason.Value(f"UNMET_REASON_{reason.name}") for reason in UnmetReason}
_REASON_OF = {number: reason for reason, number in _NUMBER_OF.items()}


class ShardReadHandler(Protocol):
    async def needs(self, cluster: str, limit: int) -> NeedPage:
        """Of all clusters where none is named; 0: no limit."""


class ShardReadService:
    name = SERVICE

    def __init__(self, handler: ShardReadHandler) -> None:
        self._handler = handler

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        inspect = serving.streams("InspectNeeds", self._inspect)
        return grpc.method_handlers_generic_handler(SERVICE, {"InspectNeeds": inspect})

    async def _inspect(self, request: bytes, _peer: Peer) -> AsyncGenerator[bytes, None]:
        asked = pb.InspectNeedsRequest.FromString(request)
        page = await self._handler.needs(asked.cluster_id, max(0, asked.limit))
        header = pb.InspectNeedsHeader(
            cycle=page.cycle, computed_at_unix_nanos=page.computed_at, total_needs=page.total
        )
        yield pb.InspectNeedsResponse(header=header).SerializeToString()
        for view in page.needs:
            row = pb.InspectNeedsResponse(need=need_view_message(view))
            yield row.SerializeToString(deterministic=True)


class ShardReadClient:
    def __init__(self, address: str, tls: TlsFiles | None = None) -> None:
        self._line = ClientLine(address, tls)

    async def needs(self, cluster: str = "", limit: int = 0, deadline: float = 120.0) -> NeedPage:
        asked = pb.InspectNeedsRequest(cluster_id=cluster, limit=limit).SerializeToString()
        header, views = pb.InspectNeedsHeader(), []
        try:
            async with (
                asyncio.timeout(deadline),
                aclosing(self._line.stream(f"/{SERVICE}/InspectNeeds", asked)) as frames,
            ):
                async for frame in frames:
                    answer = pb.InspectNeedsResponse.FromString(frame)
                    if answer.HasField("header"):
                        header = answer.header
                    elif answer.HasField("need"):
                        views.append(need_view_of(answer.need))
        except TimeoutError:
            raise Rejected(Code.DEADLINE_EXCEEDED, "the needs took too long to come") from None
        return NeedPage(
            header.cycle, header.computed_at_unix_nanos, header.total_needs, tuple(views)
        )

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()


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
