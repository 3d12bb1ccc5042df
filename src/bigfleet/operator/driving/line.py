"""The line to the shard: dialled for ever, one session at a time, only while this replica leads.

It decides nothing about the cluster: frames go to the listener, answers come from it, and the
roll-up is built when it is due. A session counts as open from the shard's first acknowledgement, so
that a refused one changes nothing in the cluster.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.session_frames import (
    PROTOCOL,
    RECLAIM_DONE,
    Acknowledgement,
    Hello,
    OperatorFrame,
    RollupFrame,
    ShardFrame,
)
from bigfleet.operator.outbox import Outbox
from bigfleet.operator.schedule import RollupSchedule
from bigfleet.wire.session_client import TOO_LARGE, Session, SessionClient
from bigfleet.wire.session_frames import NoFrame

#: How often it is looked whether a roll-up is due.
LOOK_SECONDS = 0.25
#: How long a shard may take to answer the Hello.
HELLO_SECONDS = 15.0
#: A session that ended sooner counts as failed. Two operators of one cluster id end each other's
#: sessions: each would otherwise dial again at once, and the shard hear now one, now the other.
LASTING_SECONDS = 30.0


class Listener(Protocol):
    """What happens on the line, told to the cluster's side. Nothing here may block."""

    def on_connected(self, at: Instant) -> None: ...

    def on_replay_ended(self, at: Instant) -> None: ...

    def on_frame(self, frame: ShardFrame, at: Instant) -> None: ...

    def on_rollup_sent(self, at: Instant) -> None: ...

    def on_rollup_acked(self, at: Instant) -> None: ...

    def on_room(self) -> None:
        """The line took all that waited for it."""
        ...

    def on_disconnected(self, at: Instant) -> None: ...


class DemandSource(Protocol):
    """What the cluster needs, as it is known now."""

    @property
    def version(self) -> int: ...

    def is_trustworthy(self, at: Instant) -> bool:
        """Whether all of it is known, and nothing of it old."""
        ...

    def catch_up(self) -> None:
        """Take in what changed; the roll-up that follows only has to be written."""
        ...

    def rollup(self, at: Instant) -> bytes: ...

    def size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Dialling:
    cluster_id: str
    client: SessionClient
    outbox: int
    backoff: Backoff

    @property
    def hello(self) -> Hello:
        return Hello(self.cluster_id, f"{PROTOCOL}+{RECLAIM_DONE}")


