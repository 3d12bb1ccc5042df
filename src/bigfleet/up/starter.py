"""Starts the parts of a fleet, each on the port that was wanted or the next free one."""

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from bigfleet.coordinator.driving.process import CoordinatorProcess
from bigfleet.model.errors import StartRefused
from bigfleet.process import ProcessContext
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.server import ProviderServer
from bigfleet.provider.sim.backend import SimBackend
from bigfleet.provider.sim.clocks import clock_of
from bigfleet.provider.stores.memory import MemoryStore
from bigfleet.provider.stores.sqlite import SQLiteStore
from bigfleet.shard.driving.process import ShardProcess
from bigfleet.up.folders import keep_provider_port, kept_provider_port
from bigfleet.up.plans import PROVIDER, FleetPlan
from bigfleet.up.ports import free_from, is_free, started_on


@dataclass(frozen=True, slots=True)
class Starter:
    plan: FleetPlan
    #: With the real clock.
    context: ProcessContext
    #: The same with simulated time.
    simulated: ProcessContext
    folder: Path

    async def provider(self) -> ProviderServer:
        """A fleet that goes on with several shards has it where it was; raises StartRefused."""
        plan, keeps = self.plan, self.plan.data_dir is not None and self.plan.shards > 1
        kept = kept_provider_port(self.folder) if keeps else 0
        if kept and not is_free(kept):
            raise StartRefused(
                f"the provider of the fleet in {self.folder} was on port {kept}, by which its "
                "shards know who owns which machine, and that port is in use; stop what uses it, "
                "or name another --data-dir"
            )
        server = await started_on(
            lambda: self._provider(kept or self._port("the provider", plan.provider_port))
        )
        if keeps:
            keep_provider_port(self.folder, server.port)
        return server

    async def coordinator(self, before: CoordinatorProcess | None = None) -> CoordinatorProcess:
        """`before`: one that has stopped, whose place the new one takes."""
        if before is None:
            return await started_on(self._coordinator)
        process = CoordinatorProcess(before.settings, self.simulated)
        await process.start()
        return process

    async def shard(self, number: int, provider: str, coordinator: str) -> ShardProcess:
        """`provider`, `coordinator`: their addresses."""
        return await started_on(lambda: self._shard(number, provider, coordinator))

    async def shard_again(self, before: ShardProcess) -> ShardProcess:
        """In the place of one that has stopped: its addresses, its data."""
        process = ShardProcess(before.state.settings, self.simulated)
        await process.start()
        return process

    # -- within ----------------------------------------------------------------------------------

    def _address(self, who: str, port: int) -> str:
        return f"127.0.0.1:{self._port(who, port)}"

    def _port(self, who: str, port: int) -> int:
        """The wanted one, or the next free one where that will do; raises StartRefused."""
        if not self.plan.exact_ports:
            return free_from(port)
        if is_free(port):
            return port
        raise StartRefused(
            f"port {port}, which --port-base gives to {who}, is in use; stop what uses it, or name "
            "another --port-base"
        )

    async def _provider(self, port: int) -> ProviderServer:
        context, plan, new_id = self.context, self.plan, self.context.new_id()
        lasting = plan.data_dir is not None
        config = plan.sim_config()
        server = ProviderServer(
            SimBackend(config, plan.file.preset if plan.file is not None else None),
            SQLiteStore(self.folder / "provider.db", new_id) if lasting else MemoryStore(new_id),
            ProviderOptions(provider=PROVIDER, address=f"127.0.0.1:{port}"),
            chance=Random(f"{plan.seed}/provider"),
            log=context.log,
            # Its own, since its speed can be changed, by the one real clock of all parts.
            clock=clock_of(config.clock, context.clock),
        )
        await server.start()
        return server

    async def _coordinator(self) -> CoordinatorProcess:
        plan = self.plan
        settings = replace(
            plan.coordinator_settings(self.folder / "coordinator"),
            listen=self._address("the coordinator", plan.coordinator_port),
            metrics_addr=self._address(
                "the metrics of the coordinator", plan.coordinator_metrics_port
            ),
        )
        process = CoordinatorProcess(settings, self.simulated)
        await process.start()
        return process

    async def _shard(self, number: int, provider: str, coordinator: str) -> ShardProcess:
        plan = self.plan
        name = plan.shard_names[number]
        settings = plan.shard_settings(name, self.folder / name, provider)
        settings = replace(
            settings,
            listen=self._address(name, _nth(plan.shard_port, number)),
            metrics_addr=self._address(f"the metrics of {name}", _nth(plan.metrics_port, number)),
            coordinator_addr=(coordinator,),
        )
        process = ShardProcess(plan.hurried(settings), self.simulated)
        await process.start()
        return process


def _nth(port: int, number: int) -> int:
    return port + number if port else 0
