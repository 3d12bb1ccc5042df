"""A coordinator's calls for shards over real gRPC, answered as the test says, and a client."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import grpc

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as admin
from bigfleet.edge.clock import ManualClock
from bigfleet.edge.counts import Counts
from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import CoordinatorInstruction, Obeyed, Refused, ShardReport
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_views import ShardSummary, ShortfallRow
from bigfleet.shard.coordinator_client.driver import CoordinatorClient
from bigfleet.shard.coordinator_client.instruction_handler import Handler
from bigfleet.shard.settings import CurrentShardSettings, ReportSettings, ShardSettings
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from bigfleet.wire.coordinator_admin import COORDINATOR, COORDINATOR_ADMIN
from bigfleet.wire.coordinator_client import CoordinatorLines
from bigfleet.wire.ownership_views import ViewWriter
from bigfleet.wire.shard_syncs import sync_of, sync_reply_bytes
from tests.shard_system.rig import Lines

Answer = Callable[[bytes, Any], Coroutine[Any, Any, bytes]]
LEADER_KEY = "bigfleet-leader"
REPORT = ReportSettings(interval=Seconds(10.0), backoff_min=Seconds(0.5), backoff_max=Seconds(15.0))
SUMMARY = ShardSummary(7, 4, {"a3": 7}, {"z1": 5, "z2": 2}, "10.0.0.9:9000")


class Coordinator:
    """Leads, unless it follows another replica."""

    def __init__(self) -> None:
        self.address = ""
        self.heard: list[pb.ShardReport] = []
        self.synced: list[SyncRequest] = []
        self.reply = pb.ReportAck(coordinator_term=1, acknowledged=True)
        #: What it answers to a sync; None: it knows no such call.
        self.sync_reply: SyncReply | None = None
        #: Where it sends shards; None: it leads; empty: it knows no leader.
        self.follows: str | None = None
        #: The same, of syncs only: it was deposed between a report and its sync.
        self.follows_in_syncs: str | None = None
        #: It never answers a sync.
        self.hangs_in_syncs = False
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
        await self._refuse(context)
        return self.reply.SerializeToString()

    async def answer_sync(self, request: bytes, context: Any) -> bytes:
        self.synced.append(sync_of(admin.SyncShardRequest.FromString(request)))
        if self.hangs_in_syncs:
            await asyncio.Event().wait()
        self.follows = self.follows or self.follows_in_syncs
        await self._refuse(context)
        if self.sync_reply is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no such method")
        assert self.sync_reply is not None, "an aborted call does not go on"
        return sync_reply_bytes(self.sync_reply, ViewWriter())

    async def _refuse(self, context: Any) -> None:
        if self.broken:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the store is gone")
        if self.follows is not None:
            trailing = ((LEADER_KEY, self.follows),) if self.follows else ()
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not the leader", trailing)


@asynccontextmanager
async def coordinators(number: int) -> AsyncIterator[list[Coordinator]]:
    server_of: list[grpc.aio.Server] = []
    running = [Coordinator() for _ in range(number)]
    try:
        for each in running:
            server = grpc.aio.server()
            server.add_generic_rpc_handlers(
                (
                    _service(COORDINATOR.name, "ReportShard", each.answer),
                    _service(COORDINATOR_ADMIN.name, "SyncShard", each.answer_sync),
                )
            )
            each.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
            await server.start()
            server_of.append(server)
        yield running
    finally:
        for server in server_of:
            await server.stop(0)


def _service(service: str, method: str, answer: Answer) -> grpc.GenericRpcHandler:
    rpc: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(answer)
    return grpc.method_handlers_generic_handler(service, {method: rpc})


def nobody(instruction: CoordinatorInstruction) -> Obeyed:
    return Refused(f"this shard does not carry out {instruction.kind}")


class WordedCounts(Counts):
    """Read by the name and the values of the labels, in words."""

    def __getitem__(self, words: str) -> float:
        return sum(
            number
            for (name, labels), number in self.counters.items()
            if words == " ".join((name.removesuffix("_total"), *dict(labels).values()))
        )


class Shard:
    """What the client is given, and what it did with it."""

    def __init__(
        self,
        *addresses: str,
        kept: Mapping[str, bytes] | None = None,
        obey: Handler = nobody,
        timeout_seconds: float = 60.0,
    ) -> None:
        self.clock, self.log = ManualClock(), Lines()
        self.kept = dict(kept or {})
        #: Raised by the store, where it is set.
        self.disk_trouble: OSError | None = None
        self.counts = WordedCounts()
        self.cycle = 0
        #: What a report and a sync say.
        self.summary, self.shortfalls = SUMMARY, tuple[ShortfallRow, ...]()
        self.sync = SyncRequest("shard-0", 3, 0)
        #: How many cycles pass between two reports.
        self.pace_of_cycles = 1
        #: What was taken over, and whether requests were asked for everything held.
        self.taken: list[SyncReply] = []
        self.asked_merging: list[bool] = []
        self.lines = CoordinatorLines()
        self._handler = obey
        report = replace(REPORT, call_timeout=Seconds(timeout_seconds))
        self.client = CoordinatorClient(
            self.lines,
            self,
            CurrentShardSettings(ShardSettings(coordinator_addr=addresses, report=report)),
            self.counts,
            self.clock,
            Random(1).random,
            self.log,
        )

    def marks(self) -> Mapping[str, bytes]:
        return dict(self.kept)

    def obey(self, instruction: CoordinatorInstruction) -> Obeyed:
        return self._handler(instruction)

    async def report(self) -> ShardReport:
        self.cycle += self.pace_of_cycles
        now, address = self.clock.now(), "10.0.0.1:7780"
        return ShardReport("shard-0", self.cycle, now, 3, address, self.summary, self.shortfalls)

    async def sync_request(self, merging: bool) -> SyncRequest:
        self.asked_merging.append(merging)
        return replace(self.sync, cycle=self.cycle)

    async def take_sync(self, reply: SyncReply, sent: SyncRequest) -> None:
        if self.disk_trouble is not None:
            raise self.disk_trouble
        self.taken.append(reply)

    async def keep(self, key: str, value: bytes) -> None:
        if self.disk_trouble is not None:
            raise self.disk_trouble
        self.kept[key] = value


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
