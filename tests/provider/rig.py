"""A provider over real gRPC on a fake substrate, with time that moves by hand."""

import random
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bigfleet.edge.logs import Log, NullLog
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import (
    Ack,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Rejected,
    Token,
)
from bigfleet.provider import Instance, ManualClock, MemoryStore, ProviderServer
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.stores.store import Store
from bigfleet.provider.testing import FakeSubstrate, settle, slots
from bigfleet.wire.provider_client import ProviderClient

UNFENCED = Token()
OPTIONS = ProviderOptions(provider="fake", address="127.0.0.1:0")


@dataclass(slots=True)
class Told:
    """A log that is looked back at: event -> the facts of its last line."""

    lines: dict[str, dict[str, Any]] = field(default_factory=dict)

    def info(self, event: str, **facts: Any) -> None:
        self.lines[event] = facts

    debug = warning = error = info


@dataclass(slots=True)
class Rig:
    server: ProviderServer
    client: ProviderClient
    substrate: FakeSubstrate
    clock: ManualClock

    async def create(self, machine_id: str, token: Token = UNFENCED) -> Ack:
        return await self.client.create(CreateCall(machine_id, token))

    async def configure(
        self,
        machine_id: str,
        cluster: str = "shop",
        token: Token = UNFENCED,
        metadata: dict[str, str] | None = None,
        blob: bytes = b"join",
    ) -> Ack:
        call = ConfigureCall(machine_id, cluster, blob, token, metadata or {})
        return await self.client.configure(call)

    async def drain(self, machine_id: str, grace: int = 0, token: Token = UNFENCED) -> Ack:
        return await self.client.drain(DrainCall(machine_id, grace, token))

    async def delete(self, machine_id: str, token: Token = UNFENCED) -> Ack:
        return await self.client.delete(DeleteCall(machine_id, token))

    async def get(self, machine_id: str) -> MachineRecord:
        await settle()
        return await self.client.get(machine_id)

    async def state(self, machine_id: str) -> MachineState:
        return (await self.get(machine_id)).state

    async def ids(
        self, *states: MachineState, cap: int = 0, since: bytes = b""
    ) -> tuple[list[str], bytes]:
        records, revision = await self.client.list(ListCall(states, cap, since))
        return [record.id for record in records], revision

    async def to_idle(self, machine_id: str) -> None:
        await self.create(machine_id)
        assert await self.state(machine_id) is MachineState.IDLE

    async def to_configured(self, machine_id: str, cluster: str = "shop") -> None:
        await self.to_idle(machine_id)
        await self.configure(machine_id, cluster)
        assert await self.state(machine_id) is MachineState.CONFIGURED


@asynccontextmanager
async def running(
    instances: Sequence[Instance] | None = None,
    *,
    substrate: FakeSubstrate | None = None,
    store: Store | None = None,
    options: ProviderOptions = OPTIONS,
    clock: ManualClock | None = None,
    log: Log | None = None,
) -> AsyncIterator[Rig]:
    substrate = substrate or FakeSubstrate(slots(4) if instances is None else instances)
    clock = clock or ManualClock()
    server = ProviderServer(
        substrate,
        store or MemoryStore("mem"),
        options,
        clock=clock,
        chance=random.Random(7),
        log=log or NullLog(),
    )
    port = await server.start()
    client = ProviderClient(f"127.0.0.1:{port}")
    try:
        yield Rig(server, client, substrate, clock)
    finally:
        await client.close()
        await server.stop(0.0)


async def rejection(work: Awaitable[object]) -> Rejected:
    """What a call was rejected with."""
    try:
        result = await work
    except Rejected as rejected:
        return rejected
    raise AssertionError(f"accepted: {result}")
