"""Hosts that people racked, as a BigFleet provider: an inventory file and hook commands.

A host that is up is Idle, one that can be powered on is a slot, and there is no Delete: machines
are bought by people. What a hook does to a host is the operator's business; this file only decides
which hook runs when, and what its outcome means.
"""

import asyncio
from pathlib import Path

from bigfleet.provider import (
    BOUND,
    GONE,
    UNKNOWN,
    Backend,
    Binding,
    CapacityType,
    Config,
    Created,
    Host,
    HostGone,
    HostStatus,
    Instance,
    Inventory,
    MachineRecord,
    MachineState,
    OpenContext,
    Operation,
    Permanent,
    Retryable,
)
from bigfleet_bare_metal.commands import Commands
from bigfleet_bare_metal.fakes import fake_racks
from bigfleet_bare_metal.racks import BadInventory, Hook, RackedHost, Racks, racks_in
from bigfleet_bare_metal.standings import UP, Standing, standing_of, standings_of

RACK = "topology.bigfleet/rack"


class BareMetalConfig(Config):
    #: The inventory file.
    inventory: str = ""
    #: Only with --use-fake-backend: the folder the fake hosts live in; it survives a restart.
    world: str = ""


class BareMetal(Backend):
    config = BareMetalConfig
    cfg: BareMetalConfig

    def __init__(self) -> None:
        self._path: Path | None = None
        self._changed_at = 0
        self._racks: Racks

    async def open(self, ctx: OpenContext) -> None:
        self._clock = ctx.clock
        if ctx.use_fake_backend:
            self._racks = fake_racks(ctx.seed_count, self.cfg.world)
        elif self.cfg.inventory:
            self._path = Path(self.cfg.inventory)
            self._reread()
        else:
            raise BadInventory("say which hosts there are: --set inventory=FILE")

    def _reread(self) -> None:
        """Reads the file again if it changed; a file that cannot be used leaves the old racks."""
        if self._path is None:
            return
        changed_at = self._path.stat().st_mtime_ns
        if changed_at != self._changed_at:
            self._racks = racks_in(self._path)
            self._changed_at = changed_at

    # What there is

    async def describe(self) -> Inventory:
        await asyncio.to_thread(self._reread)
        racks = self._racks
        standings = await self._standings(racks)
        instances = []
        for host in racks.hosts:
            standing = standings.get(host.name)
            if standing is not None and (standing.power == "up" or racks.hooks.create):
                instances.append(_instance(racks, host, standing))
        known = all(host.name in standings for host in racks.hosts)
        return Inventory(instances, complete=known)

    async def _standings(self, racks: Racks) -> dict[str, Standing]:
        survey = racks.hooks.survey
        if survey is None:
            return {host.name: UP for host in racks.hosts}
        return standings_of(await Commands(racks.hooks).here(survey, {}))

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        """Asks about one host; without a hook to ask, only a failed machine is judged."""
        racks = self._racks
        host = self._host(machine.id)
        if host is None:
            return GONE
        if racks.hooks.inspect is not None:
            printed = await self._run(racks.hooks.inspect, machine)
            return _status(host, standing_of(printed.split()))
        if racks.hooks.survey is not None:
            standing = (await self._standings(racks)).get(host.name)
            return UNKNOWN if standing is None else _status(host, standing)
        if machine.state is not MachineState.FAILED:
            return UNKNOWN
        return BOUND if machine.cluster else HostStatus.running(_host_of(host))

    # What is done

    async def create(self, op: Operation) -> Created:
        hook = self._racks.hooks.create
        host = self._host(op.machine.id)
        if hook is None or host is None:
            raise Permanent("no hook creates this host: it is racked, or it is not there")
        await self._run(hook, op.machine, _told(op))
        return Created(_host_of(host))

    async def configure(self, op: Operation) -> None:
        told = {**_told(op), "BIGFLEET_CLUSTER": op.cluster_id}
        await self._run(self._racks.hooks.configure, op.machine, told, op.bootstrap_blob)

    async def confirm_ready(self, op: Operation) -> None:
        hook = self._racks.hooks.ready
        if hook is None:
            return
        told = {**_told(op), "BIGFLEET_CLUSTER": op.cluster_id}
        while True:
            try:
                await self._run(hook, op.machine, told)
                return
            except Retryable as not_yet:
                op.note(f"not Ready yet: {not_yet}")
            await self._clock.sleep(self._racks.hooks.ready_poll_seconds)

    async def drain(self, op: Operation) -> None:
        told = {
            **_told(op),
            "BIGFLEET_CLUSTER": op.machine.cluster,
            "BIGFLEET_GRACE_SECONDS": str(op.grace_period_seconds),
        }
        await self._run(self._racks.hooks.drain, op.machine, told)

    async def reset(self, machine: MachineRecord) -> None:
        if self._racks.hooks.reset is not None:
            await self._run(self._racks.hooks.reset, machine)

    # How it is done

    def _host(self, name: str) -> RackedHost | None:
        return next((host for host in self._racks.hosts if host.name == name), None)

    async def _run(
        self,
        hook: Hook,
        machine: MachineRecord,
        told: dict[str, str] | None = None,
        blob: bytes = b"",
    ) -> str:
        host = self._host(machine.id)
        if host is None:
            raise HostGone(f"{machine.id} is no longer in the inventory file")
        address = host.address or host.name
        told = {
            "BIGFLEET_MACHINE": machine.id,
            "BIGFLEET_HOST": address,
            "BIGFLEET_NODE": host.node_name or host.name,
            **(told or {}),
        }
        return await Commands(self._racks.hooks).on_host(hook, address, told, blob)


def _told(op: Operation) -> dict[str, str]:
    return {
        "BIGFLEET_OPERATION": op.operation_id,
        "BIGFLEET_ATTEMPT": str(op.attempt),
        "BIGFLEET_SHARD": op.shard_id,
    }


def _host_of(host: RackedHost) -> Host:
    return Host(host.ref or host.name, node_name=host.node_name or host.name)


def _status(host: RackedHost, standing: Standing) -> HostStatus:
    if standing.power == "down":
        return GONE
    return BOUND if standing.cluster else HostStatus.running(_host_of(host))


def _instance(racks: Racks, host: RackedHost, standing: Standing) -> Instance:
    shape = racks.types[host.type]
    rack = {RACK: host.rack} if host.rack else {}
    return Instance(
        id=host.name,
        instance_type=host.type,
        zone=racks.zone_of(host),
        capacity_type=CapacityType.BARE_METAL,
        host=_host_of(host) if standing.power == "up" else None,
        price_per_hour=shape.price_per_hour,
        resources=shape.resources,
        allocatable=shape.allocatable,
        labels={**rack, **host.labels},
        region=racks.region,
        bound=Binding(standing.cluster) if standing.cluster else None,
    )
