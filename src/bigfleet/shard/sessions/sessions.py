"""Sessions: one per cluster, the newest one; what each is told, and when it is given up.

A cluster that connects is told everything anew: the Hello acknowledged, every machine bound to it,
its open reclaims, then what happens from now on. So nothing is kept for a cluster without session,
and a reader that does not keep up is simply ended: it comes back and gets the replay.

The parts that wait for a cluster hear from `_remove` that its session ended, also when a newer one
takes its place.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bigfleet.model.journal import JournalEvent
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from bigfleet.model.session_frames import PROTOCOL, Acknowledgement, Hello, ShardFrame
from bigfleet.model.shard_views import SessionView
from bigfleet.shard.effects import Effects
from bigfleet.shard.events import HelloRepeated, SessionClosed, SessionOpened
from bigfleet.shard.instructions import EndSession, FlushSession
from bigfleet.shard.sessions.outbox import Outbox
from bigfleet.shard.settings import CurrentShardSettings

if TYPE_CHECKING:  # made after the sessions, and using them
    from bigfleet.shard.cluster_reports import ClusterReports
    from bigfleet.shard.coordination.bindings import Bindings
    from bigfleet.shard.coordination.coordination import Coordination
    from bigfleet.shard.decision_loop import DecisionLoop
    from bigfleet.shard.drains.drains import Drains
    from bigfleet.shard.execution.execution import Execution
    from bigfleet.shard.hints import Hints
    from bigfleet.shard.ingest.ingest import Ingest
    from bigfleet.shard.machines import Machines

HELLO, ROLLUP = "hello", "rollup"
#: Clusters without session that are still shown, the longest gone forgotten first.
_REMEMBERED = 1000


class SessionNeighbours(Protocol):
    """The parts a session asks or tells; all of them are made after the sessions."""

    machines: "Machines"
    drains: "Drains"
    execution: "Execution"
    hints: "Hints"
    cluster_reports: "ClusterReports"
    ingest: "Ingest"
    bindings: "Bindings"
    coordination: "Coordination"
    decision_loop: "DecisionLoop"


@dataclass(slots=True)
class _Session:
    number: int
    hello: Hello
    peer: str
    connected_at: Instant
    ended_at: Instant | None = None
    outbox: Outbox = field(default_factory=Outbox)

    @property
    def cluster(self) -> str:
        return self.hello.cluster_id


class Sessions:
    def __init__(
        self,
        effects: Effects,
        settings: CurrentShardSettings,
        shard_epoch: int,
        parts: SessionNeighbours,
    ) -> None:
        self._settings = settings
        self._effects = effects
        self._parts = parts
        self._shard_epoch = shard_epoch
        #: The same sessions by number and by cluster.
        self._by_number: dict[int, _Session] = {}
        self._by_cluster: dict[str, _Session] = {}
        self._gone: OrderedDict[str, _Session] = OrderedDict()
        #: The newest time of an event; frames come without one.
        self._at: Instant = 0

    def __len__(self) -> int:
        return len(self._by_number)

    # -- asking ----------------------------------------------------------------------------------

    def is_open(self, cluster: str) -> bool:
        return cluster in self._by_cluster

    def absent_since(self, cluster: str) -> Instant | None:
        """When the last session of a cluster ended; None: it has one, or none is remembered."""
        gone = self._gone.get(cluster)
        return gone.ended_at if gone is not None else None

    def clusters(self) -> Iterable[str]:
        """Connected ones."""
        return self._by_cluster.keys()

    def cluster_of(self, session: int) -> str | None:
        """None: the session has ended, and what still comes from it is dropped."""
        found = self._by_number.get(session)
        return found.cluster if found else None

    def features(self, cluster: str) -> frozenset[str]:
        found = self._by_cluster.get(cluster)
        return found.hello.features if found else frozenset()

    # -- events ----------------------------------------------------------------------------------

    def on_opened(self, event: SessionOpened) -> bool:
        """Whether the session stands; if not, it is being ended."""
        self._at = max(self._at, event.at)
        cluster = event.hello.cluster_id
        if not cluster:
            text = "the first Hello names no cluster_id; send the id this cluster was given"
            self._effects.ask(EndSession(event.session, Code.INVALID_ARGUMENT, text))
            return False
        if elsewhere := self._parts.bindings.why_elsewhere(cluster):
            self._effects.counts.add("session_misbound_total")
            text = f"cluster {cluster} is bound to {elsewhere}; connect there"
            self._effects.ask(EndSession(event.session, Code.FAILED_PRECONDITION, text))
            return False
        self._note_version(event)
        if older := self._by_cluster.get(cluster):
            text = f"a newer session of cluster {cluster} took over"
            self._end(older, Code.ABORTED, text, "replaced")
        self._install(_Session(event.session, event.hello, event.peer, event.at))
        return True

    def on_repeated(self, event: HelloRepeated) -> None:
        """Acknowledged in its place: its sender knows then that the replay is over."""
        self._at = max(self._at, event.at)
        session = self._by_number.get(event.session)
        if session is None:
            return
        if event.hello.cluster_id != session.cluster:
            text = (
                f"a later Hello names cluster {event.hello.cluster_id!r}, the first one named"
                f" {session.cluster!r}; open a session for each cluster"
            )
            self._end(session, Code.INVALID_ARGUMENT, text, "removed")
            return
        session.hello = event.hello
        self._acknowledge(session, HELLO)

    def on_closed(self, event: SessionClosed) -> None:
        """The stream is over; of a session that was ended here nothing is left to do."""
        self._at = max(self._at, event.at)
        session = self._by_number.get(event.session)
        if session is not None:
            self._note(session, "session_closed", "the operator's stream is over")
            self._remove(session, "removed")

    def tick(self, at: Instant) -> None:
        """Once a second: ends stalled sessions, and measures the outboxes."""
        self._at = max(self._at, at)
        limits = self._settings.now.session
        patience = round(limits.stall_timeout * SECOND)
        for session in list(self._by_number.values()):
            oldest = session.outbox.oldest_at
            if oldest is not None and at - oldest >= patience:
                text = (
                    f"a frame waited {(at - oldest) // SECOND} s to be read (limit"
                    f" {limits.stall_timeout:g} s); reconnect for a full replay"
                )
                self._end(session, Code.RESOURCE_EXHAUSTED, text, "stalled")
        self._measure(at)

    def send_away(self, cluster: str, text: str) -> None:
        """The cluster belongs to another shard."""
        session = self._by_cluster.get(cluster)
        if session is not None:
            self._effects.counts.add("session_misbound_total")
            self._end(session, Code.FAILED_PRECONDITION, text, "removed")

    def stop(self, text: str) -> None:
        """The process ends: so do all sessions."""
        for session in list(self._by_number.values()):
            self._end(session, Code.UNAVAILABLE, text, "removed")

    # -- sending ---------------------------------------------------------------------------------

    def send(self, cluster: str, frame: ShardFrame) -> None:
        """Never waits; dropped where the cluster is not connected."""
        session = self._by_cluster.get(cluster)
        if session is not None:
            self._put(session, frame)

    def acknowledge_rollup(self, session: int) -> None:
        found = self._by_number.get(session)
        if found is not None:
            self._acknowledge(found, ROLLUP)

    def take(self, session: int, limit: int) -> list[ShardFrame]:
        """The next frames for the stream; asking again says that the last ones are written."""
        found = self._by_number.get(session)
        return found.outbox.take(limit, self._at) if found else []

    def sent(self, session: int) -> None:
        """What was taken is written, and nothing more is wanted yet."""
        found = self._by_number.get(session)
        if found is not None:
            found.outbox.sent()

    # -- views -----------------------------------------------------------------------------------

    def views(self, cluster: str = "") -> tuple[SessionView, ...]:
        """Connected clusters and those that were, by name; `cluster` chooses one."""
        shown = {**self._gone, **self._by_cluster}
        names = sorted(shown) if not cluster else [cluster] if cluster in shown else []
        bootstraps = self._parts.execution.open_bootstraps()
        reclaims = self._parts.drains.open_by_cluster()
        return tuple(self._view_of(shown[name], bootstraps[name], reclaims[name]) for name in names)

    # -- within ----------------------------------------------------------------------------------

    def _view_of(self, session: _Session, bootstraps: int, reclaims: int) -> SessionView:
        cluster, outbox = session.cluster, session.outbox
        ingest, ledger = self._parts.ingest, self._parts.decision_loop.ledger
        return SessionView(
            cluster=cluster,
            peer=session.peer,
            protocol_version=session.hello.protocol_version,
            connected_at=session.connected_at,
            last_rollup_at=ingest.last_rollup_at(cluster),
            needs=ingest.rows_of(cluster),
            outbox_frames=outbox.frames + outbox.replay_left,
            outbox_bytes=outbox.bytes,
            oldest_frame_at=outbox.oldest_at,
            open_bootstraps=bootstraps,
            open_reclaims=reclaims,
            connected=cluster in self._by_cluster,
            report=self._parts.cluster_reports.of(cluster),
            need_states=ledger.counts(cluster),
            stuck_pods=ledger.stuck_pods(cluster),
            refused_rollup=ingest.refusal_of(cluster),
        )

    def _note_version(self, event: SessionOpened) -> None:
        base = event.hello.protocol_version.partition("+")[0]
        if base != PROTOCOL:
            self._effects.log(
                "warning",
                "session_version",
                f"cluster {event.hello.cluster_id} speaks {base!r}, this shard {PROTOCOL};"
                " going on, but frames it does not know are lost on it",
                cluster=event.hello.cluster_id,
                protocol_version=event.hello.protocol_version,
            )

    def _install(self, session: _Session) -> None:
        cluster, machines, drains = session.cluster, self._parts.machines, self._parts.drains
        self._by_number[session.number] = session
        self._by_cluster[cluster] = session
        self._gone.pop(cluster, None)
        self._count("installed")
        self._note(session, "session_opened", "the operator's stream is open")
        self._acknowledge(session, HELLO)
        session.outbox.put_replay(
            machines.bound_to(cluster),
            lambda machine: drains.replayed(machines.update_of(machine, cluster)),
            session.connected_at,
        )
        for instruction in drains.on_session_opened(cluster, session.connected_at):
            self._put(session, instruction)

    def _acknowledge(self, session: _Session, echo: str) -> None:
        term = self._parts.coordination.term
        self._put(session, Acknowledgement(echo, term, self._shard_epoch))

    def _put(self, session: _Session, frame: ShardFrame) -> None:
        if session.number not in self._by_number:
            return
        outbox = session.outbox
        was_waiting = outbox.waiting
        if outbox.put(frame, self._at):
            self._effects.counts.add("outbox_coalesced_total")
        if not was_waiting:
            self._effects.ask(FlushSession(session.number))
        limits = self._settings.now.session
        if outbox.frames > limits.outbox_frames or outbox.bytes > limits.outbox_bytes:
            self._effects.counts.add("outbox_overflows_total")
            text = (
                f"{outbox.frames} frames of {outbox.bytes} bytes wait to be read (limits"
                f" {limits.outbox_frames} and {limits.outbox_bytes}); reconnect for a full replay"
            )
            self._end(session, Code.RESOURCE_EXHAUSTED, text, "stalled")

    def _end(self, session: _Session, code: Code, text: str, event: str) -> None:
        self._effects.ask(EndSession(session.number, code, text))
        self._effects.log(
            "info" if code in (Code.ABORTED, Code.UNAVAILABLE) else "warning",
            f"session_{event}",
            f"ended the session of cluster {session.cluster}: {text}",
            cluster=session.cluster,
            peer=session.peer,
            session=session.number,
        )
        self._remove(session, event)

    def _remove(self, session: _Session, event: str) -> None:
        del self._by_number[session.number]
        del self._by_cluster[session.cluster]
        session.outbox, session.ended_at = Outbox(), self._at
        self._gone[session.cluster] = session
        if len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)
        self._count(event)
        self._parts.execution.on_session_closed(session.cluster, self._at)
        self._parts.hints.on_session_lost(session.cluster)
        self._parts.cluster_reports.on_session_lost(session.cluster)
        self._parts.ingest.on_session_lost(session.cluster)

    def _note(self, session: _Session, kind: str, text: str) -> None:
        """For the journal: streams come and go too often for the log."""
        facts = {"session": str(session.number)}
        text = f"{text}: cluster {session.cluster}"
        self._effects.note(JournalEvent(kind, session.cluster, text, facts, session.peer))

    def _count(self, event: str) -> None:
        self._effects.counts.add("session_lifecycle_total", event=event)
        self._effects.counts.set("active_sessions", len(self._by_number))

    def _measure(self, at: Instant) -> None:
        depths, sizes, ages = [0], [0], [0.0]
        for session in self._by_number.values():
            outbox = session.outbox
            depths.append(outbox.frames + outbox.replay_left)
            sizes.append(outbox.bytes)
            oldest = outbox.oldest_at
            if oldest is not None:
                ages.append((at - oldest) / SECOND)
        for name, values in (
            ("outbox_depth", depths),
            ("outbox_bytes", sizes),
            ("outbox_oldest_age_seconds", ages),
        ):
            self._effects.counts.set(name, max(values), agg="max")
            self._effects.counts.set(name, sum(values), agg="sum")
