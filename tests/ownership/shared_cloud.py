"""Several whole shards over one provider, in virtual time, without any driver.

The provider takes its time: a mutation is answered in its transitional state and ends with `pass_`.
Every mutation is held against the law: the shard that asks for it is the only owner of the machine.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bigfleet.model.machines import CapacityType, Host, Instant, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import Ownership, OwnershipView
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import (
    Ack,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    MachineRecord,
)
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import (
    PROTOCOL,
    RECLAIM_DONE,
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    NodeStateUpdate,
    ReclaimAck,
    ReclaimInstruction,
)
from bigfleet.shard.coordination.owned_machines import KEY, ownership_of
from bigfleet.shard.cycle import Deliberation, deliberate
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.events import (
    BlobArrived,
    CallAnswered,
    ListArrived,
    ReclaimAcked,
    RollupArrived,
    SessionOpened,
)
from bigfleet.shard.instructions import (
    CallProvider,
    FlushSession,
    GetCall,
    Instruction,
    Persist,
)
from bigfleet.shard.reconciling.list_reading import Listing, read_list
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes
from tests.shard_parts import start_of

S = MachineState
START: Instant = 1_700_000_000 * SECOND
CLOUD, ADDRESS = "cloud", "cloud:9000"
CORES = {"cpu": "8"}
_AFTER = {S.CREATING: S.IDLE, S.CONFIGURING: S.CONFIGURED, S.DRAINING: S.IDLE}
_AFTER[S.DELETING] = S.SPECULATIVE


def slot(name: str, zone: str, state: MachineState = S.SPECULATIVE, **labels: str) -> MachineRecord:
    """Eight cores for a dollar an hour."""
    return MachineRecord(
        name,
        state,
        None if state is S.SPECULATIVE else Host(CLOUD, f"host-of-{name}"),
        zone=zone,
        capacity_type=CapacityType.ON_DEMAND,
        price_per_hour=1.0,
        resources=CORES,
        labels=labels or {RACK_KEY: "r1"},
    )


class Cloud:
    def __init__(self, records: Iterable[MachineRecord]) -> None:
        self.at = START
        self.shelf = {record.id: record for record in records}
        self.shards: dict[str, Shard] = {}
        #: Mutations in order: who asked for what.
        self.asked: list[tuple[str, str, str]] = []
        #: Whether mutations end before they are answered.
        self.is_quick = False

    def join(
        self,
        name: str,
        stored: Mapping[str, Mapping[str, bytes]] | None = None,
        settings: ShardSettings | None = None,
    ) -> "Shard":
        shard = Shard(self, name, stored or {}, settings or ShardSettings(id=name))
        self.shards[name] = shard
        return shard

    def pass_(self, seconds: int = 1) -> None:
        """Time passes, and what is under way at the provider ends."""
        self.at += seconds * SECOND
        for name, record in self.shelf.items():
            if record.state in _AFTER:
                self.shelf[name] = _ended(record)

    def answer(self, shard: str, call: CallProvider) -> Ack | MachineRecord:
        asked = call.call
        record = self.shelf[asked.machine_id]
        if isinstance(asked, GetCall):
            return record
        self.asked.append((shard, type(asked).__name__, record.id))
        owners = self.owners(record.id)
        assert owners == [shard], f"{shard} asks for a {type(asked).__name__} of {owners}"
        if isinstance(asked, CreateCall | DeleteCall):
            given_up = f"{shard} asks for a {type(asked).__name__} where it only lingers"
            assert self.shards[shard].owns(record), given_up
        match asked:
            case CreateCall():
                record = replace(record, state=S.CREATING)
            case ConfigureCall(cluster_id=cluster, shard_metadata=stamp):
                record = replace(record, state=S.CONFIGURING, cluster=cluster, shard_metadata=stamp)
            case DrainCall():
                record = replace(record, state=S.DRAINING)
            case DeleteCall():
                record = replace(record, state=S.DELETING)
        if self.is_quick:
            record = _ended(record)
        self.shelf[record.id] = record
        return Ack(f"op-{record.id}", record)

    def owners(self, machine: str) -> list[str]:
        """The shard that would act on it if it were bound."""
        record = self.shelf[machine]
        return [n for n, shard in self.shards.items() if shard.owns(record, occupied=True)]

    def serving(self, shard: "Shard") -> set[str]:
        """Machines that run for a shard's cluster, and are its own."""
        return {
            record.id
            for record in self.shelf.values()
            if record.cluster == shard.name and shard.owns(record, occupied=True)
        }

    def have(self, machine: str) -> list[str]:
        """Shards that have the machine and may act on it."""
        return [name for name, shard in self.shards.items() if shard.has(machine)]


