"""The sessions of a shard with a handful of machines: what is bound, open and sent."""

from collections.abc import Iterable

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.cluster_reports import ClusterReport
from bigfleet.model.coordination import ClusterBinding
from bigfleet.model.machines import Host, Instant, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import Hello, NodeStateUpdate, ShardFrame
from bigfleet.model.shard_views import ActionView, CoordinatorLink
from bigfleet.shard.events import HelloRepeated, SessionClosed, SessionOpened
from bigfleet.shard.instructions import EndSession, FlushSession, Log
from bigfleet.shard.settings import SessionSettings, ShardSettings
from tests.shard_parts import parts_of

START: Instant = 1_700_000_000 * SECOND


def update(machine: str, state: MachineState = MachineState.CONFIGURED) -> NodeStateUpdate:
    return NodeStateUpdate(machine, "shop", state, provider_id=f"i-{machine}")


class Leader:
    """A coordinator's client that has seen term 4."""

    def link(self) -> CoordinatorLink:
        return CoordinatorLink("coordinator:1", connected=True, term=4)


class Rig:
    def __init__(self, bound: Iterable[str] = (), settings: SessionSettings | None = None) -> None:
        """`bound`: machines of cluster shop."""
        whole = ShardSettings(session=settings or SessionSettings())
        self.parts = parts = parts_of(whole, epoch=7, at=START)
        parts.coordination.attach(Leader())
        self.effects, self.sessions = parts.effects, parts.sessions
        for name in bound:
            host = Host("cloud", f"i-{name}")
            machine = Machine(name, MachineState.CONFIGURED, host=host, cluster="shop")
            parts.machines.insert(machine, "cloud", START, "listed")
        self.effects.taken()

    def preempt(self, machine: str, grace_seconds: int) -> None:
        action = Action(ActionKind.PREEMPT, machine, "shop", Rule.INVERSION, grace_seconds)
        view = ActionView(1, 0, action.kind, machine, "shop", grace_seconds=grace_seconds)
        self.parts.drains.begin(action, view, START)
        self.effects.taken()

    def report(self, cluster: str = "shop") -> None:
        """The cluster tells of its Nodes."""
        self.parts.cluster_reports.take(ClusterReport(cluster, at=START), START)

    def wants(self, *cores: int) -> None:
        """A roll-up of cluster shop: one Need for each number of cores."""
        needs = tuple(
            Need("shop", Profile.of(priority=number), Resources.of({"cpu": 1000 * each}))
            for number, each in enumerate(cores)
        )
        self.parts.ingest.on_rollup("shop", Rollup("shop", START, needs, b"needs"), START)

    def counts_report(self, cluster: str = "shop") -> bool:
        """Whether what the cluster told counts: not once its session is known to be lost."""
        return self.parts.cluster_reports.is_fresh(cluster)

    def bind_elsewhere(self, cluster: str, shard: str, address: str) -> None:
        self.parts.bindings.take([ClusterBinding(cluster, shard, address)], [cluster])
        self.effects.taken()

    def open(
        self, number: int = 1, cluster: str = "shop", version: str = "v1alpha1", after: float = 0
    ) -> bool:
        hello = Hello(cluster, version)
        return self.sessions.on_opened(SessionOpened(number, hello, "peer", _at(after)))

    def repeat(self, number: int = 1, cluster: str = "shop", version: str = "v1alpha1") -> None:
        self.sessions.on_repeated(HelloRepeated(number, Hello(cluster, version), START))

    def close(self, number: int = 1) -> None:
        self.sessions.on_closed(SessionClosed(number, START))

    def tick(self, after: float) -> None:
        self.sessions.tick(_at(after))

    def read(self, number: int = 1, limit: int = 100) -> list[ShardFrame]:
        return self.sessions.take(number, limit)

    def ended(self) -> list[EndSession]:
        return [each for each in self.effects.taken() if isinstance(each, EndSession)]

    def flushes(self) -> int:
        return sum(isinstance(each, FlushSession) for each in self.effects.taken())

    def logged(self) -> list[str]:
        return [each.event for each in self.effects.taken() if isinstance(each, Log)]

    def counted(self, name: str, **labels: str) -> float:
        return self.effects.counts.of(name, **labels)


def _at(after: float) -> Instant:
    return START + round(after * SECOND)
