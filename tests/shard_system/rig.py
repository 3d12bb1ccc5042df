"""A shard on a rig: a real ShardProcess, a real sim provider, real gRPC between all of them.

Time is the machine's own; pauses between cycles and Lists are short and the sim takes no time, so
that a test is as long as what happens in it.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.driver import RealClock
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import ListCall, MachineRecord
from bigfleet.model.settings import Seconds
from bigfleet.process import ProcessContext
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.server import ProviderServer
from bigfleet.provider.sim.backend import SimBackend
from bigfleet.provider.sim.config import SimConfig
from bigfleet.provider.stores.memory import MemoryStore
from bigfleet.shard.driving.process import ShardProcess
from bigfleet.shard.settings import (
    JournalSettings,
    RailSettings,
    ReconcileSettings,
    ReleaseSettings,
    ShardSettings,
    ThrashSettings,
)
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.sim_control import SimControlClient

ANYWHERE = "127.0.0.1:0"
AT_ONCE = "create=0;configure=0;ready=0;drain=0;delete=0;describe=0"
AUDIT = "audit.jsonl"

#: Everything a shard is by default, but in a hurry.
QUICK = ShardSettings(
    listen=ANYWHERE,
    metrics_addr=ANYWHERE,
    cycle_interval=Seconds(0.2),
    cycle_min_gap=Seconds(0.02),
    shutdown_grace=Seconds(5.0),
    workers=1,
    reconcile=ReconcileSettings(interval=Seconds(0.1), breaker_probe=Seconds(0.3)),
    # Its operators say once what they want: the roll-up guard would wait for the second time.
    rails=RailSettings(reclaim_cap_fraction=0, empty_rollup_guard=False),
    # Their demand comes and goes within seconds, and machines with it.
    thrash=ThrashSettings(hold=Seconds(0.0)),
    journal=JournalSettings(audit_log=AUDIT),
)
PROMPT_RELEASE = ReleaseSettings(on_demand=Seconds(0.2), spot=Seconds(0.2))


def offered(capacity_type: str, machines: int, zone: str = "sim-1a") -> dict[str, Any]:
    """An offering of machines that hold one pod of `WHOLE_NODE` each."""
    return {
        "instance_type": "std-8",
        "capacity_type": capacity_type,
        "zone": zone,
        "count": machines,
        "sim": {"walk": False},
    }


# -- the provider ------------------------------------------------------------------------------


@dataclass(slots=True)
class ProviderRig:
    server: ProviderServer
    client: ProviderClient
    control: SimControlClient

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    async def do(self, verb: str, *words: str) -> dict[str, object]:
        return await self.control.do(verb, words)

    async def machines(self) -> dict[str, MachineRecord]:
        """As the provider itself knows them."""
        return {record.id: record for record in (await self.client.list(ListCall()))[0]}

    async def states(self) -> Counter[MachineState]:
        return Counter(record.state for record in (await self.machines()).values())

    async def bound_to(self, cluster: str) -> set[str]:
        return {name for name, m in (await self.machines()).items() if m.cluster == cluster}


@asynccontextmanager
async def provided(
    folder: Path,
    offers: Sequence[dict[str, Any]],
    *,
    tls: TlsFiles | None = None,
    caller: TlsFiles | None = None,
    latency: str = AT_ONCE,
) -> AsyncIterator[ProviderRig]:
    """A sim of these offers; `caller` is who asks and steers it."""
    file = folder / "offers.json"
    file.write_text(json.dumps(list(offers)))
    server = ProviderServer(
        SimBackend(SimConfig(latency=latency)),
        MemoryStore("rig"),
        ProviderOptions(provider="sim", address=ANYWHERE, tls=tls),
        chance=random.Random(1),
        offerings=file,
    )
    await server.start()
    address = f"127.0.0.1:{server.port}"
    try:
        async with (
            ProviderClient(address, caller) as client,
            SimControlClient(address, caller) as control,
        ):
            yield ProviderRig(server, client, control)
    finally:
        await server.stop(0.0)


# -- the shard ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Lines:
    """A log, kept."""

    said: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def events(self, name: str) -> list[dict[str, Any]]:
        return [facts for _, event, facts in self.said if event == name]

    def debug(self, event: str, **facts: Any) -> None:
        self.said.append(("debug", event, facts))

    def info(self, event: str, **facts: Any) -> None:
        self.said.append(("info", event, facts))

    def warning(self, event: str, **facts: Any) -> None:
        self.said.append(("warning", event, facts))

    def error(self, event: str, **facts: Any) -> None:
        self.said.append(("error", event, facts))


@dataclass(slots=True)
class ShardRig:
    process: ShardProcess
    log: Lines
    folder: Path

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.process.port}"

    def counted(self, name: str, **labels: str) -> float:
        return self.process.state.effects.counts.of(name, **labels)

    @property
    def cycles(self) -> float:
        return self.counted("cycles_total")

    async def page(self, path: str) -> tuple[int, str]:
        return await page(self.process.metrics_port, path)

    def audit(self) -> list[dict[str, Any]]:
        return audit_lines(self.folder)


@asynccontextmanager
async def sharded(
    folder: Path,
    providers: Sequence[str],
    settings: ShardSettings = QUICK,
    *,
    tls: TlsFiles | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[ShardRig]:
    """A shard of these providers' addresses, up and ready."""
    log, numbers = Lines(), count(1)
    own = replace(
        settings,
        data_dir=str(folder),
        provider_addr=tuple(f"p{n}={address}" for n, address in enumerate(providers)),
    )
    context = ProcessContext(
        clock or RealClock(), log, new_id=lambda: f"id-{next(numbers)}", tls=tls
    )
    process = ShardProcess(own, context)
    await process.start()
    try:
        yield ShardRig(process, log, folder)
    finally:
        await process.stop()


async def page(port: int, path: str) -> tuple[int, str]:
    """A GET: the status and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: shard\r\n\r\n".encode())
        answer = (await reader.read()).decode()
    finally:
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


def audit_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / AUDIT).read_text().splitlines()]
