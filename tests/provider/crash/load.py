"""A mixed load that remembers what it was promised, and checks the promises afterwards.

Every machine has a story: what was sent, acknowledged, lost with a kill, and found afterwards. A
promise that was not kept shows the story, and the provider's own journal beside it.
"""

import asyncio
import random
from collections import defaultdict
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
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from bigfleet.wire.provider_client import ProviderClient
from tests.provider.crash.promises import Promise, why_broken, why_not_whole
from tests.provider.rig import rejection

#: For an operation of some milliseconds, on a machine that does ten other things.
SETTLE_SECONDS = 60
#: How a call ends whose server was killed.
LOST = (Code.UNAVAILABLE, Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNKNOWN)


@dataclass(slots=True)
class Load:
    chance: random.Random
    shard: str = "a"
    sequence: int = 0
    #: The last acknowledged mutation of each machine.
    promises: dict[str, Promise] = field(default_factory=dict)
    #: Mutations whose answer was lost: done wholly or not at all; the caller does not know which.
    unanswered: dict[str, Promise] = field(default_factory=dict)
    #: Operation id -> (machine, kind): one id never means two things.
    ids: dict[str, tuple[str, Kind]] = field(default_factory=dict)
    acks: int = 0
    #: Machines found in the middle of an operation after a kill.
    interrupted: int = 0
    stories: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    async def run(self, client: ProviderClient, machine_id: str) -> None:
        """One machine round and round, until the line is dead."""
        while True:
            try:
                record = await client.get(machine_id)
                if (kind := self._next(record.state)) is not None:
                    await self._mutate(client, machine_id, kind)
                elif record.state is S.FAILED:
                    self.stories[machine_id].append(f"FAILED: {record.last_error}")
                    return
            except Rejected as rejected:
                if rejected.code in LOST:
                    return
                raise AssertionError(self._told(machine_id, str(rejected))) from rejected

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
        self.stories[machine_id].append(f"sent {kind} {self.sequence} {promise.cluster}")
        self.unanswered[machine_id] = promise
        ack = await sent(client, machine_id, promise)
        del self.unanswered[machine_id]
        promise.operation_id = ack.operation_id
        self.stories[machine_id].append(f"ack {ack.operation_id} {ack.machine.state.name}")
        known = self.ids.setdefault(ack.operation_id, (machine_id, kind))
        assert known == (machine_id, kind), self._told(machine_id, f"the id was {known} before")
        self.promises[machine_id] = promise
        self.acks += 1

    async def check(self, client: ProviderClient, admin: ProviderAdminClient) -> None:
        """Every promise is kept, nothing stays on its way; what failed is a slot again."""
        touched = sorted(self.promises.keys() | self.unanswered.keys())
        await asyncio.gather(*(self._check(client, admin, machine_id) for machine_id in touched))
        self.unanswered.clear()

    async def _check(
        self, client: ProviderClient, admin: ProviderAdminClient, machine_id: str
    ) -> None:
        story = self.stories[machine_id]
        found = await client.get(machine_id)
        story.append(f"found {found.state.name} {found.cluster} {found.last_error}")
        self.interrupted += not (found.state.stable or found.state is S.FAILED)
        promise, unanswered = self.promises.get(machine_id), self.unanswered.get(machine_id)
        why = why_broken(found, promise, unanswered) or why_not_whole(found)
        if promise is not None and unanswered is None and why is None:
            why = await self._why_not_fenced(client, machine_id, promise)
        settled = await self._settled(client, machine_id)
        story.append(f"settled {settled.state.name} {settled.cluster} {settled.last_error}")
        why = why or why_not_whole(settled) or why_broken(settled, promise, unanswered)
        if not (settled.state.stable or settled.state is S.FAILED):
            why = why or f"still {settled.state.name} after {SETTLE_SECONDS} s"
        if why is not None:
            journal = (await admin.do(Verb.OPS, {"machine_id": machine_id})).answer
            raise AssertionError(self._told(machine_id, f"{why}\n{settled}\n{journal}"))
        if unanswered is not None and settled.state is unanswered.kind.target:
            self.promises[machine_id] = unanswered  # it was done; only its answer was lost
        if settled.state is S.FAILED:
            asked = {"machine_id": machine_id, "owner": "test", "reason": "the load goes on"}
            await admin.do(Verb.FORGET, asked)
            self.promises.pop(machine_id, None)

    async def _settled(self, client: ProviderClient, machine_id: str) -> MachineRecord:
        """The record once its story has ended, or as it is when the patience has."""
        loop = asyncio.get_running_loop()
        end = loop.time() + SETTLE_SECONDS
        record = await client.get(machine_id)
        while not (record.state.stable or record.state is S.FAILED) and loop.time() < end:
            record = await client.get(machine_id)
        return record

    async def _why_not_fenced(
        self, client: ProviderClient, machine_id: str, promise: Promise
    ) -> str | None:
        stale = await rejection(sent(client, machine_id, promise))
        fenced = stale.code is Code.FAILED_PRECONDITION
        return None if fenced else f"the old token gave {stale.code}: {stale.text}"

    def _told(self, machine_id: str, why: str) -> str:
        return "\n  ".join([f"{machine_id}: {why}", *self.stories[machine_id][-40:]])


async def sent(client: ProviderClient, machine_id: str, promise: Promise) -> Ack:
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
