"""A sim behind a real server on loopback gRPC, with time that moves by hand."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bigfleet.edge.clock import settle
from bigfleet.edge.logs import Log
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import (
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Token,
)
from bigfleet.provider import ManualClock, MemoryStore, ProviderServer
from bigfleet.provider.options import ProviderOptions, Timing
from bigfleet.provider.sim import SimBackend, SimConfig
from bigfleet.provider.sim.clocks import STEPPED_START
from bigfleet.provider.stores.store import Store
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.sim_control import SimControlClient

OPTIONS = ProviderOptions(
    provider="sim",
    address="127.0.0.1:0",
    metrics_address="127.0.0.1:0",
    timing=Timing(reconcile=30.0),
)


@dataclass(slots=True)
class Rig:
    server: ProviderServer
    backend: SimBackend
    clock: ManualClock
    client: ProviderClient
    control: SimControlClient
    calls: int = 0

    async def create(self, machine: str) -> str:
        return (await self.client.create(CreateCall(machine, self._token()))).operation_id

    async def configure(self, machine: str, cluster: str = "shop") -> str:
        call = ConfigureCall(machine, cluster, b"join", self._token(), {"k": cluster})
        return (await self.client.configure(call)).operation_id

    async def drain(self, machine: str, grace: int = 30) -> str:
        call = DrainCall(machine, grace, self._token())
        return (await self.client.drain(call)).operation_id

    async def delete(self, machine: str) -> str:
        return (await self.client.delete(DeleteCall(machine, self._token()))).operation_id

    def _token(self) -> Token:
        """Fresh for each call, also after a restart: time never runs backwards."""
        self.calls += 1
        return Token("shard-0", 1, self.clock.now() + self.calls)

    async def wait(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def do(self, verb: str, *words: str) -> dict[str, object]:
        answer = await self.control.do(verb, words)
        await settle()
        return answer

    async def get(self, machine: str) -> MachineRecord:
        return await self.client.get(machine)

    async def state(self, machine: str) -> MachineState:
        return (await self.get(machine)).state

    async def machines(self) -> tuple[MachineRecord, ...]:
        return (await self.client.list(ListCall()))[0]

    async def events(self) -> list[dict[str, object]]:
        return [event async for event in self.control.events()]


@asynccontextmanager
async def running(
    config: SimConfig | None = None,
    store: Store | None = None,
    options: ProviderOptions = OPTIONS,
    clock: ManualClock | None = None,
    offerings: Path | None = None,
    log: Log | None = None,
    caller: TlsFiles | None = None,
) -> AsyncIterator[Rig]:
    clock = clock or ManualClock(STEPPED_START)
    backend = SimBackend(config or SimConfig())
    server = ProviderServer(
        backend,
        store or MemoryStore("mem"),
        options,
        clock=clock,
        chance=random.Random(1),
        log=log,
        offerings=offerings,
    )
    address = f"127.0.0.1:{await server.start()}"
    try:
        async with (
            ProviderClient(address, caller) as client,
            SimControlClient(address, caller) as control,
        ):
            yield Rig(server, backend, clock, client, control)
    finally:
        await server.stop(0.0)
