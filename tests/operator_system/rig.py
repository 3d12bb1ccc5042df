"""A whole operator between a fake API server and a scripted shard; its time moves by hand.

Lines are real, so time moves in steps short enough for every answer to come in between.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bigfleet.edge.clock import ManualClock, next_turn, settle
from bigfleet.kube.kinds import EVENTS, LEASES
from bigfleet.model.session_frames import (
    Acknowledgement,
    Hello,
    NodeStateUpdate,
    OperatorFrame,
    ReclaimAck,
    RollupFrame,
    ShardFrame,
)
from bigfleet.operator.driving.process import OperatorProcess
from bigfleet.operator.settings import OperatorSettings
from bigfleet.process import ProcessContext
from bigfleet.wire.rollups import RollupReader
from bigfleet.wire.session_server import ShardEndpoint
from tests.kube_api import Done, FakeApiServer, kubeconfig_for
from tests.operator_system.reports import ReportDesk
from tests.shard_system.rig import page
from tests.shard_system.waiting import PATIENCE
from tests.wire.sessions import ScriptedShard

CLUSTER = "shop"
_STEP_SECONDS = 0.5
#: Turns of the loop in which a call to the API server is answered many times over.
_TURNS = 60


@dataclass
class AttentiveShard(ScriptedShard):
    """Tells all it knows between the two Hellos, and takes every roll-up."""

    knows: list[ShardFrame] = field(default_factory=list)
    rollups: list[bytes] = field(default_factory=list)
    acks: list[ReclaimAck] = field(default_factory=list)

    def received(self, session: int, frame: OperatorFrame) -> None:
        super().received(session, frame)
        match frame:
            case Hello():
                self.put(session, *self.knows, Acknowledgement("hello"))
            case RollupFrame(content):
                self.rollups.append(content)
                self.put(session, Acknowledgement("rollup"))
            case ReclaimAck():
                self.acks.append(frame)

    def say(self, *frames: ShardFrame) -> None:
        """To the connected operator; it is known from then on."""
        self.knows += [frame for frame in frames if isinstance(frame, NodeStateUpdate)]
        self.put(max(self.mail), *frames)


@dataclass
class LogRecorder:
    """A log that can be asked."""

    lines: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def debug(self, event: str, **facts: Any) -> None:
        self.lines.append(("debug", event, facts))

    def info(self, event: str, **facts: Any) -> None:
        self.lines.append(("info", event, facts))

    def warning(self, event: str, **facts: Any) -> None:
        self.lines.append(("warning", event, facts))

    def error(self, event: str, **facts: Any) -> None:
        self.lines.append(("error", event, facts))

    def count(self, event: str) -> int:
        return sum(found == event for _, found, _ in self.lines)


class JumpingClock(ManualClock):
    def jump(self, seconds: float) -> None:
        """As a process that was stopped sees it: all of it at once, then everything overdue."""
        self._now += round(seconds * 10**9)
        while (due := self.next_due()) is not None and due <= self._now:
            self._due.sort()
            self._due.pop(0).callback()


@dataclass
class Rig:
    server: FakeApiServer
    shard: AttentiveShard
    clock: JumpingClock
    operator: OperatorProcess
    log: LogRecorder
    endpoint: ShardEndpoint
    desk: ReportDesk | None = None

    async def until(self, holds: Callable[[], object]) -> None:
        """Lets time pass until it is so."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await self._step()

    async def passes(self, seconds: float) -> None:
        end = self.clock.now() + round(seconds * 10**9)
        async with asyncio.timeout(2 * PATIENCE):
            while self.clock.now() < end:
                await self._step()

    async def shard_dies(self) -> None:
        await self.endpoint.stop()
        await self.until(lambda: not self.operator.leading.line.connected)

    async def shard_returns(self) -> None:
        services = [self.desk] if self.desk is not None else []
        address = f"127.0.0.1:{self.endpoint.port}"
        self.endpoint = ShardEndpoint(self.shard, address=address, extra_services=services)
        await self.endpoint.start()
        await self.until(lambda: self.operator.leading.line.replayed)

    def writes(self) -> list[Done]:
        """Of everything but the lease."""
        return [done for done in self.server.writes() if done.call.plural != LEASES.plural]

    def events(self, reason: str) -> list[dict[str, Any]]:
        found = self.server.objects(EVENTS).values()
        return [event for event in found if event["reason"] == reason]

    def milli_cpus(self) -> int | None:
        """Of the newest roll-up; None: there was none."""
        if not self.shard.rollups:
            return None
        read = RollupReader().read(self.shard.rollups[-1], CLUSTER, self.clock.now())
        return sum(need.aggregate["cpu"] for need in read.needs)

    async def metrics(self) -> str:
        """The page, as a scraper sees it."""
        status, text = await page(self.operator.metrics_port, "/metrics")
        assert status == 200
        return text

    async def _step(self) -> None:
        await self.clock.advance(_STEP_SECONDS)
        await settle(_TURNS)
        await next_turn()


@asynccontextmanager
async def operating(
    folder: Path,
    server: FakeApiServer,
    clock: JumpingClock,
    shard: AttentiveShard | None = None,
    *,
    synced: bool = True,
    desk: ReportDesk | None = None,
    **settings: Any,
) -> AsyncIterator[Rig]:
    """Connected and synced when entered, with what `server` holds then.

    Without a `desk` the shard knows no cluster reports.
    """
    shard = shard or AttentiveShard()
    endpoint = ShardEndpoint(shard, extra_services=[desk] if desk is not None else [])
    port = await endpoint.start()
    (folder / "kubeconfig").write_text(kubeconfig_for(server))
    own = OperatorSettings(
        cluster_id=CLUSTER,
        shard_addr=f"127.0.0.1:{port}",
        kubeconfig=str(folder / "kubeconfig"),
        metrics_addr="127.0.0.1:0",
        namespace="bigfleet",
        qps=10_000,
        burst=10_000,
        **settings,
    )
    log = LogRecorder()
    context = ProcessContext(
        clock,
        log,
        stopwatch=lambda: clock.now() / 1e9,
        draw=lambda: 0.5,
        random_bytes=bytes,
        identity="one",
    )
    operator = OperatorProcess(own, context)
    await operator.start()
    rig = Rig(server, shard, clock, operator, log, endpoint, desk)
    try:
        await rig.until(lambda: operator.leading.line.replayed)
        if synced:
            await rig.until(lambda: not operator.cluster_cache.unsynced)
        yield rig
    finally:
        await operator.stop()
        await rig.endpoint.stop()
