"""A substrate that outlives the provider's process: one small file per host."""

import random
from pathlib import Path

from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider import (
    BOUND,
    GONE,
    Backend,
    Config,
    Created,
    Host,
    HostStatus,
    Inventory,
    OpenContext,
    Operation,
)
from bigfleet.provider.testing import slots


class FolderConfig(Config):
    folder: Path
    #: Longest time of one call.
    longest: float = 0.02


class FolderSubstrate(Backend):
    """`<machine>` holds the cluster the host serves; no file: no host."""

    config = FolderConfig
    fake = True
    configure_implies_ready = True

    async def open(self, ctx: OpenContext) -> None:
        self.clock = ctx.clock
        self.chance = random.Random(ctx.seed_count)
        self.machines = slots(ctx.seed_count)

    def _file(self, machine_id: str) -> Path:
        folder: Path = self.cfg.folder
        return folder / machine_id

    async def _take_time(self) -> None:
        await self.clock.sleep(self.chance.uniform(0.0, self.cfg.longest))

    async def describe(self) -> Inventory:
        return Inventory(self.machines, complete=False)

    async def create(self, op: Operation) -> Created:
        await self._take_time()
        self._file(op.machine.id).touch()
        return Created(Host(f"h-{op.operation_id}"))

    async def configure(self, op: Operation) -> None:
        await self._take_time()
        self._file(op.machine.id).write_text(op.cluster_id)

    async def drain(self, op: Operation) -> None:
        await self._take_time()
        self._file(op.machine.id).write_text("")

    async def delete(self, op: Operation) -> None:
        await self._take_time()
        self._file(op.machine.id).unlink(missing_ok=True)

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        file = self._file(machine.id)
        if not file.exists():
            return GONE
        return BOUND if file.read_text() else HostStatus.running(Host(f"found-{machine.id}"))