def _ended(record: MachineRecord) -> MachineRecord:
    state = _AFTER[record.state]
    free = state in (S.IDLE, S.SPECULATIVE)
    return replace(
        record,
        state=state,
        host=None if state is S.SPECULATIVE else Host(CLOUD, f"host-of-{record.id}"),
        cluster="" if free else record.cluster,
        shard_metadata={} if free else record.shard_metadata,
    )


class Shard:
    """Its cluster has its name."""

    def __init__(
        self,
        cloud: Cloud,
        name: str,
        stored: Mapping[str, Mapping[str, bytes]],
        settings: ShardSettings,
    ) -> None:
        self.cloud, self.name = cloud, name
        self.disk: dict[str, dict[str, bytes]] = {k: dict(rows) for k, rows in stored.items()}
        kept = self.disk.get(COORDINATION, {})
        self.state = ShardState(
            start_of(
                settings,
                providers={CLOUD: ADDRESS},
                at=cloud.at,
                stored=self.disk,
                ownership=ownership_of(name, kept.get(KEY))[0],
                ids=name,
            )
        )
        self.owned_machines = self.state.parts.owned_machines
        #: Whether the operator answers at once; if not, what it was asked for waits.
        self.reads_blobs = self.evicts = True
        self.waiting_blobs: list[str] = []
        self.evicting: list[ReclaimInstruction] = []
        self.told: list[NodeStateUpdate] = []
        #: Whether the provider's answers get through; if not, they wait.
        self.hears = True
        self.unheard: list[CallAnswered] = []
        self._sessions: dict[str, int] = {}

    @property
    def ownership(self) -> Ownership:
        return self.owned_machines.ownership

    def has(self, machine: str) -> bool:
        return machine in self.state.parts.machines and self.state.parts.reconciler.is_owned(
            machine
        )

    def owns(self, record: MachineRecord, *, occupied: bool = False) -> bool:
        attributes = {**record.labels, ZONE_KEY: record.zone}
        return self.ownership.owns(record.id, attributes.get, ADDRESS, occupied=occupied)

    def ids(self) -> list[str]:
        return sorted(self.state.parts.machines.ids())

    # -- what happens ----------------------------------------------------------------------------

    def take(self, view: OwnershipView, *, sweep: bool = True) -> None:
        row = self.owned_machines.row_of(view, [ADDRESS])
        self.disk.setdefault(COORDINATION, {})[KEY] = row
        self.owned_machines.take_view(view, [ADDRESS], self.cloud.at)
        self.obey(self.state.taken())
        if sweep:
            self.sweep()

    def sweep(self) -> None:
        while self.state.continue_sweep():
            self.obey(self.state.taken())
        self.obey(self.state.taken())

    def lists(self) -> None:
        self.arrives(self.reads())

    def reads(self) -> Listing:
        """A List as the provider answers it now; it may arrive later."""
        records = self.cloud.shelf.values()
        content = list_bytes([list_entry(machine_bytes(each)) for each in records], b"")
        reading = read_list(content, self.state.known_machines(CLOUD), whole=True)
        return ListArrived(CLOUD, reading, True, self.cloud.at, self.cloud.at)

    def arrives(self, listed: Listing) -> None:
        self.obey(self.state.handle(replace(listed, at=self.cloud.at)))
        while self.state.continue_list(CLOUD):
            self.obey(self.state.taken())
        self.obey(self.state.taken())

    def wants(self, machines: int, cluster: str = "", priority: int = 100) -> None:
        """The whole demand of a cluster, its own or another; it connects first if it has to."""
        cluster = cluster or self.name
        if cluster not in self._sessions:
            self._sessions[cluster] = len(self._sessions) + 1
            hello = Hello(cluster, f"{PROTOCOL}+{RECLAIM_DONE}")
            opened = SessionOpened(self._sessions[cluster], hello, "", self.cloud.at)
            self.obey(self.state.handle(opened))
        unit = Resources.parse(CORES)
        need = Need(cluster, Profile.of(priority=priority), unit.times(machines), unit)
        needs = (need,) if machines else ()
        rollup = Rollup(cluster, self.cloud.at, needs, repr(needs).encode())
        event = RollupArrived(self._sessions[cluster], rollup, self.cloud.at)
        self.obey(self.state.handle(event))

    def thinks(self) -> "PendingCycle":
        """A cycle is begun; what it comes to may be carried out later."""
        given = self.state.begin_cycle(self.cloud.at)
        return PendingCycle(self, deliberate(given, map, lambda: 0.0))

    def cycle(self) -> None:
        if self.state.may_decide(self.cloud.at):
            self.thinks().ends()
        self.obey(self.state.taken())

    def tick(self) -> None:
        self.obey(self.state.tick(self.cloud.at))

    def hear(self) -> None:
        """Answers that waited arrive."""
        while self.unheard:
            self.obey(self.state.handle(self.unheard.pop(0)))

    def restarts(self) -> "Shard":
        return self.cloud.join(self.name, self.disk)

    # -- obeying ---------------------------------------------------------------------------------

    def obey(self, instructions: Sequence[Instruction]) -> None:
        for each in instructions:
            match each:
                case CallProvider():
                    answer = self.cloud.answer(self.name, each)
                    self.unheard.append(CallAnswered(each, answer, self.cloud.at))
                    if self.hears:
                        self.hear()
                case FlushSession(session):
                    self._read(session)
                case Persist(table, key, None):
                    self.disk.get(table, {}).pop(key, None)
                case Persist(table, key, value):
                    assert value is not None
                    self.disk.setdefault(table, {})[key] = value

    def _read(self, session: int) -> None:
        """The operator: blobs at once, nodes emptied at once."""
        while frames := self.state.take_frames(session, 1000):
            for frame in frames:
                match frame:
                    case BootstrapRequest(request_id):
                        self.waiting_blobs.append(request_id)
                    case ReclaimInstruction():
                        self.evicting.append(frame)
                    case NodeStateUpdate():
                        self.told.append(frame)
        asked, evicting = self.waiting_blobs, self.evicting
        if self.reads_blobs:
            self.waiting_blobs = []
            for request_id in asked:
                blob = BootstrapResponse(request_id, b"join")
                self.obey(self.state.handle(BlobArrived(session, blob, self.cloud.at)))
        if self.evicts:
            self.evicting = []
            for instruction in evicting:
                self._evict(session, instruction)

    def _evict(self, session: int, instruction: ReclaimInstruction) -> None:
        for _ in ("begun", "done"):
            ack = ReclaimAck(instruction.instruction_id, 1)
            self.obey(self.state.handle(ReclaimAcked(session, ack, self.cloud.at)))


class PendingCycle:
    def __init__(self, shard: Shard, thought: Deliberation) -> None:
        self._shard = shard
        self._thought = thought

    def ends(self) -> None:
        shard = self._shard
        shard.obey(shard.state.end_cycle(self._thought, shard.cloud.at, 0.0))
