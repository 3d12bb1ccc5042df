"""A reconciler over the machines of a shard, fed with the bytes of hand-made Lists.

Which machines are pending, and what becomes of Failed ones, is for the test to say.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from bigfleet.model.machines import CapacityType, Host, Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import Ownership
from bigfleet.model.provider_calls import Code, MachineRecord, Rejected
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.shard.calls import Calls
from bigfleet.shard.effects import Stored
from bigfleet.shard.events import ListArrived, ListFailed
from bigfleet.shard.instructions import Log, WakeCycle
from bigfleet.shard.machines import Machines
from bigfleet.shard.parts import Parts, ShardStart
from bigfleet.shard.reconciling.adoption import FailedMachines, PendingActions
from bigfleet.shard.reconciling.list_reading import ListReading, read_list
from bigfleet.shard.reconciling.reconciler import Reconciler
from bigfleet.shard.settings import ShardSettings
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes
from tests.shard_parts import Clusters, start_of

START: Instant = 1_700_000_000 * SECOND
SPECULATIVE, CREATING, IDLE = MachineState.SPECULATIVE, MachineState.CREATING, MachineState.IDLE
CONFIGURING, CONFIGURED = MachineState.CONFIGURING, MachineState.CONFIGURED
DRAINING, DELETING, FAILED = MachineState.DRAINING, MachineState.DELETING, MachineState.FAILED
_HOSTLESS = (SPECULATIVE, CREATING)
_BOUND = (CONFIGURING, CONFIGURED, DRAINING)


def record(name: str, state: MachineState = IDLE, **fields: object) -> MachineRecord:
    """A sound record of a state; bound ones are of cluster `shop`."""
    sound = MachineRecord(
        id=name,
        state=state,
        host=None if state in _HOSTLESS else Host("acme", f"i-{name}"),
        instance_type="std-8",
        zone="eu-1a",
        capacity_type=CapacityType.ON_DEMAND,
        price_per_hour=0.5,
        interruption_probability=0.1,
        resources={"cpu": "8", "memory": "32Gi"},
        labels={"rack": "r1"},
        last_error="broken" if state is FAILED else "",
        cluster="shop" if state in _BOUND else "",
    )
    return replace(sound, **fields)  # type: ignore[arg-type]


def content_of(records: Iterable[MachineRecord], revision: bytes = b"r-1") -> bytes:
    return list_bytes([list_entry(machine_bytes(each)) for each in records], revision)


@dataclass
class Keeper:
    """Stands in for the keeper of Failed machines: it holds what is Failed and writes down what
    it hears."""

    machines: Machines
    refused: set[str] = field(default_factory=set)
    heard: list[dict[str, MachineState]] = field(default_factory=list)

    def holds(self, machine: str) -> bool:
        return machine in self.machines and self.machines.truth(machine).state is FAILED

    def admits(self, machine: str, state: MachineState) -> bool:
        return machine not in self.refused

    def on_list(
        self,
        provider: str,
        listed: Mapping[str, Machine],
        *,
        whole: bool,
        started: Instant,
        at: Instant,
    ) -> None:
        self.heard.append({name: machine.state for name, machine in listed.items()})


class Pending(set[str]):
    """Machines an action has."""

    def is_pending(self, machine: str) -> bool:
        return machine in self


class ListedParts(Parts):
    """The parts of a shard; pending actions and the keeper of Failed machines, as its reconciler
    sees them, are the test's."""

    def __init__(self, start: ShardStart, *, asks: bool) -> None:
        self.pending = Pending()
        #: Machines with stored rows of an earlier life.
        self.with_past: set[str] = set()
        self._asks = asks
        super().__init__(start)

    def _make_reconciler(
        self,
        ownership: Ownership,
        remembered: Set[str],
        calls: Calls | None,
        execution: PendingActions,
        failures: FailedMachines,
    ) -> Reconciler:
        self.keeper = Keeper(self.machines)
        asked = calls if self._asks else None
        return super()._make_reconciler(ownership, self.with_past, asked, self.pending, self.keeper)


