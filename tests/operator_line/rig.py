"""A line over real gRPC to a shard that follows a script; time moves by hand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bigfleet.edge.clock import ManualClock, next_turn
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log, NullLog
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.session_frames import (
    Hello,
    RollupFrame,
    ShardFrame,
)
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.driving.line import Dialling, ShardLine
from bigfleet.operator.schedule import RollupSchedule
from bigfleet.operator.settings import OperatorSettings
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.session_client import SessionClient
from bigfleet.wire.session_server import ShardEndpoint
from tests.wire.sessions import PATIENCE, ScriptedShard


@dataclass
class ClusterDemand:
    """What the cluster needs, as the tests have it."""

    version: int = 1
    trustworthy: bool = True

    def is_trustworthy(self, _at: Instant) -> bool:
        return self.trustworthy

    def catch_up(self) -> None:
        """It is always up to date."""

    def rollup(self, _at: Instant) -> bytes:
        return f"rollup {self.version}".encode()

    def size(self) -> int:
        return 1


@dataclass
class RecordedFrames:
    """What was told to the cluster's side, in order."""

    told: list[str] = field(default_factory=list)
    frames: list[ShardFrame] = field(default_factory=list)
    room: Callable[[], None] = field(default=lambda: None)

    def on_connected(self, _at: Instant) -> None:
        self.told.append("connected")

    def on_replay_ended(self, _at: Instant) -> None:
        self.told.append("replayed")

    def on_frame(self, frame: ShardFrame, _at: Instant) -> None:
        self.told.append("frame")
        self.frames.append(frame)

    def on_rollup_sent(self, _at: Instant) -> None:
        self.told.append("sent")

    def on_rollup_acked(self, _at: Instant) -> None:
        self.told.append("acked")

    def on_room(self) -> None:
        self.room()

    def on_disconnected(self, _at: Instant) -> None:
        self.told.append("disconnected")


class SilentShard(ScriptedShard):
    """Lets everybody in and says nothing."""

    def put(self, session: int, *frames: ShardFrame) -> None:
        """Nothing."""


@dataclass
class Rig:
    shard: ScriptedShard
    endpoint: ShardEndpoint
    clock: ManualClock
    line: ShardLine
    known: ClusterDemand
    ear: RecordedFrames
    counts: Counts

    async def until(self, condition: Callable[[], bool]) -> None:
        """Lets the loop and the line run; time stands still."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await next_turn()

    async def until_in_time(self, condition: Callable[[], bool]) -> None:
        """Time goes on until it holds: what waits for a time may only be about to."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await self.clock.advance(0.25)

    def sent(self) -> int:
        """Roll-ups, as the line counts them."""
        return self.ear.told.count("sent")

    def rollups(self) -> list[bytes]:
        return [f.content for _, f in self.shard.heard if isinstance(f, RollupFrame)]

    def hellos(self) -> int:
        return sum(isinstance(f, Hello) for _, f in self.shard.heard)


@asynccontextmanager
async def rigged(
    *,
    outbox: int = 256,
    refuses: Rejected | None = None,
    mute: bool = False,
    tls: TlsFiles | None = None,
    log: Log | None = None,
) -> AsyncIterator[Rig]:
    shard = SilentShard() if mute else ScriptedShard(refuses=refuses)
    endpoint = ShardEndpoint(shard)
    port = await endpoint.start()
    clock, known, ear, counts = ManualClock(), ClusterDemand(), RecordedFrames(), Counts()
    client = SessionClient(f"127.0.0.1:{port}", tls)
    line = ShardLine(
        Dialling("east", client, outbox, Backoff(0.5, 30)),
        RollupSchedule(CurrentSettings(OperatorSettings())),
        known,
        clock,
        lambda: clock.now() / 1e9,
        lambda: 0.5,
        counts,
        log or NullLog(),
    )
    running = asyncio.create_task(line.run(ear))
    try:
        yield Rig(shard, endpoint, clock, line, known, ear, counts)
    finally:
        running.cancel()
        await asyncio.wait({running})
        await endpoint.stop()
