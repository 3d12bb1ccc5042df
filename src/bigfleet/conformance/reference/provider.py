"""The reference provider: the order of checks of a mutation, done plainly and in one breath.

Nothing awaits between the fence and the acceptance, and that is what makes a mutation atomic. Each
decision is a method of its own, so that a mutant bends exactly one.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, NamedTuple

from bigfleet.conformance.pace import Clock
from bigfleet.conformance.reference.fleet import FAULT_LABEL
from bigfleet.conformance.reference.memory import Memory
from bigfleet.conformance.reference.record_list import RecordList
from bigfleet.conformance.reference.statefile import StateFile
from bigfleet.model.machines import Host
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Mutation,
    Peer,
    Rejected,
    Token,
)
from bigfleet.model.syntax import is_admin
from bigfleet.wire.machines import ack_bytes, machine_bytes
from bigfleet.wire.provider_server import ProviderEndpoint

MARK = tuple[int, int]


class Kind(StrEnum):
    CREATE = "create"
    CONFIGURE = "configure"
    DRAIN = "drain"
    DELETE = "delete"


class Transition(NamedTuple):
    source: S
    via: S
    target: S


EDGES = {
    Kind.CREATE: Transition(S.SPECULATIVE, S.CREATING, S.IDLE),
    Kind.CONFIGURE: Transition(S.IDLE, S.CONFIGURING, S.CONFIGURED),
    Kind.DRAIN: Transition(S.CONFIGURED, S.DRAINING, S.IDLE),
    Kind.DELETE: Transition(S.IDLE, S.DELETING, S.SPECULATIVE),
}


class Fault(Exception):
    """The substrate said no."""


@dataclass(frozen=True, slots=True)
class ReferenceSettings:
    """What the flags set."""

    provider: str = "reference"
    seed_count: int = 32
    latency: float = 0.006
    transition_timeout: float = 30.0
    faults: bool = False
    can_delete: bool = True
    #: This many machines have their host from the start; None: all of them.
    hosts: int | None = 0
    #: None: a FAILED machine stays where it is.
    failed_hold: float | None = None
    #: How often the substrate is looked at for prices and vanished hosts.
    refresh: float = 0.1


class Reference:
    #: What a mutant of reading or of durability replaces.
    record_list_kind: ClassVar[type[RecordList]] = RecordList
    memory_kind: ClassVar[type[Memory]] = Memory
    state_kind: ClassVar[type[StateFile]] = StateFile
    #: Whether health says SERVING while it serves, and NOT_SERVING once it was asked to stop.
    shows_start: ClassVar[bool] = True
    shows_end: ClassVar[bool] = True

    def __init__(
        self, settings: ReferenceSettings, clock: Clock, life: str, state: StateFile | None = None
    ) -> None:
        self.settings, self.clock = settings, clock
        self.memory = self.memory_kind(self.record_list_kind(life), state)
        self.latency = settings.latency
        #: The operation a machine is busy with; a completion of any other is too late.
        self.running: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.prepare()

    @property
    def records(self) -> dict[str, MachineRecord]:
        return self.memory.record_list.records

    def prepare(self) -> None:
        """Before the first call: what a crash interrupted ends in FAILED."""
        settings = self.settings
        hosts = settings.seed_count if settings.hosts is None else settings.hosts
        self.memory.seed(
            settings.provider, settings.seed_count, faults=settings.faults, hosts=hosts
        )
        for record in list(self.records.values()):
            if not record.state.stable and record.state is not S.FAILED:
                self.interrupted(record)

    def interrupted(self, record: MachineRecord) -> None:
        self.publish(self.failed(record, "interrupted: the provider was restarted"))

    def start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.memory.close()

    # The six calls.

    async def create(self, call: CreateCall, peer: Peer) -> bytes:
        return await self.mutate(Kind.CREATE, call, peer)

    async def configure(self, call: ConfigureCall, peer: Peer) -> bytes:
        return await self.mutate(Kind.CONFIGURE, call, peer)

    async def drain(self, call: DrainCall, peer: Peer) -> bytes:
        return await self.mutate(Kind.DRAIN, call, peer)

    async def delete(self, call: DeleteCall, peer: Peer) -> bytes:
        return await self.mutate(Kind.DELETE, call, peer)

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        del peer  # any caller may read
        if not machine_id:
            raise Rejected(Code.INVALID_ARGUMENT, "machine id is empty")
        if machine_id not in self.records:
            raise Rejected(Code.NOT_FOUND, f"no machine {machine_id}")
        return self.memory.record_list.content[machine_id]

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        del peer
        return self.memory.record_list.answer(call)

    # A mutation, check by check.

    async def mutate(self, kind: Kind, call: Mutation, peer: Peer) -> bytes:
        self.check_identity(call.token, peer)
        self.check_request(call)
        self.check_capability(kind)
        return await self.decide(kind, call)

    async def decide(self, kind: Kind, call: Mutation) -> bytes:
        self.check_fence(kind, call)
        return self.admitted(kind, call)

    def admitted(self, kind: Kind, call: Mutation) -> bytes:
        record = self.known(kind, call)
        if operation := self.repeated(kind, call, record):
            return self.ack(operation, record)
        self.check_position(kind, call, record)
        return self.ack(*self.accept(kind, call, record))

    def check_identity(self, token: Token, peer: Peer) -> None:
        if not peer.authenticated or is_admin(peer.identity) or not token.shard_id:
            return
        if peer.identity != f"bigfleet://shard/{token.shard_id}":
            raise Rejected(Code.PERMISSION_DENIED, "the certificate names another shard")

    def check_request(self, call: Mutation) -> None:
        if not call.machine_id:
            raise Rejected(Code.INVALID_ARGUMENT, "machine id is empty")
        if isinstance(call, DrainCall) and call.grace_period_seconds < 0:
            raise Rejected(Code.INVALID_ARGUMENT, "grace is negative")

    def check_capability(self, kind: Kind) -> None:
        if kind is Kind.DELETE and not self.settings.can_delete:
            raise Rejected(Code.UNIMPLEMENTED, "this provider keeps its machines")

    def check_fence(self, kind: Kind, call: Mutation) -> None:
        del kind  # every kind is fenced alike
        if call.token.absent:
            return
        key = self.mark_key(call)
        mark = self.memory.marks.get(key)
        if mark is not None and not self.newer((call.token.epoch, call.token.sequence), mark):
            raise Rejected(Code.FAILED_PRECONDITION, f"stale token: the mark is {mark}")
        self.set_mark(key, (call.token.epoch, call.token.sequence))

    def mark_key(self, call: Mutation) -> tuple[str, str]:
        return (call.token.shard_id, call.machine_id)

    def newer(self, token: MARK, mark: MARK) -> bool:
        return token > mark

    def set_mark(self, key: tuple[str, str], mark: MARK) -> None:
        self.memory.set_mark(key, mark)

    def known(self, kind: Kind, call: Mutation) -> MachineRecord:
        del kind
        record = self.records.get(call.machine_id)
        if record is None:
            raise Rejected(Code.NOT_FOUND, f"no machine {call.machine_id}")
        return record

    def repeated(self, kind: Kind, call: Mutation, record: MachineRecord) -> str | None:
        """The recorded operation, where this call asks for what is done or under way already."""
        operation = self.memory.operations.get((record.id, kind))
        if operation is None or record.state not in (EDGES[kind].via, EDGES[kind].target):
            return None
        if isinstance(call, ConfigureCall) and record.cluster != call.cluster_id:
            raise Rejected(Code.ABORTED, f"{record.id} is bound to {record.cluster}")
        return operation

    def check_position(self, kind: Kind, call: Mutation, record: MachineRecord) -> None:
        del call
        if record.state is not EDGES[kind].source:
            raise Rejected(Code.ABORTED, f"{record.id} is {record.state.name}")

    def accept(
        self, kind: Kind, call: Mutation, record: MachineRecord
    ) -> tuple[str, MachineRecord]:
        if kind is Kind.CREATE:
            self.memory.forget_operations(record.id)  # a new life has no history
        operation = self.mint(kind, call)
        self.running[record.id] = operation
        entered = self.entered(kind, call, record)
        self.memory.accept(kind, operation, entered)
        self.start(self.work(kind, call, operation))
        return operation, entered

    def mint(self, kind: Kind, call: Mutation) -> str:
        del kind, call
        return self.memory.next_operation()

    def entered(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        entered = replace(record, state=EDGES[kind].via)
        return self.bound(entered, call) if isinstance(call, ConfigureCall) else entered

    def bound(self, record: MachineRecord, call: ConfigureCall) -> MachineRecord:
        return replace(
            record, cluster=call.cluster_id, shard_metadata=self.stored(call.shard_metadata)
        )

    def stored(self, metadata: object) -> dict[str, str]:
        assert isinstance(metadata, dict)
        return dict(metadata)

    def ack(self, operation: str, record: MachineRecord) -> bytes:
        return ack_bytes(operation, machine_bytes(record))

    # The work behind it.

    async def work(self, kind: Kind, call: Mutation, operation: str) -> None:
        machine = call.machine_id
        try:
            async with asyncio.timeout(self.settings.transition_timeout):
                await self.actuate(kind, call, operation)
        except TimeoutError:
            self.fail(machine, operation, f"timeout: {kind} took too long")
        except Fault as fault:
            self.fail(machine, operation, f"error: {fault}")
        else:
            self.finish(kind, call, operation)

    async def actuate(self, kind: Kind, call: Mutation, operation: str) -> None:
        await self.clock.sleep(self.latency)
        if not self.settings.faults:
            return
        record = self.records[call.machine_id]
        if kind is Kind.CREATE and record.labels.get(FAULT_LABEL) == "error":
            raise Fault("the slot is made to fail")
        if kind is Kind.DRAIN and record.cluster == "fault-drain-error":
            raise Fault("the drain is made to fail")
        if isinstance(call, ConfigureCall):
            await self.selected_fault(call, operation)

    async def selected_fault(self, call: ConfigureCall, operation: str) -> None:
        match call.cluster_id:
            case "fault-error":
                raise Fault("the configure is made to fail")
            case "fault-timeout":
                await self.never()
            case "fault-slow-ok":
                self.start(self.finish_late(call, operation))
                await self.never()
            case "fault-readiness-block":
                await self.wait_for_readiness()

    async def never(self) -> None:
        await asyncio.get_running_loop().create_future()

    async def wait_for_readiness(self) -> None:
        await self.never()

    async def finish_late(self, call: ConfigureCall, operation: str) -> None:
        """Half the timeout after it: one second with the two seconds of the fault lane."""
        await self.clock.sleep(self.settings.transition_timeout * 1.5)
        self.finish(Kind.CONFIGURE, call, operation)

    def finish(self, kind: Kind, call: Mutation, operation: str) -> None:
        if self.running.get(call.machine_id) != operation:
            return
        del self.running[call.machine_id]
        self.publish(self.landed(kind, call, self.records[call.machine_id]))

    def landed(self, kind: Kind, call: Mutation, record: MachineRecord) -> MachineRecord:
        del call
        landed = replace(record, state=EDGES[kind].target)
        match kind:
            case Kind.CREATE:
                host = Host(self.settings.provider, f"host-{self.memory.next_host()}")
                return replace(landed, host=host)
            case Kind.CONFIGURE:
                return landed
            case Kind.DRAIN:
                return self.drained(landed)
            case Kind.DELETE:
                return self.deleted(landed)

    def drained(self, record: MachineRecord) -> MachineRecord:
        return replace(record, cluster="", shard_metadata={})

    def deleted(self, record: MachineRecord) -> MachineRecord:
        return replace(record, host=None, cluster="", shard_metadata={})

    def fail(self, machine: str, operation: str, why: str) -> None:
        if self.running.get(machine) != operation:
            return
        del self.running[machine]
        self.publish(self.failed(self.records[machine], why))

    def failed(self, record: MachineRecord, why: str) -> MachineRecord:
        if self.settings.failed_hold is not None:
            self.start(self.heal(record.id, self.settings.failed_hold))
        return replace(record, state=S.FAILED, last_error=why)

    async def heal(self, machine: str, hold: float) -> None:
        await self.clock.sleep(hold)
        record = self.records[machine]
        back = S.IDLE if record.host else S.SPECULATIVE
        self.memory.forget_operations(machine)
        self.publish(replace(record, state=back, last_error="", cluster="", shard_metadata={}))

    def publish(self, record: MachineRecord) -> None:
        self.memory.publish(record)

    def dress(self, endpoint: ProviderEndpoint) -> None:
        """A last word about the line before it opens."""

    # What happens behind its back.

    def price_changed(self, machine: str) -> None:
        record = self.records[machine]
        self.publish(replace(record, price_per_hour=record.price_per_hour + 0.01))

    def host_vanished(self, machine: str) -> None:
        if self.records[machine].state in (S.IDLE, S.CONFIGURED):
            self.publish(self.failed(self.records[machine], "vanished: the host is gone"))
