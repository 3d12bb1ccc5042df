"""A provider that answers from a script, and the line to it, over real gRPC on loopback."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import Code, ListCall, MachineRecord, Mutation, Peer
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.machines import ack_bytes, list_bytes, list_entry, machine_bytes
from bigfleet.wire.provider_client import ProviderClient, Record
from bigfleet.wire.provider_server import ExtraService, ProviderEndpoint

IDLE = MachineRecord(
    id="m-1",
    state=MachineState.IDLE,
    host=Host("sim", "h-1"),
    instance_type="a3",
    zone="z-a",
    capacity_type=CapacityType.SPOT,
    price_per_hour=0.5,
    interruption_probability=0.25,
    resources={"cpu": "8", "memory": "32Gi"},
    labels={"topology.bigfleet/rack": "r1"},
    allocatable={"cpu": "7500m"},
)
BOUND = MachineRecord(
    id="m-2",
    state=MachineState.CONFIGURED,
    host=Host("sim", "h-2"),
    cluster="c1",
    shard_metadata={"": "", "gang\x00id": "\x00", "ключ": "значение"},
)


@dataclass
class ScriptedProvider:
    """Says what the script says and remembers what it was asked."""

    operation_id: str = "op-7"
    machine: MachineRecord = IDLE
    machines: Sequence[MachineRecord] = (IDLE, BOUND)
    raises: Exception | None = None
    #: Mutations wait here, where it is set.
    gate: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[Mutation | ListCall | str] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    finished: list[Mutation] = field(default_factory=list)

    async def _mutate(self, call: Mutation, peer: Peer) -> bytes:
        self._asked(call, peer)
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        self.finished.append(call)
        return ack_bytes(self.operation_id, machine_bytes(self.machine))

    create = configure = drain = delete = _mutate

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        self._asked(machine_id, peer)
        return machine_bytes(self.machine)

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        self._asked(call, peer)
        return list_bytes([list_entry(machine_bytes(m)) for m in self.machines], b"r-9")

    def _asked(self, call: Mutation | ListCall | str, peer: Peer) -> None:
        self.calls.append(call)
        self.peers.append(peer)
        if self.raises is not None:
            raise self.raises


@dataclass
class Line:
    provider: ScriptedProvider
    endpoint: ProviderEndpoint
    client: ProviderClient
    #: (method, code) of every call the endpoint finished.
    observed: list[tuple[str, Code]]
    #: (method, exception) of every fault of a handler.
    faults: list[tuple[str, Exception]]


@asynccontextmanager
async def line_to(
    provider: ScriptedProvider,
    *,
    server_tls: TlsFiles | None = None,
    client_tls: TlsFiles | None = None,
    reflection: bool = False,
    extra_services: Sequence[ExtraService] = (),
    record: Record | None = None,
) -> AsyncIterator[Line]:
    observed: list[tuple[str, Code]] = []
    faults: list[tuple[str, Exception]] = []
    endpoint = ProviderEndpoint(
        provider,
        tls=server_tls,
        reflection=reflection,
        extra_services=extra_services,
        observe=lambda method, code, _seconds: observed.append((method, code)),
        failed=lambda method, problem: faults.append((method, problem)),
    )
    port = await endpoint.start()
    await endpoint.set_serving(True)
    try:
        async with ProviderClient(f"localhost:{port}", client_tls, record=record) as client:
            yield Line(provider, endpoint, client, observed, faults)
    finally:
        await endpoint.stop()
