"""A whole shard in virtual time: its state, a provider that takes its time, polite operators.

Every second the provider ends what is due and is listed whole, the shard decides once, and what it
asks for is begun. A mutation is answered in its transitional state, as real providers do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import CapacityType, Host, Instant, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import Ownership
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import (
    Ack,
    ConfigureCall,
    CreateCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import (
    PROTOCOL,
    RECLAIM_DONE,
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    ReclaimAck,
    ReclaimInstruction,
)
from bigfleet.shard.cycle import deliberate
from bigfleet.shard.effects import Stored
from bigfleet.shard.events import (
    BlobArrived,
    CallAnswered,
    ListArrived,
    ReclaimAcked,
    RollupArrived,
    SessionOpened,
)
from bigfleet.shard.instructions import CallProvider, FlushSession, GetCall, Instruction
from bigfleet.shard.reconciling.list_reading import read_list
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes
from tests.shard_parts import start_of

S = MachineState
START: Instant = 1_700_000_000 * SECOND
CLOUD = "cloud"
_AFTER = {S.CREATING: S.IDLE, S.CONFIGURING: S.CONFIGURED, S.DRAINING: S.IDLE}


def bound(name: str, cluster: str, rack: str = "r1") -> MachineRecord:
    """A machine of eight cores that a cluster has, and that stays when it is idle."""
    return MachineRecord(
        name,
        S.CONFIGURED if cluster else S.IDLE,
        Host(CLOUD, f"host-of-{name}"),
        capacity_type=CapacityType.BARE_METAL,
        resources={"cpu": "8"},
        labels={RACK_KEY: rack},
        cluster=cluster,
    )


def need(cluster: str, machines: int, priority: int, *, gang: bool = False) -> Need:
    """Of whole machines; a gang's must stand in one rack."""
    unit = Resources.parse({"cpu": "8"})
    wanted = [Requirement.of(RACK_KEY, Operator.SAME)] if gang else []
    group = "train" if gang else ""
    return Need(
        cluster, Profile.of(wanted, priority=priority), unit.times(machines), unit, 0, group
    )


class VirtualFleet:
    cycle_seconds = 1

    def __init__(
        self,
        records: Iterable[MachineRecord],
        drain_seconds: Mapping[str, int],
        settings: ShardSettings | None = None,
        *,
        ownership: Ownership | None = None,
        stored: Stored | None = None,
        at: Instant = START,
    ) -> None:
        """`drain_seconds`: what the provider takes to drain a machine; else one second. `stored`:
        what an earlier life left on disk."""
        self.at = at
        self.shelf = {record.id: record for record in records}
        #: Preempts in the order they were handed on.
        self.preempted: list[str] = []
        self._drain_seconds = drain_seconds
        self._due: dict[str, Instant] = {}
        self._session_of: dict[str, int] = {}
        self.state = ShardState(
            start_of(
                settings,
                providers={CLOUD: "cloud:9000"},
                at=at,
                stored=stored,
                ownership=ownership,
            )
        )
        self._list()

    def report(self, cluster: str, *needs: Need) -> None:
        """The whole demand of a cluster, which is connected from here on."""
        if cluster not in self._session_of:
            self._session_of[cluster] = number = len(self._session_of) + 1
            hello = Hello(cluster, f"{PROTOCOL}+{RECLAIM_DONE}")
            self._obey(self.state.handle(SessionOpened(number, hello, "", self.at)))
        rollup = Rollup(cluster, self.at, needs, f"{self.at} {needs!r}".encode())
        event = RollupArrived(self._session_of[cluster], rollup, self.at)
        self._obey(self.state.handle(event))

    def run(self, cycles: int) -> None:
        for _ in range(cycles):
            self.at += self.cycle_seconds * SECOND
            self._end_due()
            self._list()
            given = self.state.begin_cycle(self.at)
            thought = deliberate(given, map, lambda: 0.0)
            seen = len(self.state.decision_loop.actions)
            self._obey(self.state.end_cycle(thought, self.at, 0.0))
            self.preempted += [
                view.machine
                for view in list(self.state.decision_loop.actions)[seen:]
                if view.kind is ActionKind.PREEMPT
            ]
            self._obey(self.state.tick(self.at))

    def of(self, cluster: str) -> set[str]:
        """Machines that run for a cluster, by the provider's own word."""
        return {
            name
            for name, record in self.shelf.items()
            if record.state is S.CONFIGURED and record.cluster == cluster
        }

    def counted(self, name: str, **labels: str) -> float:
        return self.state.effects.counts.of(name, **labels)

    # -- the provider ----------------------------------------------------------------------------

    def _list(self) -> None:
        content = list_bytes([list_entry(machine_bytes(r)) for r in self.shelf.values()], b"")
        known = self.state.known_machines(CLOUD)
        reading = read_list(content, known, whole=True)
        event = ListArrived(CLOUD, reading, True, self.at, self.at)
        self._obey(self.state.handle(event))

    def _end_due(self) -> None:
        for name in [name for name, due in self._due.items() if due <= self.at]:
            del self._due[name]
            record = self.shelf[name]
            freed = record.state is S.DRAINING
            self.shelf[name] = replace(
                record,
                state=_AFTER[record.state],
                cluster="" if freed else record.cluster,
                shard_metadata={} if freed else record.shard_metadata,
            )

    def _answer(self, asked: CallProvider) -> Ack | MachineRecord | Rejected:
        call = asked.call
        if isinstance(call, GetCall):
            return self.shelf[call.machine_id]
        self._begin(call)
        return Ack(f"op-{call.machine_id}", self.shelf[call.machine_id])

    def _begin(self, call: Mutation) -> None:
        record, seconds = self.shelf[call.machine_id], 1
        if isinstance(call, ConfigureCall):
            record = replace(
                record,
                state=S.CONFIGURING,
                cluster=call.cluster_id,
                shard_metadata=call.shard_metadata,
            )
        elif isinstance(call, DrainCall):
            record = replace(record, state=S.DRAINING)
            seconds = self._drain_seconds.get(record.id, 1)
        else:
            assert isinstance(call, CreateCall), "nothing is given back in this fleet"
            record = replace(record, state=S.CREATING)
        self.shelf[call.machine_id] = record
        self._due[call.machine_id] = self.at + seconds * SECOND

    # -- obeying ---------------------------------------------------------------------------------

    def _obey(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, CallProvider):
                answer = self._answer(instruction)
                self._obey(self.state.handle(CallAnswered(instruction, answer, self.at)))
            elif isinstance(instruction, FlushSession):
                self._read(instruction.session)

    def _read(self, session: int) -> None:
        """The operator: blobs at once, nodes emptied at once."""
        while frames := self.state.take_frames(session, 1000):
            for frame in frames:
                if isinstance(frame, BootstrapRequest):
                    blob = BootstrapResponse(frame.request_id, b"join")
                    self._obey(self.state.handle(BlobArrived(session, blob, self.at)))
                elif isinstance(frame, ReclaimInstruction):
                    for _ in ("begun", "done"):
                        ack = ReclaimAck(frame.instruction_id, 1)
                        self._obey(self.state.handle(ReclaimAcked(session, ack, self.at)))
