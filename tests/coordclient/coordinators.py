"""A coordinator's ReportShard over real gRPC, answering as the test says, and a client for it."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import grpc

from bigfleet.coordclient.driver import CoordinatorClient, Surroundings
from bigfleet.coordclient.obeying import Handler
from bigfleet.coordclient.reporting import Pace
from bigfleet.edge.clock import ManualClock
from bigfleet.edge.logs import Silence
from bigfleet.model.coordinator_calls import InstructionKind, ShardReport
from bigfleet.model.shard_views import ShardSummary
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from bigfleet.wire.coordinator_client import SERVICE, CoordinatorLines

LEADER_KEY = "bigfleet-leader"
PACE = Pace(10.0, 0.5, 15.0)
SUMMARY = ShardSummary(7, 4, {"a3": 7}, {"z1": 5, "z2": 2}, "10.0.0.9:9000")


class Coordinator:
    """Leads, unless it follows somebody."""

    def __init__(self) -> None:
        self.address = ""
        self.heard: list[pb.ShardReport] = []
        self.reply = pb.ReportAck(coordinator_term=1, acknowledged=True)
        #: Where it sends shards; None: it leads; empty: it knows no leader.
        self.follows: str | None = None
        #: It fails before it answers.
        self.broken = False

    def asks(self, *instructions: pb.CoordinatorInstruction, term: int = 1) -> None:
        """What it says in every answer from now on."""
        self.reply = pb.ReportAck(
            coordinator_term=term, acknowledged=True, instructions=instructions
        )

    @property
    def acks(self) -> list[tuple[str, int, str]]:
        """Of the last report."""
        acks = self.heard[-1].instruction_acks
        return [(ack.instruction_id, ack.outcome, ack.reason) for ack in acks]

    async def answer(self, request: bytes, context: Any) -> bytes:
        self.heard.append(pb.ShardReport.FromString(request))
        if self.broken:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the store is gone")
        if self.follows is not None:
            trailing = ((LEADER_KEY, self.follows),) if self.follows else ()
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not the leader", trailing)
        return self.reply.SerializeToString()


@asynccontextmanager
async def coordinators(number: int) -> AsyncIterator[list[Coordinator]]:
    server_of: list[grpc.aio.Server] = []
    running = [Coordinator() for _ in range(number)]
    try:
        for each in running:
            server = grpc.aio.server()
            rpc: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(
                each.answer
            )
            handler = grpc.method_handlers_generic_handler(SERVICE, {"ReportShard": rpc})
            server.add_generic_rpc_handlers((handler,))
            each.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
            await server.start()
            server_of.append(server)
        yield running
    finally:
        for server in server_of:
            await server.stop(0)


class Shard:
    """What the client is given, and what it did with it."""

    def __init__(
        self,
        *addresses: str,
        kept: Mapping[str, bytes] | None = None,
        handlers: Mapping[InstructionKind, Handler] | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        self.clock = ManualClock()
        self.kept = dict(kept or {})
        #: Raised by the store, where it is set.
        self.disk_trouble: OSError | None = None
        self.counts: Counter[str] = Counter()
        self.cycle = 0
        self.lines = CoordinatorLines()
        self.client = CoordinatorClient(
            addresses,
            self.lines,
            Surroundings(
                clock=self.clock,
                chance=Random(1).random,
                log=Silence(),
                report=self._report,
                keep=self._keep,
                count=self._count,
                pace=lambda: PACE,
                call_timeout_seconds=timeout_seconds,
                kept=dict(self.kept),
                handlers=handlers or {},
            ),
        )

    async def _report(self) -> ShardReport:
        self.cycle += 1
        return ShardReport("shard-0", self.cycle, self.clock.now(), 3, "10.0.0.1:7780", SUMMARY)

    async def _keep(self, key: str, value: bytes) -> None:
        if self.disk_trouble is not None:
            raise self.disk_trouble
        self.kept[key] = value

    def _count(self, name: str, **labels: str) -> None:
        self.counts[" ".join((name.removesuffix("_total"), *labels.values()))] += 1


@asynccontextmanager
async def shard(*addresses: str, **given: Any) -> AsyncIterator[Shard]:
    made = Shard(*addresses, **given)
    try:
        yield made
    finally:
        await made.lines.close()


def assign(instruction_id: str, sequence: int, term: int = 1) -> pb.CoordinatorInstruction:
    return pb.CoordinatorInstruction(
        coordinator_term=term,
        sequence_number=sequence,
        instruction_id=instruction_id,
        assign_domain=pb.AssignDomain(topology_key="zone", topology_value="a"),
    )
