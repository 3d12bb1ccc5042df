"""Two providers of a dozen machines that remember who acted on which of them.

A mutation is answered in its transitional state and ends a second later. What was asked and has
not arrived, and what was answered and has not arrived, waits until the schedule goes on with it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bigfleet.model.machines import CapacityType, Host, Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import Attribute
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY, attribute_of
from bigfleet.shard.instructions import CallProvider, GetCall
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes

S = MachineState
CLOUD, LAB = "cloud", "lab"
#: Addresses by name.
PROVIDERS = {CLOUD: "cloud:9000", LAB: "lab:9000"}
ZONES, RACKS = ("z1", "z2"), ("r1", "r2", "")

_MOVING = {CreateCall: S.CREATING, ConfigureCall: S.CONFIGURING, DrainCall: S.DRAINING}
_BEFORE = {
    CreateCall: S.SPECULATIVE,
    ConfigureCall: S.IDLE,
    DrainCall: S.CONFIGURED,
    DeleteCall: S.IDLE,
}
_AFTER = {
    S.CREATING: S.IDLE,
    S.CONFIGURING: S.CONFIGURED,
    S.DRAINING: S.IDLE,
    S.DELETING: S.SPECULATIVE,
}
#: A cluster is served there, or something is under way.
OCCUPIED = (S.CREATING, S.CONFIGURING, S.CONFIGURED, S.DRAINING, S.DELETING)


@dataclass(frozen=True, slots=True)
class ProviderCall:
    machine: str
    shard: str
    epoch: int
    verb: str


@dataclass(slots=True)
class Line:
    """A call under way: first to the provider, then back."""

    asked: CallProvider
    shard: str
    #: Tells the shard; it may be dead by then.
    answer: Callable[[Ack | MachineRecord | Rejected], None]
    #: None: it has not arrived yet.
    result: Ack | MachineRecord | Rejected | None = None


def provider_of(machine: str) -> str:
    return LAB if machine.startswith(LAB) else CLOUD


def address_of(machine: str) -> str:
    return PROVIDERS[provider_of(machine)]


class Provider:
    """Both of them: the caller says which one it means."""

    def __init__(
        self,
        acted: Callable[[ProviderCall], None],
        shelf: Mapping[str, MachineRecord] | None = None,
    ) -> None:
        """`acted` hears of every act before it is carried out."""
        self._acted = acted
        self.shelf = dict(shelf or {record.id: record for record in _machines()})
        self.acts: list[ProviderCall] = []
        #: Who acted last on each machine.
        self.actor: dict[str, str] = {}
        #: Calls under way, oldest first.
        self.lines: list[Line] = []
        self._due: dict[str, Instant] = {}
        self._entries: dict[str, tuple[MachineRecord, bytes]] = {}

    def attribute(self, machine: str) -> Attribute:
        record = self.shelf[machine]

        def asked(key: str) -> str | None:
            return attribute_of(key, record.instance_type, record.zone, dict(record.labels))

        return asked

    def content(self, provider: str) -> bytes:
        """A whole List."""
        of = (record for name, record in self.shelf.items() if provider_of(name) == provider)
        return list_bytes([self._entry(record) for record in of], b"")

    def advance(self, at: Instant) -> None:
        for name in [name for name, due in self._due.items() if due <= at]:
            del self._due[name]
            record = self.shelf[name]
            after = replace(record, state=_AFTER[record.state])
            if after.state in (S.IDLE, S.SPECULATIVE):
                after = replace(after, cluster="", shard_metadata={})
            self.shelf[name] = replace(after, host=_host_of(name, after.state))

    # -- calls -----------------------------------------------------------------------------------

    def arrive(self, line: Line, at: Instant) -> None:
        call = line.asked.call
        if isinstance(call, GetCall):
            line.result = self.shelf[call.machine_id]
            return
        try:
            self._begin(call, at)
            line.result = Ack(f"op-{call.machine_id}", self.shelf[call.machine_id])
        except Rejected as problem:
            line.result = problem

    def go_on(self, line: Line, at: Instant) -> None:
        """One step further: there, then back."""
        if line.result is None:
            self.arrive(line, at)
            return
        self.lines.remove(line)
        line.answer(line.result)

    def lose(self, line: Line) -> None:
        """Wherever it was, the shard hears only that the line broke."""
        self.lines.remove(line)
        line.answer(Rejected(Code.UNAVAILABLE, "the line broke"))

    def hang_up(self, shard: str, at: Instant, *, arrives: bool) -> None:
        """The caller is dead; what was on its way arrives at once or never."""
        for line in [line for line in self.lines if line.shard == shard]:
            self.lines.remove(line)
            if line.result is None and arrives:
                self.arrive(line, at)

    def _begin(self, call: Mutation, at: Instant) -> None:
        record, token = self.shelf[call.machine_id], call.token
        if record.state is not _BEFORE[type(call)]:
            raise Rejected(Code.INTERNAL, f"{record.id} is {record.state.label}")
        act = ProviderCall(record.id, token.shard_id, token.epoch, type(call).__name__)
        self._acted(act)
        self.acts.append(act)
        self.actor[record.id] = token.shard_id
        if isinstance(call, ConfigureCall):
            record = replace(
                record, cluster=call.cluster_id, shard_metadata=dict(call.shard_metadata)
            )
        state = S.DELETING if isinstance(call, DeleteCall) else _MOVING[type(call)]
        self.shelf[record.id] = replace(record, state=state)
        self._due[record.id] = at + SECOND

    def _entry(self, record: MachineRecord) -> bytes:
        known = self._entries.get(record.id)
        if known is None or known[0] is not record:
            known = self._entries[record.id] = (record, list_entry(machine_bytes(record)))
        return known[1]


def _machines() -> list[MachineRecord]:
    """Two of every place, one of them a slot where there is no rack; and some in the lab."""
    found = []
    for zone in ZONES:
        for rack in RACKS:
            for number in range(2):
                name = f"{zone}-{rack or 'no'}-{number}"
                found.append(_machine(name, zone, rack, is_slot=number == 1 and not rack))
        found.append(_machine(f"lab-{zone}-r1", zone, "r1", is_slot=False))
    return found


def _machine(name: str, zone: str, rack: str, *, is_slot: bool) -> MachineRecord:
    state = S.SPECULATIVE if is_slot else S.IDLE
    return MachineRecord(
        name,
        state,
        _host_of(name, state),
        zone=zone,
        capacity_type=CapacityType.ON_DEMAND if is_slot else CapacityType.BARE_METAL,
        resources={"cpu": "8"},
        labels={RACK_KEY: rack} if rack else {},
        price_per_hour=1.0,
    )


def _host_of(machine: str, state: MachineState) -> Host:
    return Host() if state is S.SPECULATIVE else Host(provider_of(machine), f"host-of-{machine}")


PAIRS = tuple((ZONE_KEY, zone) for zone in ZONES) + tuple(
    (RACK_KEY, rack) for rack in RACKS if rack
)
