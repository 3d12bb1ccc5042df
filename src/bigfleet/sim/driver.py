"""Carries the simulated clusters: the script's changes by the clock, a Session each to its shard.

It decides nothing about workloads, pods or drains. A stream that ends is dialled again with a
back-off that doubles from half a second to thirty and never hits two clusters at the same moment.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from bigfleet.sim.demand import Asked, Demand
from bigfleet.sim.operator import Operator, Rollup, Said
from bigfleet.sim.script import Change, NodeLoss, WorkloadScale
from bigfleet.sim.workloads import CLASSES, DAEMON_SETS, DaemonSet
from bigfleet.wire.cluster_report_client import ClusterReportClient
from bigfleet.wire.real_times import WireTimes
from bigfleet.wire.rollups import rollup_bytes
from bigfleet.wire.session_client import Session, SessionClient

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
        #: Clear while the operator is cut off from its shard.
        self._linked = asyncio.Event()
        self._linked.set()
        self._stream: asyncio.Task[None] | None = None

    @property
    def is_cut(self) -> bool:
        return not self._linked.is_set()

    def cut(self) -> None:
        """The stream ends at once, and none is opened until `mend`."""
        self._linked.clear()
        if self._stream is not None:
            self._stream.cancel()

    def mend(self) -> None:
        self._linked.set()

    def send_empty_rollup(self) -> None:
        """As an operator that lost its cache; the next roll-up tells the truth again."""
        if self.operator.connected:
            self._say([Rollup(())])

    async def run(self) -> None:
        """For ever; ends by cancellation only."""
        attempt = 0
        while True:
            await self._linked.wait()
            sent = self.operator.rollups
            try:
                await self._until_ended()
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

    async def _until_ended(self) -> None:
        """Of one stream; one that was cut has ended too."""
        self._stream = asyncio.create_task(self._session())
        try:
            await asyncio.wait({self._stream})
        finally:
            self._stream.cancel()
        if not (self.is_cut and self._stream.cancelled()):
            self._stream.result()

    def _report_if_due(self, at: Instant) -> None:
        """One at a time: a shard that is slow to answer is not asked again meanwhile."""
        running = self._reporting is not None and not self._reporting.done()
        if not running and not self.is_cut and self.operator.report_is_due(at):
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
        daemon_sets: Sequence[DaemonSet] = DAEMON_SETS,
        classes: Mapping[tuple[str, int], str] = CLASSES,
    ) -> None:
        """`addresses`: of its shard, by the name of each cluster. `began_seconds`: how much of the
        script is past; it has happened before the start."""
        clusters = (Cluster(name, daemon_sets=daemon_sets) for name in addresses)
        self.lines = {
            each.name: OperatorLine(Operator(each), addresses[each.name], clock, chance, log, times)
            for each in clusters
        }
        self._demand = Demand(classes)
        self._script = script
        self._next = next(script)
        self._clock = clock
        self._acted_at = clock.now()
        self._began = self._acted_at - round(began_seconds * SECOND)
        self.tick_seconds = tick_seconds
        self._changed = changed
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def clusters(self) -> list[Cluster]:
        return [line.operator.cluster for line in self.lines.values()]

    @property
    def seconds(self) -> float:
        """How far the script is."""
        return (self._clock.now() - self._began) / SECOND

    @property
    def demand(self) -> Demand:
        """To be read; `guide`, `give_back` and `set_factor` change it."""
        return self._demand

    def guide(self, asked: Iterable[Asked]) -> None:
        """The script stands still, and this is what clusters run; from now on."""
        self._demand.guide(asked)
        self._scale(self._clock.now())

    def give_back(self) -> None:
        """The script goes on where it stood."""
        if self._demand.is_guided:
            self._hold_script(self._clock.now())
            self._demand.give_back()
            self._scale(self._clock.now())

    def set_factor(self, cluster: str, name: str, factor: float) -> None:
        """Raises ValueError; counts at once, or as soon as the demand is given back."""
        self._demand.set_factor(cluster, name, factor)
        self._scale(self._clock.now())

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
            await self._clock.sleep(self.tick_seconds)
            self._act()

    def _act(self) -> None:
        """People first, then schedulers and operators, then schedulers with what operators did."""
        at = self._clock.now()
        self._hold_script(at)
        while self._next.at_seconds <= (at - self._began) / SECOND:
            change, self._next = self._next, next(self._script)
            self._apply(change, at)
            if self._changed is not None:
                self._changed(change)
        self._scale(at)
        for line in self.lines.values():
            line.operator.cluster.schedule(at)
            line.tick(at)
            line.operator.cluster.schedule(at)

    def _hold_script(self, at: Instant) -> None:
        """Time that passes while the demand is guided is none of the script's."""
        if self._demand.is_guided:
            self._began += at - self._acted_at
        self._acted_at = at

    def _scale(self, at: Instant) -> None:
        for asked in self._demand.changes():
            cluster = self.lines[asked.cluster].operator.cluster
            cluster.scale(asked.workload, asked.pods, at)

    def _apply(self, change: Change, at: Instant) -> None:
        cluster = self.lines[change.cluster].operator.cluster
        match change:
            case WorkloadScale():
                self._demand.on_script(change.cluster, change.workload, change.replicas)
            case NodeLoss():
                node = cluster.node_at(change.place)
                if node is not None:
                    cluster.delete_node(node, at)
            case _:
                assert_never(change)
