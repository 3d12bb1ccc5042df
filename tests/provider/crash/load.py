"""A mixed load that remembers what it was promised, and checks the promises afterwards."""

import asyncio
import random
from dataclasses import dataclass, field

from bigfleet.model.machines import MachineState as S
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
    Token,
)
from bigfleet.provider.kinds import Kind
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from bigfleet.wire.provider_client import ProviderClient
from tests.provider.bench import rejection

SETTLE_SECONDS = 60
#: What may be found where a kind was the last one promised.
AFTER = {kind: {kind.passing, kind.target, S.FAILED} for kind in Kind}
LOST = (Code.UNAVAILABLE, Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNKNOWN)


@dataclass(slots=True)
class Promise:
    """The last acknowledged mutation of a machine."""

    kind: Kind
    operation_id: str
    token: Token
    cluster: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Load:
    chance: random.Random
    shard: str = "a"
    sequence: int = 0
    promises: dict[str, Promise] = field(default_factory=dict)
    #: Machines with a call whose end nobody knows.
    unknown: set[str] = field(default_factory=set)
    #: Operation id -> (machine, kind): one id never means two things.
    ids: dict[str, tuple[str, Kind]] = field(default_factory=dict)
    acks: int = 0

    async def run(self, client: ProviderClient, machine_id: str) -> None:
        """One machine round and round, until the line is dead."""
        while True:
            try:
                record = await client.get(machine_id)
                if (kind := self._next(record.state)) is not None:
                    await self._mutate(client, machine_id, kind)
                elif record.state is S.FAILED:
                    return
            except Rejected as rejected:
                if rejected.code in LOST:
                    return
                raise

    def _next(self, state: S) -> Kind | None:
        """The next step of the round; None while one is under way."""
        if state is S.IDLE:
            return Kind.DELETE if self.chance.random() < 0.3 else Kind.CONFIGURE
        return {S.SPECULATIVE: Kind.CREATE, S.CONFIGURED: Kind.DRAIN}.get(state)

    async def _mutate(self, client: ProviderClient, machine_id: str, kind: Kind) -> None:
        self.sequence += 1
        promise = Promise(kind, "", Token(self.shard, 1, self.sequence))
        if kind is Kind.CONFIGURE:
            promise.cluster = f"c-{self.chance.randrange(5)}"
            promise.metadata = {f"k\0{n}": self.chance.randbytes(9).hex() for n in range(3)}
        self.unknown.add(machine_id)
        ack = await _sent(client, machine_id, promise)
        self.unknown.discard(machine_id)
        promise.operation_id = ack.operation_id
        known = self.ids.setdefault(ack.operation_id, (machine_id, kind))
        assert known == (machine_id, kind), f"{ack.operation_id} was {known} before"
        self.promises[machine_id] = promise
        self.acks += 1

    async def check(self, client: ProviderClient, admin: ProviderAdminClient) -> None:
        """Every promise is kept, nothing stays on its way; what failed is a slot again."""
        for machine_id, promise in sorted(self.promises.items()):
            first = await client.get(machine_id)
            if machine_id not in self.unknown:
                self._check_promise(first, promise)
                await self._check_mark(client, machine_id, promise)
            if await self._settled(client, admin, machine_id) is S.FAILED:
                why = {"owner": "test", "reason": "the load goes on"}
                await admin.do(Verb.FORGET, {"machine_id": machine_id, **why})
                del self.promises[machine_id]
        self.unknown.clear()

    async def _settled(
        self, client: ProviderClient, admin: ProviderAdminClient, machine_id: str
    ) -> S:
        record = await client.get(machine_id)
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while not (record.state.stable or record.state is S.FAILED):
                    record = await client.get(machine_id)
        except TimeoutError:
            story = (await admin.do(Verb.OPS, {"machine_id": machine_id})).answer
            raise AssertionError(f"{record} does not settle: {story}") from None
        assert bool(record.last_error) == (record.state is S.FAILED)
        return record.state

    def _check_promise(self, record: MachineRecord, promise: Promise) -> None:
        assert record.state in AFTER[promise.kind], (record, promise)
        if promise.kind is Kind.CONFIGURE:
            assert record.cluster == promise.cluster
            assert record.shard_metadata == promise.metadata

    async def _check_mark(self, client: ProviderClient, machine_id: str, promise: Promise) -> None:
        stale = await rejection(_sent(client, machine_id, promise))
        assert stale.code is Code.FAILED_PRECONDITION, stale


async def _sent(client: ProviderClient, machine_id: str, promise: Promise) -> Ack:
    call = _call(machine_id, promise)
    match call:
        case CreateCall():
            return await client.create(call)
        case ConfigureCall():
            return await client.configure(call)
        case DrainCall():
            return await client.drain(call)
        case DeleteCall():
            return await client.delete(call)


def _call(machine_id: str, promise: Promise) -> Mutation:
    match promise.kind:
        case Kind.CREATE:
            return CreateCall(machine_id, promise.token)
        case Kind.CONFIGURE:
            return ConfigureCall(
                machine_id, promise.cluster, b"join", promise.token, promise.metadata
            )
        case Kind.DRAIN:
            return DrainCall(machine_id, 1, promise.token)
        case Kind.DELETE:
            return DeleteCall(machine_id, promise.token)
