"""Mutants of the fence: wrong key, wrong order, wrong place, wrong moment."""

from bigfleet.conformance.reference.mutants.registry import breaks
from bigfleet.conformance.reference.provider import EDGES, MARK, Kind, Reference
from bigfleet.model.provider_calls import Code, ListCall, Mutation, Peer, Rejected


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
    """A repeat of this kind is answered before anybody looks at its token."""

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
