"""One row at work: its calls to the provider, the machines it leased, its own random numbers."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bigfleet.conformance.broker import Allocation, Broker
from bigfleet.conformance.caller import Caller
from bigfleet.conformance.claims import NotServed
from bigfleet.conformance.launchers import Boot, KeptProvider, Launcher, RunningProvider
from bigfleet.conformance.rows import Capabilities, Row
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import MachineRecord

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles
    from bigfleet.wire.provider_client import ProviderClient

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line fixed for every row."""

    seed: int = 1
    seed_count: int = 256
    scale_seed: int = 8000
    soak: float = 10.0
    original: bool = False
    shared: bool = False
    #: Only these steps of a generated row.
    steps: tuple[int, ...] | None = None
    bare_metal: bool = False
    #: Seconds after which the provider lets a FAILED machine out; None: as long as a timeout.
    failed_hold: float | None = None
    vanish_window: float = 30.0
    #: How much of the heavy rows is done: 1 is the specification's amount.
    effort: float = 1.0
    scratch: Path = field(default_factory=lambda: Path("."))


@dataclass(frozen=True, slots=True)
class RowContext:
    """What a row is given of a running provider; nothing for a row that boots its own."""

    capabilities: Capabilities
    broker: Broker | None = None
    allocation: Allocation | None = None
    running: RunningProvider | None = None
    kept_provider: KeptProvider = field(default_factory=KeptProvider)


class Trial(Caller):
    def __init__(
        self, row: Row, caller: Caller, settings: Settings, launcher: Launcher, context: RowContext
    ) -> None:
        super().__init__(caller._client, caller.clock, caller.pace, caller.shards, caller.log)
        self.row, self.settings, self.launcher = row, settings, launcher
        self.can, self.running = context.capabilities, context.running
        self._broker, self._allocation, self._kept_provider = (
            context.broker,
            context.allocation,
            context.kept_provider,
        )
        self._opened: list[ProviderClient] = []
        self._booted: list[RunningProvider] = []
        #: How many steps the generator made; 0 for rows without one.
        self.total_steps = 0
        #: Facts for the report beside the outcome.
        self.notes: dict[str, object] = {}

    @property
    def chance(self) -> random.Random:
        """A generator of this row's own: other rows do not change its draws."""
        return random.Random(f"{self.settings.seed}/{self.row.id}")

    def chosen(self, steps: Sequence[T]) -> list[T]:
        """The steps to take: all of them, or those a replay names."""
        self.total_steps = len(steps)
        if self.settings.steps is None:
            return list(steps)
        return [steps[number] for number in self.settings.steps if number < len(steps)]

    def unknown_id(self) -> str:
        return f"no-such-machine-{self.shards.fresh()}"

    def lease_speculative(self) -> str:
        return self._leases().take_speculative()

    @property
    def has_slot(self) -> bool:
        """Whether a Speculative machine is left for this row."""
        return self._leases().has_slot

    def was_slot(self, machine_id: str) -> bool:
        """Whether the machine came into being by Create, so that a Create is a repeat there."""
        return self._broker is not None and not self._broker.born_idle(machine_id)

    def lease_fault_slot(self) -> str:
        if self._broker is None:
            raise NotServed("no provider is running for this row")
        return self._broker.next_fault_slot()

    def lease_fresh(self) -> tuple[str, bool]:
        """A machine nothing was done to yet, and whether it is a slot or a host of a free pool."""
        leases = self._leases()
        if leases.has_slot:
            return leases.take_speculative(), True
        host = leases.take_idle()
        if host is None:
            raise NotServed("no machine is left for this row")
        return host, False

    async def lease_idle(self) -> str:
        """An Idle machine: one that was, or a slot that is created first."""
        leases = self._leases()
        if (ready := leases.take_idle()) is not None:
            return ready
        machine_id = leases.take_speculative()
        (await self.create(machine_id)).must_be_ok()
        await self.settles(machine_id, S.IDLE)
        return machine_id

    async def lease_idles(self, count: int) -> list[str]:
        return list(await asyncio.gather(*(self.lease_idle() for _ in range(count))))

    async def lease_configured(self, cluster: str, metadata: dict[str, str] | None = None) -> str:
        machine_id = await self.lease_idle()
        await self.bind(machine_id, cluster, metadata)
        return machine_id

    async def bind(
        self, machine_id: str, cluster: str, metadata: dict[str, str] | None = None
    ) -> MachineRecord:
        (await self.configure(machine_id, cluster, metadata)).must_be_ok()
        return await self.settles(machine_id, S.CONFIGURED)

    async def release(self, machine_id: str, grace: int = 0) -> MachineRecord:
        (await self.drain(machine_id, grace)).must_be_ok()
        return await self.settles(machine_id, S.IDLE)

    def second_connection(self) -> Caller:
        if self.running is None:
            raise NotServed("no provider is running for this row")
        return self.on(self._keep(self.launcher.connect(self.running)))

    async def act(self, name: str, record: MachineRecord) -> None:
        """Do something to the machine that the provider is not told."""
        if self.running is None:
            raise NotServed("no provider is running for this row")
        await self.launcher.hook(self.running, name, record)

    def connected(self, running: RunningProvider, tls: "TlsFiles | None") -> Caller:
        return self.on(self._keep(self.launcher.connect(running, tls)))

    async def boot(self, boot: Boot) -> tuple[RunningProvider, Caller]:
        """A provider of the row's own; killed at the end of the row."""
        if why := self.launcher.why_no_boot():
            raise NotServed(why)
        running = await self.launcher.boot(boot)
        self._booted.append(running)
        return running, self.on(self._keep(self.launcher.connect(running)))

    def hand_down(self, left: object) -> None:
        """Leave what this row booted, and what it knows about it, to the rows after it."""
        self._kept_provider.adopt(left, self._opened, self._booted)
        self._opened, self._booted = [], []

    @property
    def inherited(self) -> object | None:
        return self._kept_provider.left

    async def close(self) -> None:
        for client in self._opened:
            await client.close()
        for running in self._booted:
            await running.kill()

    def _keep(self, client: "ProviderClient") -> "ProviderClient":
        self._opened.append(client)
        return client

    def _leases(self) -> Allocation:
        if self._allocation is None:
            raise NotServed("this row leases machines, but asked for none")
        return self._allocation
