"""A real shard and a real sim provider on loopback, operators that answer, and the command line."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.edge.driver import RealClock
from bigfleet.edge.logs import NullLog
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import (
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    RollupFrame,
)
from bigfleet.model.settings import Seconds
from bigfleet.process import ProcessContext
from bigfleet.provider import MemoryStore, ProviderServer
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.sim import SimBackend, SimConfig
from bigfleet.shard.driving.process import ShardProcess
from bigfleet.shard.settings import ReconcileSettings, ShardSettings
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.rollups import rollup_bytes
from bigfleet.wire.session_client import Session, SessionClient
from bigfleet.wire.sim_control import SimControlClient
from tests.shard_system.waiting import until

#: Twelve machines of our own and two slots to be bought.
OFFERINGS = [
    {"instance_type": "std-8", "capacity_type": "bare_metal", "zone": "a", "count": 12},
    {"instance_type": "std-2", "capacity_type": "on_demand", "zone": "b", "count": 2},
]
FIRST = "sim--bare-metal--std-8--a--000"
BOUGHT = "sim--on-demand--std-2--b--000"
AT_ONCE = SimConfig(speed=10_000)
SETTINGS = ShardSettings(
    listen="127.0.0.1:0",
    metrics_addr="0",
    cycle_interval=Seconds(0.05),
    cycle_min_gap=Seconds(0.02),
    workers=1,
    reconcile=ReconcileSettings(interval=Seconds(0.05)),
)
WHY = ("--reason", "a test", "--owner", "ada")


@dataclass(slots=True)
class LiveShard:
    process: ShardProcess
    folder: Path
    control: SimControlClient | None = None
    asked_with: Sequence[str] = ()
    arrivals: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.process.port}"

    async def run(self, *words: str) -> Result:
        """The command line, in a thread: it has a loop of its own."""
        return await run(*words, "--shard", self.address, *self.asked_with)

    async def shown(self, *words: str) -> str:
        result = await self.run(*words)
        assert result.exit_code == 0, result.output
        return result.stdout

    async def document(self, *words: str) -> Any:
        return json.loads(await self.shown(*words, "-o", "json"))

    async def do(self, verb: str, *words: str) -> None:
        """Something happens to the substrate."""
        assert self.control is not None
        await self.control.do(verb, words)

    async def until(self, holds: Callable[[], object]) -> None:
        await until(holds, self.process.state.status)

    async def until_bound(self, cluster: str, machines: int) -> None:
        """The machines serve the cluster, and a cycle has seen that none is arriving any more."""
        await self.until(lambda: len(self.bound_to(cluster)) == machines)
        await self.until(lambda: self._has_settled(cluster))

    def _has_settled(self, cluster: str) -> bool:
        counts = self.process.state.decision_loop.ledger.counts(cluster)
        return counts.total > 0 and counts.arriving == 0

    def bound_to(self, cluster: str) -> list[str]:
        held = self.process.state.parts.machines
        bound = [held.truth(name) for name in held.ids()]
        return sorted(
            machine.id
            for machine in bound
            if machine.cluster == cluster and machine.state is MachineState.CONFIGURED
        )

    @asynccontextmanager
    async def operator(self, cluster: str, *needs: Need) -> AsyncIterator[Session]:
        """Connected, its Needs told; answers what is asked but gives nothing back."""
        client = SessionClient(self.address)
        async with client.open(Hello(cluster, "v1alpha1")) as session:
            listening = asyncio.create_task(_listen(session))
            await self.tell(session, cluster, *needs)
            try:
                yield session
            finally:
                listening.cancel()

    async def tell(self, session: Session, cluster: str, *needs: Need) -> None:
        content = rollup_bytes(cluster, next(self.arrivals), needs)
        await session.send(RollupFrame(content))


async def _listen(session: Session) -> None:
    async for frame in session:
        if isinstance(frame, BootstrapRequest):
            await session.send(BootstrapResponse(frame.request_id, b"join"))


async def run(*words: str) -> Result:
    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": None})
    return await asyncio.to_thread(runner.invoke, cli, words)


@asynccontextmanager
async def living_shard(
    folder: Path, settings: ShardSettings = SETTINGS, *, sim: bool = True
) -> AsyncIterator[LiveShard]:
    """Ready: its provider has been listed, and a cycle has been decided."""
    async with AsyncExitStack() as stack:
        control = None
        if sim:
            address = await _running_sim(stack, folder)
            control = await stack.enter_async_context(SimControlClient(address))
            settings = replace(settings, provider_addr=(f"sim={address}",))
        shard = LiveShard(await running(stack, folder / "data", settings), folder, control)
        await shard.until(lambda: _is_ready(shard.process))
        yield shard


def _is_ready(process: ShardProcess) -> bool:
    state = process.state
    return not state.why_not_ready() and state.decision_loop.decision is not None


async def running(
    stack: AsyncExitStack, data: Path, settings: ShardSettings, tls: TlsFiles | None = None
) -> ShardProcess:
    ids = map(str, count(1))
    context = ProcessContext(
        RealClock(), NullLog(), new_id=lambda: next(ids), tls=tls, version="1.2.3"
    )
    process = ShardProcess(replace(settings, data_dir=str(data)), context)
    await process.start()
    stack.push_async_callback(process.stop, 0.0)
    return process


async def _running_sim(stack: AsyncExitStack, folder: Path) -> str:
    offerings = folder / "offerings.json"
    offerings.write_text(json.dumps(OFFERINGS))
    options = ProviderOptions(provider="sim", address="127.0.0.1:0", metrics_address="")
    server = ProviderServer(
        SimBackend(AT_ONCE),
        MemoryStore("mem"),
        options,
        clock=RealClock(),
        chance=random.Random(1),
        offerings=offerings,
    )
    port = await server.start()
    stack.push_async_callback(server.stop, 0.0)
    return f"127.0.0.1:{port}"


def need(cluster: str, machines: int, *, priority: int = 100, kind: str = "std-8") -> Need:
    """As much as so many machines of that type hold: one unit fills one."""
    only = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, [kind])
    unit = Resources.parse({"cpu": "7500m" if kind == "std-8" else "1"})
    return Need(cluster, Profile.of([only], priority=priority), unit.times(machines), unit)


_VARYING = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "INSTANT"),
    (r"cycle \d+", "cycle N"),
    (r"\b\d+ ms", "N ms"),
    (r"\b\d{1,3}[smhd]\b", "AGE"),
    (r"\b[0-9a-f]{10}\b", "PAUSE"),
)


def steady(text: str, *varying: tuple[str, str]) -> str:
    """What varies from run to run by its name, and columns one blank apart."""
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
    for pattern, name in (*_VARYING, *varying):
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text
