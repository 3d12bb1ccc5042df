"""The operators' streams: frames in become events, outboxes become frames.

Receiving only routes. A roll-up waits in the one slot of its session, where a newer one takes its
place, and is read by a single worker in turn: large ones in a thread, so that the loop goes on.
The worker also makes the reader forget clusters whose session has ended, since the reader has one
user at a time.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from bigfleet.edge.clock import next_turn
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.model.session_frames import (
    BootstrapResponse,
    Hello,
    OperatorFrame,
    ReclaimAck,
    RollupFrame,
    ShardFrame,
    UnknownFrame,
)
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.events import (
    BlobArrived,
    HelloRepeated,
    ReclaimAcked,
    RollupArrived,
    SessionClosed,
    SessionOpened,
)
from bigfleet.shard.state import ShardState
from bigfleet.wire.rollups import RollupReader

#: Bytes of a roll-up that are read in a millisecond or two.
READ_IN_LOOP = 32 * 1024
#: Frames handed to a stream at a time: what a stalled peer may hold beyond its outbox.
FRAMES_AT_A_TIME = 64


@dataclass(slots=True)
class _Line:
    cluster: str
    flush: asyncio.Event = field(default_factory=asyncio.Event)
    #: The newest roll-up not yet read.
    rollup: bytes | None = None


class SessionLines:
    """Handles the sessions of the endpoint; see its protocol for who calls what when."""

    def __init__(self, state: ShardState, outlet: Outlet) -> None:
        self._state = state
        self._outlet = outlet
        self._reader = RollupReader()
        self._lines: dict[int, _Line] = {}
        #: Clusters whose session ended since the worker last looked.
        self._left: set[str] = set()
        #: Sessions with a roll-up in their slot, each once, in order of arrival.
        self._waiting: deque[int] = deque()
        self._arrived = asyncio.Event()
        self._closed_to_new = False
        #: Set once every provider has been listed, or none ever will be.
        self._listed = asyncio.Event()

    def open_to_all(self) -> None:
        self._listed.set()

    def close_to_new(self) -> None:
        self._closed_to_new = True
        self._listed.set()

    async def admit(self, session: int, hello: Hello, peer: Peer) -> None:
        """No session before the shard has seen all machines: what a replay leaves out, an operator
        takes for lost, and what is not known to be there would be bought again.
        """
        if not self._state.listed_once():
            await self._listed.wait()
        if self._closed_to_new:
            raise Rejected(Code.UNAVAILABLE, "the shard is stopping", "stopping")
        self._lines[session] = _Line(hello.cluster_id)
        event = SessionOpened(session, hello, peer.identity or "", self._outlet.now())
        self._outlet.obey(self._state.handle(event))

    def refused(self, cluster: str, peer: Peer, rejected: Rejected) -> None:
        self._outlet.obey(self._state.session_refused(cluster, peer.identity or "", rejected))

    def received(self, session: int, frame: OperatorFrame) -> None:
        line, at = self._lines.get(session), self._outlet.now()
        if line is None:
            return
        match frame:
            case RollupFrame(content):
                if line.rollup is None:
                    self._waiting.append(session)
                    self._arrived.set()
                line.rollup = content
            case BootstrapResponse():
                self._outlet.obey(self._state.handle(BlobArrived(session, frame, at)))
            case ReclaimAck():
                self._outlet.obey(self._state.handle(ReclaimAcked(session, frame, at)))
            case Hello():
                self._outlet.obey(self._state.handle(HelloRepeated(session, frame, at)))
            case UnknownFrame():
                self._outlet.obey(self._state.frame_skipped(line.cluster))

    async def next_frames(self, session: int) -> Sequence[ShardFrame]:
        line = self._lines[session]
        while True:
            frames = self._state.take_frames(session, FRAMES_AT_A_TIME)
            if frames:
                return frames
            line.flush.clear()
            await line.flush.wait()

    def flush(self, session: int) -> None:
        if line := self._lines.get(session):
            line.flush.set()

    def closed(self, session: int) -> None:
        line = self._lines.pop(session, None)
        if line is not None:
            self._left.add(line.cluster)
            self._arrived.set()
        self._outlet.obey(self._state.handle(SessionClosed(session, self._outlet.now())))

    async def ingest(self) -> None:
        """Reads roll-ups for ever, one after the other."""
        while True:
            while not self._waiting and not self._left:
                self._arrived.clear()
                await self._arrived.wait()
            await self._forget_left()
            if not self._waiting:
                continue
            session = self._waiting.popleft()
            line = self._lines.get(session)
            if line is None or line.rollup is None:
                continue
            content, line.rollup = line.rollup, None
            rollup = await self._read(content, line.cluster)
            event = RollupArrived(session, rollup, self._outlet.now())
            self._outlet.obey(self._state.handle(event))
            # The next roll-up may be long in coming: nothing of this one is held on to.
            del content, rollup, event, line
            await next_turn()

    async def _forget_left(self) -> None:
        left, self._left = self._left, set()
        for cluster in left - {line.cluster for line in self._lines.values()}:
            await asyncio.to_thread(self._reader.forget, cluster)

    async def _read(self, content: bytes, cluster: str) -> Rollup | RollupRefused:
        settings = self._state.settings
        limit, limits = settings.max_needs_per_rollup, settings.rollup.limits()
        try:
            if len(content) <= READ_IN_LOOP:
                return self._reader.read(content, cluster, limit, limits)
            return await asyncio.to_thread(self._reader.read, content, cluster, limit, limits)
        except RollupRefused as refused:
            return refused
