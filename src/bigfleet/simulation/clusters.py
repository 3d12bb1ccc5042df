"""A simulated cluster with its operator, and the lines to its shard.

Scheduler, controllers and operator are those of `bigfleet.sim`; here is what its driver does with
tasks: a tick every second, a stream that is dialled again, a report when one is due.
"""

from collections.abc import Callable, Iterable
from random import Random

from bigfleet.model.backoffs import Backoff
from bigfleet.model.cluster_reports import ClusterReportReply
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.session_frames import Hello, OperatorFrame, RollupFrame, ShardFrame
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.operator import Operator, Rollup, Said
from bigfleet.simulation.network import Network, Stream
from bigfleet.simulation.schedule import Schedule
from bigfleet.simulation.shard import SimulatedShard
from bigfleet.wire.rollups import rollup_bytes

_TICK_SECONDS = 1.0
_REPORT_TIMEOUT = 5.0
_REDIALS = Backoff(0.5, 30.0)

#: The life of its shard that runs now; None: none does.
FindShard = Callable[[], SimulatedShard | None]


class OperatorLine:
    """One cluster: its pods, its operator, and the operator's way to the shard."""

    def __init__(
        self, cluster: Cluster, shard: str, find: FindShard, network: Network, chance: Random
    ) -> None:
        self.cluster = cluster
        self.end = f"operator/{cluster.name}"
        self.operator = Operator(cluster)
        #: False: the process is down.
        self.is_up = True
        #: False: it reads nothing of what it is sent.
        self.is_reading = True
        #: True: roll-ups say that nothing is wanted.
        self.tells_nothing = False
        #: Evictions of operators that ended.
        self._evictions_before = 0
        self._shard = shard
        self._find = find
        self._network = network
        self._schedule: Schedule = network.schedule
        self._chance = chance
        self._stream: Stream | None = None
        self._peer: SimulatedShard | None = None
        self._session = 0
        self._attempt = 0
        self._is_reporting = False
        self._life = 0
        self._schedule.call_later(chance.uniform(0, _TICK_SECONDS), self._tick)
        self._schedule.call_later(chance.uniform(0, _TICK_SECONDS), self._dialler())

    @property
    def hello(self) -> Hello:
        return self.operator.hello

    @property
    def evictions(self) -> int:
        return self._evictions_before + self.operator.drains.evictions

    # -- life ------------------------------------------------------------------------------------

    def kill(self) -> None:
        """The operator's process ends; pods, Nodes and their scheduler live on."""
        self.is_up = False
        self._life += 1
        if self._stream is not None:
            self._stream.close(self.end)
        self._stream = self._peer = None
        self._is_reporting = False

    def restart(self) -> None:
        """It knows what the API server knows: pods and Nodes, none of what it was asked."""
        self._evictions_before += self.operator.drains.evictions
        self.operator = Operator(self.cluster)
        self.is_up = True
        self._attempt = 0
        self._schedule.call_later(self._chance.uniform(0.5, 3.0), self._dialler())

    def resume_reading(self) -> None:
        self.is_reading = True
        if self._peer is not None and self._peer.alive:
            self._peer.flush_all(self.cluster.name)

    def _tick(self) -> None:
        """Schedulers first, then the operator, then schedulers with what it did."""
        self._schedule.call_later(_TICK_SECONDS, self._tick)
        at = self._schedule.now()
        self.cluster.schedule(at)
        if self.is_up:
            self._say(self.operator.tick(at))
            self._report_if_due()
        self.cluster.schedule(at)

    # -- the stream ------------------------------------------------------------------------------

    def _dialler(self) -> Callable[[], None]:
        life = self._life
        return lambda: self._dial() if self._life == life and self.is_up else None

    def _redial(self) -> None:
        self._attempt += 1
        pause = _REDIALS.half_drawn(self._attempt, self._chance.random())
        self._schedule.call_later(pause, self._dialler())

    def _dial(self) -> None:
        life = self._life
        network, shard_end = self._network, f"shard/{self._shard}"

        def arrive() -> SimulatedShard | Rejected:
            found = self._find()
            assert found is not None, "asked only while it is up"
            return found

        def answered(answer: SimulatedShard | Rejected) -> None:
            if self._life != life or not self.is_up:
                return
            if isinstance(answer, Rejected) or not answer.alive:
                self._redial()
            else:
                self._connect(answer)

        network.call(
            self.end, shard_end, arrive, answered, _REPORT_TIMEOUT, lambda: self._find() is not None
        )

    def _connect(self, shard: SimulatedShard) -> None:
        stream = Stream(self._network, self.end, shard.end)
        self._stream, self._peer = stream, shard
        stream.on_close(self.end, lambda: self._closed(stream))
        self._session = shard.open(self.cluster.name, stream, self)
        self._say(self.operator.on_connected(self._schedule.now()))

    def _closed(self, stream: Stream) -> None:
        if stream is not self._stream:
            return
        self._stream = self._peer = None
        if self.operator.rollups > 1:
            self._attempt = 0
        self.operator.on_disconnected()
        self._redial()

    def received(self, stream: Stream, frame: ShardFrame) -> None:
        if stream is self._stream and self.is_up:
            self._say(self.operator.on_frame(frame, self._schedule.now()))

    def _say(self, said: Iterable[Said]) -> None:
        stream, shard, session = self._stream, self._peer, self._session
        for each in said:
            if stream is None or shard is None:
                return
            frame = self._frame(each)
            stream.send(self.end, lambda frame=frame: shard.received(session, frame))  # type: ignore[misc]

    def _frame(self, said: Said) -> OperatorFrame:
        if isinstance(said, Rollup):
            needs = () if self.tells_nothing else said.needs
            return RollupFrame(rollup_bytes(self.cluster.name, self._schedule.now(), needs))
        return said

    # -- reports ---------------------------------------------------------------------------------

    def _report_if_due(self) -> None:
        """One at a time, as in a real operator."""
        at, shard = self._schedule.now(), self._peer
        if shard is None or self._is_reporting or not self.operator.report_is_due(at):
            return
        self._is_reporting, life, operator = True, self._life, self.operator
        report = operator.report(at)

        def answered(answer: ClusterReportReply | Rejected) -> None:
            if self._life != life:
                return
            self._is_reporting = False
            if not isinstance(answer, Rejected):
                self._say(operator.on_reply(answer, self._schedule.now()))

        self._network.call(
            self.end,
            shard.end,
            lambda: shard.report_cluster(report),
            answered,
            _REPORT_TIMEOUT,
            lambda: shard.alive,
        )

    def waiting_seconds(self) -> dict[str, float]:
        """Of pods without a Node that the scheduler has refused: since when, by name."""
        at = self._schedule.now()
        return {
            pod.uid: (at - pod.unschedulable_since) / SECOND
            for pod in self.cluster.waiting()
            if pod.unschedulable_since is not None
        }
