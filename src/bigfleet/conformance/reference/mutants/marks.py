"""Mutants of the fence and of concurrency: who may act, and how often one thing happens."""

from collections import Counter
from dataclasses import replace

from bigfleet.conformance.reference.mutants import breaks
from bigfleet.conformance.reference.provider import EDGES, MARK, Kind, Reference
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    ListCall,
    MachineRecord,
    Mutation,
    Peer,
    Rejected,
)


@breaks("existence before fence")
class ExistenceFirst(Reference):
    async def decide(self, kind: Kind, call: Mutation) -> bytes:
        self.known(kind, call)
        return await super().decide(kind, call)


@breaks("mark per shard")
class MarkPerShard(Reference):
    def mark_key(self, call: Mutation) -> tuple[str, str]:
        return (call.token.shard_id, "")


@breaks(">= instead of >")
class EqualPasses(Reference):
    def newer(self, token: MARK, mark: MARK) -> bool:
        return token >= mark


@breaks("fenced shard cannot read")
class FencedCannotRead(Reference):
    fenced = False

    def check_fence(self, kind: Kind, call: Mutation) -> None:
        try:
            super().check_fence(kind, call)
            self.fenced = False
        except Rejected:
            self.fenced = True
            raise

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        self.refuse()
        return await super().get(machine_id, peer)

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        self.refuse()
        return await super().list(call, peer)

    def refuse(self) -> None:
        if self.fenced:
            raise Rejected(Code.FAILED_PRECONDITION, "you were fenced")


class UnfencedRepeat(Reference):
    """A repeat of this kind is answered before its token is checked."""

    kind: Kind

    def check_fence(self, kind: Kind, call: Mutation) -> None:
        record = self.records.get(call.machine_id)
        known = (call.machine_id, kind) in self.memory.operations
        if kind is self.kind and record and known and record.state is EDGES[kind].target:
            return
        super().check_fence(kind, call)


@breaks("idempotency before fence")
class IdempotencyFirst(UnfencedRepeat):
    kind = Kind.CONFIGURE


@breaks("Drain repeat unfenced")
class DrainRepeatUnfenced(UnfencedRepeat):
    kind = Kind.DRAIN


@breaks("absent token makes mark")
class AbsentTokenIsFenced(Reference):
    def check_fence(self, kind: Kind, call: Mutation) -> None:
        if call.token.absent:
            mark = self.memory.marks.get(self.mark_key(call))
            if mark is not None:
                raise Rejected(Code.FAILED_PRECONDITION, "stale token")
            self.set_mark(self.mark_key(call), (0, 0))
        super().check_fence(kind, call)


@breaks("fence on Create only")
class FenceOnCreateOnly(Reference):
    def check_fence(self, kind: Kind, call: Mutation) -> None:
        if kind is Kind.CREATE:
            super().check_fence(kind, call)


@breaks("epoch ignored")
class EpochIgnored(Reference):
    def newer(self, token: MARK, mark: MARK) -> bool:
        return token[1] > mark[1]


@breaks("mark moves on success only")
class MarkMovesOnSuccess(Reference):
    async def decide(self, kind: Kind, call: Mutation) -> bytes:
        key = self.mark_key(call)
        before = self.memory.marks.get(key)
        try:
            return await super().decide(kind, call)
        except Rejected as rejected:
            if rejected.code is not Code.FAILED_PRECONDITION:
                self.memory.marks.pop(key, None)
                if before is not None:
                    self.set_mark(key, before)
            raise


@breaks("sequence compared alone")
class SequenceAlone(Reference):
    def newer(self, token: MARK, mark: MARK) -> bool:
        return token[1] > mark[1] if token[0] >= mark[0] else False


GAP = 0.01


class Race(Reference):
    """Looks whether the operation is known, takes a breath, and starts it anyway."""

    kind: Kind

    async def decide(self, kind: Kind, call: Mutation) -> bytes:
        if kind is not self.kind:
            return await super().decide(kind, call)
        self.check_fence(kind, call)
        record = self.known(kind, call)
        if operation := self.repeated(kind, call, record):
            return self.ack(operation, record)
        self.check_position(kind, call, record)
        await self.clock.sleep(GAP)
        return self.ack(*self.accept(kind, call, record))


@breaks("create race mints two ids")
class CreateRace(Race):
    kind = Kind.CREATE


@breaks("configure race")
class ConfigureRace(Race):
    kind = Kind.CONFIGURE


@breaks("drain race")
class DrainRace(Race):
    kind = Kind.DRAIN


@breaks("delete race")
class DeleteRace(Race):
    kind = Kind.DELETE


@breaks("lost update: I with cluster")
class LostUpdate(Reference):
    async def decide(self, kind: Kind, call: Mutation) -> bytes:
        if isinstance(call, ConfigureCall):
            self.start(self.write_back(call))
        return await super().decide(kind, call)

    async def write_back(self, call: ConfigureCall) -> None:
        """Once no other call runs, the binding is written over the record of that moment."""
        await self.clock.sleep(self.latency * 2)
        while call.machine_id in self.running:
            await self.clock.sleep(self.latency)
        record = self.records[call.machine_id]
        if record.state is S.IDLE:
            self.publish(self.bound(record, call))


@breaks("fence check not atomic")
class FenceNotAtomic(Reference):
    """The old mark is gone a moment before the new one is there."""

    async def decide(self, kind: Kind, call: Mutation) -> bytes:
        self.check_fence(kind, call)
        mark = self.memory.marks.pop(self.mark_key(call), None)
        await self.clock.sleep(GAP)
        if mark is not None:
            self.set_mark(self.mark_key(call), mark)
        return self.admitted(kind, call)


@breaks("ids per connection")
class IdsPerConnection(Reference):
    """A repeat is known only to the connection that asked first; here, to every other caller."""

    asked: Counter[str]

    def prepare(self) -> None:
        super().prepare()
        self.asked = Counter()

    def repeated(self, kind: Kind, call: Mutation, record: MachineRecord) -> str | None:
        operation = super().repeated(kind, call, record)
        if operation is None:
            return None
        self.asked[operation] += 1
        return f"{operation}-{self.asked[operation] % 2}"


@breaks("id shared by machines")
class IdSharedByMachines(Reference):
    def mint(self, kind: Kind, call: Mutation) -> str:
        self.memory.counter += 1
        return f"op-{kind}-{self.memory.counter // 4}"


@breaks("ack shows pre-state")
class AckShowsPreState(Reference):
    def ack(self, operation: str, record: MachineRecord) -> bytes:
        if record.state is S.CONFIGURING:
            return super().ack(operation, replace(record, state=S.IDLE))
        return super().ack(operation, record)