class Rig:
    def __init__(
        self,
        *providers: str,
        settings: ShardSettings | None = None,
        ownership: Ownership | None = None,
        asks: bool = False,
        addresses: Mapping[str, str] | None = None,
        stored: Stored | None = None,
    ) -> None:
        """`asks`: it has a line to its providers, and asks them about Lists it doubts."""
        self.now = START
        names = providers or ("acme",)
        known = {name: (addresses or {}).get(name, name) for name in names}
        start = start_of(settings, providers=known, at=START, ownership=ownership, stored=stored)
        self.parts = parts = ListedParts(start, asks=asks)
        self.effects, self.calls, self.machines = parts.effects, parts.calls, parts.machines
        self.clusters = Clusters(parts, "shop", "ml")
        self._sent: list[NodeStateUpdate] = []
        self.pending, self.with_past, self.keeper = parts.pending, parts.with_past, parts.keeper
        self.reconciler = parts.reconciler
        #: What was asked for while the parts were made.
        self.asked_at_start = self.effects.taken()
        self.clusters.read()

    @property
    def sent(self) -> list[NodeStateUpdate]:
        """What clusters shop and ml were told, in this order; a test may clear it."""
        for cluster, frame in self.clusters.read():
            assert isinstance(frame, NodeStateUpdate)
            assert frame.cluster_id == cluster
            self._sent.append(frame)
        return self._sent

    # -- what happens ----------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)

    def read(
        self, records: Iterable[MachineRecord], provider: str = "acme", *, whole: bool = True
    ) -> ListReading:
        known = self.reconciler.known_machines(provider)
        return read_list(content_of(records), known, whole=whole)

    def begins(
        self, reading: ListReading, started: Instant, provider: str = "acme", *, whole: bool = True
    ) -> bool:
        """A List arrives, and its first piece is taken over."""
        return self.reconciler.on_list(ListArrived(provider, reading, whole, started, self.now))

    def arrived(
        self, reading: ListReading, started: Instant, provider: str = "acme", *, whole: bool = True
    ) -> None:
        more = self.begins(reading, started, provider, whole=whole)
        while more:
            more = self.reconciler.continue_list(provider)

    def lists(self, *records: MachineRecord, provider: str = "acme", whole: bool = True) -> None:
        """A second later a List arrives that was asked for a moment before, and is taken over."""
        self.wait(1)
        reading = self.read(records, provider, whole=whole)
        self.arrived(reading, self.now - 1, provider, whole=whole)

    def fails(self, code: Code = Code.UNAVAILABLE, provider: str = "acme") -> None:
        self.wait(1)
        self.reconciler.on_list_failed(ListFailed(provider, Rejected(code, "no"), self.now))

    def local(self, machine: Machine, text: str = "acted") -> None:
        """The shard itself changes a machine."""
        self.machines.step(machine, self.now, text, local=True, adopted=True)

    # -- what is seen ----------------------------------------------------------------------------

    def machine(self, name: str) -> Machine:
        return self.machines.truth(name)

    def state(self, name: str) -> MachineState:
        return self.machine(name).state

    def ids(self) -> list[str]:
        return sorted(self.machines.ids())

    def count(self, name: str, **labels: str) -> float:
        return self.effects.counts.of(name, **labels)

    def logged(self) -> list[str]:
        return [each.event for each in self.effects.taken() if isinstance(each, Log)]

    def last_log(self, event: str) -> str:
        """The text of the last line of that event."""
        lines = [e for e in self.effects.taken() if isinstance(e, Log) and e.event == event]
        return lines[-1].text

    def is_awake(self) -> bool:
        """Whether a cycle was asked for since this was last looked at."""
        return any(isinstance(each, WakeCycle) for each in self.effects.taken())

    def told(self) -> list[tuple[str, str, MachineState]]:
        return [(each.cluster_id, each.machine_id, each.state) for each in self.sent]
