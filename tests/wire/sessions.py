"""A shard that answers from a script, and lines to it, over real gRPC on loopback."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.session_frames import Acknowledgement, Hello, OperatorFrame, ShardFrame
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_server import ExtraService
from bigfleet.wire.session_client import SessionClient
from bigfleet.wire.session_server import ShardEndpoint

#: A test that waits longer than this waits for what will not come.
PATIENCE = 60.0


@dataclass
class Mailbox:
    frames: list[ShardFrame] = field(default_factory=list)
    #: Set while there may be frames.
    filled: asyncio.Event = field(default_factory=asyncio.Event)
    #: How often the writer came for more.
    asked: int = 0


@dataclass
class ScriptedShard:
    """Acknowledges each Hello, remembers what it was told, sends what a test puts in."""

    refuses: Rejected | None = None
    raises: Exception | None = None
    #: Frames handed to the writer at a time.
    batch: int = 100
    mail: dict[int, Mailbox] = field(default_factory=dict)
    hellos: dict[int, Hello] = field(default_factory=dict)
    peers: list[Peer] = field(default_factory=list)
    refusals: list[tuple[str, Code]] = field(default_factory=list)
    heard: list[tuple[int, OperatorFrame]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def admit(self, session: int, hello: Hello, peer: Peer) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.hellos[session] = hello
        self.peers.append(peer)
        self.mail[session] = Mailbox()
        self.put(session, Acknowledgement("hello"))

    def refused(self, cluster: str, _peer: Peer, rejected: Rejected) -> None:
        self.refusals.append((cluster, rejected.code))

    def received(self, session: int, frame: OperatorFrame) -> None:
        if self.raises is not None:
            raise self.raises
        self.heard.append((session, frame))
        self._tell()

    async def next_frames(self, session: int) -> Sequence[ShardFrame]:
        box = self.mail[session]
        box.asked += 1
        await box.filled.wait()
        taken, box.frames = box.frames[: self.batch], box.frames[self.batch :]
        if not box.frames:
            box.filled.clear()
        return taken

    def closed(self, session: int) -> None:
        self.gone.append(session)
        self._tell()

    def put(self, session: int, *frames: ShardFrame) -> None:
        self.mail[session].frames.extend(frames)
        self.mail[session].filled.set()

    async def until_heard(self, count: int) -> list[OperatorFrame]:
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: len(self.heard) >= count)
        return [frame for _, frame in self.heard]

    async def until_gone(self, count: int) -> list[int]:
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: len(self.gone) >= count)
        return self.gone

    def _tell(self) -> None:
        async def tell() -> None:
            async with self.changed:
                self.changed.notify_all()

        self._telling = asyncio.ensure_future(tell())


@dataclass
class Line:
    shard: ScriptedShard
    endpoint: ShardEndpoint
    client: SessionClient
    #: (method, code) of every call the endpoint finished.
    observed: list[tuple[str, Code]]
    #: (method, exception) of every fault of a handler.
    faults: list[tuple[str, Exception]]


@asynccontextmanager
async def line_to(
    shard: ScriptedShard,
    *,
    server_tls: TlsFiles | None = None,
    client_tls: TlsFiles | None = None,
    reflection: bool = False,
    extra_services: Sequence[ExtraService] = (),
    shared: bool = False,
) -> AsyncIterator[Line]:
    observed: list[tuple[str, Code]] = []
    faults: list[tuple[str, Exception]] = []
    endpoint = ShardEndpoint(
        shard,
        tls=server_tls,
        reflection=reflection,
        extra_services=extra_services,
        observe=lambda method, code, _seconds: observed.append((method, code)),
        failed=lambda method, problem: faults.append((method, problem)),
    )
    port = await endpoint.start()
    await endpoint.set_serving(True)
    try:
        async with SessionClient(f"localhost:{port}", client_tls, shared=shared) as client:
            yield Line(shard, endpoint, client, observed, faults)
    finally:
        await endpoint.stop()