class ShardLine:
    def __init__(
        self,
        dialling: Dialling,
        schedule: RollupSchedule,
        demand: DemandSource,
        clock: Clock,
        stopwatch: Callable[[], float],
        draw: Callable[[], float],
        counts: Counts,
        log: Log,
    ) -> None:
        self._dialling = dialling
        self._schedule = schedule
        self._demand = demand
        self._clock = clock
        self._stopwatch = stopwatch
        self._draw = draw
        self._counts = counts
        self._log = log
        self._outbox = Outbox(dialling.outbox)
        self._wake = asyncio.Event()
        self._hellos = 0
        #: Sessions in a row that did not last.
        self._ended = 0
        #: None: no session is open.
        self._opened_at: Instant | None = None
        self._unacked = False
        self._overflowed = False
        self._writing: asyncio.Task[None] | None = None
        self._listener: Listener | None = None

    @property
    def connected(self) -> bool:
        return self._hellos > 0

    @property
    def replayed(self) -> bool:
        """Whether the shard has told all it knows, in this session."""
        return self._hellos > 1

    @property
    def has_room(self) -> bool:
        return self.connected and self._outbox.has_room

    def waiting(self) -> int:
        return len(self._outbox)

    def say(self, frame: OperatorFrame) -> None:
        """Never blocks. Without a session it is not said: the shard asks again in the next one."""
        if not self.connected:
            return
        if not self._outbox.put(frame):
            self._overflowed = True
            if self._writing is not None:
                # It may wait for a line that takes nothing.
                self._writing.cancel()
        self._wake.set()

    async def run(self, listener: Listener) -> None:
        """For ever; cancelling it ends the session at once."""
        self._listener = listener
        while True:
            problem = await self._session()
            self._counts.add("session_reconnects_total")
            self._ended += 1
            pause = self._dialling.backoff.half_drawn(self._ended, self._draw())
            self._log.warning(
                "session.ended",
                msg=f"the session ended: {problem}; dialled again in {pause:.1f} s",
                shard=self._dialling.client.address,
                cluster=self._dialling.cluster_id,
            )
            await self._clock.sleep(pause)

    # -- within ----------------------------------------------------------------------------------

    async def _session(self) -> str:
        """Why it ended."""
        try:
            async with self._dialling.client.open(self._dialling.hello) as session:
                return await self._talk(session)
        except (Rejected, NoFrame) as problem:
            if isinstance(problem, Rejected) and problem.reason == TOO_LARGE:
                text = (
                    "this cluster's demand does not fit in a roll-up; have it ask for fewer kinds"
                )
                self._log.error("session.message_too_large", msg=f"{problem}: {text}")
            return str(problem)
        except OSError as problem:
            return f"the certificates cannot be read: {problem}"
        finally:
            self._end()

    async def _talk(self, session: Session) -> str:
        reading = asyncio.create_task(self._read(session), name="session.read")
        writing = asyncio.create_task(self._write(session), name="session.write")
        self._writing = writing
        greeting = asyncio.create_task(self._clock.sleep(HELLO_SECONDS), name="session.greeting")
        tasks = {reading, writing, greeting}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if greeting.done() and self.connected:
                tasks = {reading, writing}
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, writing, greeting):
                task.cancel()
            await asyncio.wait({reading, writing, greeting})
        for task in (reading, writing):
            if not task.cancelled() and (problem := task.exception()) is not None:
                raise problem
        if self._overflowed:
            return f"more than {self._dialling.outbox} answers wait for the line"
        if not self.connected:
            return f"the shard did not answer the Hello within {HELLO_SECONDS:.0f} s"
        return "the shard ended it"

    async def _read(self, session: Session) -> None:
        async for frame in session:
            self._on_frame(frame, self._clock.now())

    def _on_frame(self, frame: ShardFrame, at: Instant) -> None:
        listener = self._listener
        assert listener is not None
        if not isinstance(frame, Acknowledgement):
            listener.on_frame(frame, at)
        elif frame.echo == "hello":
            self._on_hello(listener, at)
        elif frame.echo == "rollup":
            self._unacked = False
            listener.on_rollup_acked(at)

    def _on_hello(self, listener: Listener, at: Instant) -> None:
        self._hellos += 1
        if self._hellos == 1:
            self._opened_at = at
            self._counts.set("connected", 1)
            self._schedule.on_connected()
            self._log.info(
                "session.opened",
                msg=f"connected to the shard at {self._dialling.client.address}",
                cluster=self._dialling.cluster_id,
            )
            listener.on_connected(at)
            # The acknowledgement of this one comes after all the shard has to tell. Not sooner: on
            # a stream the shard refuses, a second write hides why.
            self.say(self._dialling.hello)
        elif self._hellos == 2:
            listener.on_replay_ended(at)

    async def _write(self, session: Session) -> None:
        while not self._overflowed:
            self._wake.clear()
            while (frame := self._outbox.take()) is not None:
                await session.send(frame)
            if self.connected:
                assert self._listener is not None
                self._listener.on_room()
                await self._report(session)
            await self._until_woken()

    async def _report(self, session: Session) -> None:
        demand, at = self._demand, self._clock.now()
        if not self._schedule.due(demand.version, demand.is_trustworthy(at), at):
            return
        began = self._stopwatch()
        version = demand.version
        demand.catch_up()
        listed = self._stopwatch()
        content = demand.rollup(at)
        built = self._stopwatch()
        if self._unacked:
            self._counts.add("rollups_unacked_total")
        self._unacked = True
        self._schedule.on_sent(version, at)
        assert self._listener is not None
        self._listener.on_rollup_sent(at)
        await session.send(RollupFrame(content))
        done = self._stopwatch()
        counts = self._counts
        counts.observe("rollup_phase_duration_seconds", listed - began, phase="list")
        counts.observe("rollup_phase_duration_seconds", built - listed, phase="build")
        counts.observe("rollup_phase_duration_seconds", done - built, phase="enqueue")
        counts.observe("rollup_duration_seconds", done - began)
        counts.set("rollup_needs", demand.size())

    async def _until_woken(self) -> None:
        timer = self._clock.call_later(LOOK_SECONDS, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _end(self) -> None:
        was, opened_at = self.connected, self._opened_at
        self._opened_at = self._writing = None
        self._hellos, self._unacked, self._overflowed = 0, False, False
        self._outbox.clear()
        self._counts.set("connected", 0)
        if opened_at is not None and self._clock.now() - opened_at >= LASTING_SECONDS * SECOND:
            self._ended = 0
        if was and self._listener is not None:
            self._listener.on_disconnected(self._clock.now())
