"""The operators of the load test: thousands of sessions on a few connections, in one process."""

import asyncio
import time
from collections.abc import Iterable

import click

from bigfleet.bench.shard.fleet import ShardScale, cluster_name, rollup
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.session_frames import (
    Acknowledgement,
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    ReclaimInstruction,
    RollupFrame,
    ShardFrame,
)
from bigfleet.wire.session_client import Session, SessionClient

SESSIONS_PER_CONNECTION = 100
#: Sessions that dial in at a time.
_AT_A_TIME = 50
_PACE_SECONDS = 0.01


class Operators:
    def __init__(self, address: str, scale: ShardScale) -> None:
        self._scale = scale
        self._address = address
        self._clients: list[SessionClient] = []
        self._sessions: dict[int, Session] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._variant = [0] * scale.sessions
        self._more = [0] * scale.sessions
        self._next = 0
        #: When each cluster last sent a roll-up, in monotonic nanoseconds.
        self._sent_at: dict[int, int] = {}
        #: Seconds from sending a roll-up to its acknowledgement.
        self.acknowledged: list[float] = []
        self.frames = 0
        self.reclaims = 0

    async def connect(self) -> None:
        """Every operator says hello and reports once."""
        sessions = range(self._scale.sessions)
        for start in range(0, self._scale.sessions, _AT_A_TIME):
            if start % SESSIONS_PER_CONNECTION == 0:
                self._clients.append(SessionClient(self._address, shared=True))
            some = sessions[start : start + _AT_A_TIME]
            ready = [asyncio.Event() for _ in some]
            self._tasks += [
                asyncio.create_task(self._session(cluster, self._clients[-1], said))
                for cluster, said in zip(some, ready, strict=True)
            ]
            await asyncio.gather(*(said.wait() for said in ready))
            await self._report(some)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in self._clients:
            await client.close()

    async def report_for(self, seconds: float, per_second: float) -> int:
        """Roll-ups that differ, round the clusters at an even pace; how many were sent."""
        began, sent = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            due = round(passed * per_second) - sent
            if due > 0:
                some = [(self._next + place) % self._scale.sessions for place in range(due)]
                self._next = (self._next + due) % self._scale.sessions
                for cluster in some:
                    self._variant[cluster] += 1
                await self._report(some)
                sent += due
            await asyncio.sleep(_PACE_SECONDS)
        return sent

    async def probe(self, seconds: float, clusters: Iterable[int]) -> dict[str, int]:
        """Each asks for one machine more, evenly spread in time; when each of them did."""
        asking = list(clusters)
        sent: dict[str, int] = {}
        for cluster in asking:
            await asyncio.sleep(seconds / len(asking))
            self._more[cluster] += 1
            sent[cluster_name(cluster)] = time.monotonic_ns()
            await self._report([cluster])
        return sent

    async def _report(self, clusters: Iterable[int]) -> None:
        await asyncio.gather(*map(self._send, clusters))

    async def _send(self, cluster: int) -> None:
        content = rollup(
            self._scale, cluster, self._variant[cluster], self._more[cluster], time.time_ns()
        )
        self._sent_at[cluster] = time.monotonic_ns()
        await self._sessions[cluster].send(RollupFrame(content))

    async def _session(self, cluster: int, client: SessionClient, said: asyncio.Event) -> None:
        try:
            async with client.open(Hello(cluster_name(cluster))) as session:
                self._sessions[cluster] = session
                said.set()
                async for frame in session:
                    await self._heard(cluster, session, frame)
        except Rejected as problem:
            click.echo(f"the session of {cluster_name(cluster)} was ended: {problem}", err=True)

    async def _heard(self, cluster: int, session: Session, frame: ShardFrame) -> None:
        self.frames += 1
        match frame:
            case Acknowledgement("rollup"):
                if sent := self._sent_at.get(cluster):
                    self.acknowledged.append((time.monotonic_ns() - sent) / 1e9)
            case BootstrapRequest():
                blob = cluster_name(cluster).encode()
                await session.send(BootstrapResponse(frame.request_id, blob))
            case ReclaimInstruction():
                self.reclaims += 1
            case _:
                """Node states and hints are for operators of real clusters."""
