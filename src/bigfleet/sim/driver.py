"""Carries the simulated clusters: the script's changes by the clock, a Session each to its shard.

It decides nothing about workloads, pods or drains. A stream that ends is dialled again with a
back-off that doubles from half a second to thirty and never hits two clusters at the same moment.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import assert_never

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.session_frames import OperatorFrame, RollupFrame
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.operator import Operator, Rollup, Said
from bigfleet.sim.script import Change, NodeLoss, WorkloadScale
from bigfleet.wire.real_times import WireTimes
from bigfleet.wire.rollups import rollup_bytes
from bigfleet.wire.session_client import Session, SessionClient
from bigfleet.wire.shard_admin import ClusterReportClient

TICK_SECONDS = 1.0
_REDIALS = Backoff(0.5, 30.0)


class OperatorLine:
    """One cluster's operator and its stream."""

    def __init__(
        self,
        operator: Operator,
        address: str,
        clock: Clock,
        chance: Random,
        log: Log,
        times: WireTimes | None = None,
    ) -> None:
        """`times`: of a cluster that lives by a clock of its own."""
        self.operator = operator
        self.reconnects = 0
        self._client = SessionClient(address)
        self._reports = ClusterReportClient(address, times=times)
        self._times = times
        self._reporting: asyncio.Task[None] | None = None
        self._clock = clock
        self._chance = chance
        self._log = log
        self._outgoing: asyncio.Queue[Said] = asyncio.Queue()

    async def run(self) -> None:
        """For ever; ends by cancellation only."""
        attempt = 0
        while True:
            sent = self.operator.rollups
            try:
                await self._session()
            except Rejected as problem:
                name = self.operator.cluster.name
                self._log.warning("operator.disconnected", msg=str(problem), cluster=name)
            finally:
                self.operator.on_disconnected()
            attempt = 0 if self.operator.rollups > sent + 1 else attempt + 1
            self.reconnects += 1
            await self._clock.sleep(_REDIALS.half_drawn(attempt + 1, self._chance.random()))

    def tick(self, at: Instant) -> None:
        self._say(self.operator.tick(at))
        self._report_if_due(at)

    async def close(self) -> None:
        if self._reporting is not None:
            self._reporting.cancel()
            await asyncio.wait({self._reporting})
        await self._reports.close()

    def _report_if_due(self, at: Instant) -> None:
        """One at a time: a shard that is slow to answer is not asked again meanwhile."""
        running = self._reporting is not None and not self._reporting.done()
        if not running and self.operator.report_is_due(at):
            self._reporting = asyncio.create_task(self._report(at))

    async def _report(self, at: Instant) -> None:
        try:
            reply = await self._reports.report(self.operator.report(at))
        except Rejected as problem:
            # Nothing is revised without an answer; the next report is due soon.
            name = self.operator.cluster.name
            self._log.debug("operator.report_refused", msg=str(problem), cluster=name)
            return
        self._say(self.operator.on_reply(reply, self._clock.now()))

    def _say(self, said: Iterable[Said]) -> None:
        for each in said:
            self._outgoing.put_nowait(each)

    async def _session(self) -> None:
        operator, self._outgoing = self.operator, asyncio.Queue()
        async with self._client.open(operator.hello) as session:
            self._say(operator.on_connected(self._clock.now()))
            self._report_if_due(self._clock.now())
            writing = asyncio.create_task(self._write(session))
            try:
                async for frame in session:
                    self._say(operator.on_frame(frame, self._clock.now()))
            finally:
                writing.cancel()
                await asyncio.wait({writing})

    async def _write(self, session: Session) -> None:
        """Ends with the stream; its reader is told why it ended."""
        try:
            while True:
                await session.send(self._frame(await self._outgoing.get()))
        except Rejected:
            return

    def _frame(self, said: Said) -> OperatorFrame:
        if isinstance(said, Rollup):
            cluster = self.operator.cluster.name
            at = self._clock.now()
            real = at if self._times is None else self._times.times.real_of(at)
            return RollupFrame(rollup_bytes(cluster, real, said.needs))
        return said


class SimClusters:
    """All clusters and the script they follow."""

    def __init__(
        self,
        addresses: Mapping[str, str],
        script: Iterator[Change],
        clock: Clock,
        chance: Random,
        log: Log,
        *,
        began_seconds: float = 0.0,
        tick_seconds: float = TICK_SECONDS,
        changed: Callable[[Change], None] | None = None,
        times: WireTimes | None = None,
    ) -> None:
        """`addresses`: of its shard, by the name of each cluster. `began_seconds`: how much of the
        script is past; it has happened before the start."""
        self.lines = {
            name: OperatorLine(Operator(Cluster(name)), address, clock, chance, log, times)
            for name, address in addresses.items()
        }
        self._script = script
        self._next = next(script)
        self._clock = clock
        self._began = clock.now() - round(began_seconds * SECOND)
        self._tick_seconds = tick_seconds
        self._changed = changed
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def clusters(self) -> list[Cluster]:
        return [line.operator.cluster for line in self.lines.values()]

    @property
    def seconds(self) -> float:
        """How far the script is."""
        return (self._clock.now() - self._began) / SECOND

    def start(self) -> None:
        self._act()
        work = [self._tick(), *(line.run() for line in self.lines.values())]
        self._tasks = [asyncio.create_task(each) for each in work]

    async def until_dead(self) -> None:
        """Raises what ended a task; none ever should."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for line in self.lines.values():
            await line.close()

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(self._tick_seconds)
            self._act()

    def _act(self) -> None:
        """People first, then schedulers and operators, then schedulers with what operators did."""
        at = self._clock.now()
        while self._next.at_seconds <= (at - self._began) / SECOND:
            change, self._next = self._next, next(self._script)
            self._apply(change, at)
            if self._changed is not None:
                self._changed(change)
        for line in self.lines.values():
            line.operator.cluster.schedule(at)
            line.tick(at)
            line.operator.cluster.schedule(at)

    def _apply(self, change: Change, at: Instant) -> None:
        cluster = self.lines[change.cluster].operator.cluster
        match change:
            case WorkloadScale():
                cluster.scale(change.workload, change.replicas, at)
            case NodeLoss():
                node = cluster.node_at(change.place)
                if node is not None:
                    cluster.delete_node(node, at)
            case _:
                assert_never(change)
