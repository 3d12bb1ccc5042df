"""The sim as a Backend: every call becomes an event of the substrate, every end an instruction.

After a restart the server's records tell the substrate what was in the slots, before anything is
asked of them. The substrate has one server only, so it knows operations by their number: two runs
from two fresh stores write equal logs.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TextIO

import orjson

from bigfleet.edge.clock import SECOND, Clock, settle
from bigfleet.edge.driver import RealClock
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import ListCall, MachineRecord, Peer
from bigfleet.provider.backend import (
    BOUND,
    GONE,
    UNKNOWN,
    Backend,
    Binding,
    Created,
    Host,
    HostStatus,
    Instance,
    Inventory,
    OpenContext,
    Operation,
    Signal,
)
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.sim.clocks import clock_of
from bigfleet.provider.sim.config import SimConfig, read_lines, rules_of
from bigfleet.provider.sim.control import Control
from bigfleet.provider.sim.driver import Driver, error_of
from bigfleet.provider.sim.world.economy import new_substrate
from bigfleet.provider.sim.world.events import (
    AdmissionAsked,
    DescribeAsked,
    Refuse,
    ResetAsked,
    ShowInventory,
    Step,
)
from bigfleet.provider.sim.world.offerings import offerings_of
from bigfleet.provider.sim.world.presets import NoSuchPreset, Preset, preset_of
from bigfleet.provider.sim.world.state import EventLog
from bigfleet.provider.sim.world.supply import Slot, Supply
from bigfleet.wire.machines import list_of

#: Between two turns of the event loop: some milliseconds of work.
CHUNK = 5_000


class Instances:
    """Slots as the SDK describes them; what did not change is the same record as last time."""

    def __init__(self) -> None:
        #: Machine -> (version of its pool, host ref, notice given) and the record made of them.
        self._made: dict[str, tuple[tuple[int, str, bool], Instance]] = {}

    def chunks(self, supply: Supply, count: int) -> Iterator[list[Instance]]:
        """The first `count` slots in pieces; slots that left meanwhile are left out."""
        ids = list(supply.slots)[:count]
        for first in range(0, len(ids), CHUNK):
            slots = (supply.slots.get(machine) for machine in ids[first : first + CHUNK])
            yield [self._instance(slot) for slot in slots if slot is not None]

    def forget(self, supply: Supply) -> None:
        if len(self._made) > len(supply.slots):
            self._made = {k: made for k, made in self._made.items() if k in supply.slots}

    def _instance(self, slot: Slot) -> Instance:
        host = slot.host
        version = (
            slot.pool.version,
            host.ref if host else "",
            host.interrupted if host else False,
        )
        made = self._made.get(slot.id)
        if made is None or made[0] != version:
            made = self._made[slot.id] = (version, instance_of(slot))
        return made[1]


def instance_of(slot: Slot) -> Instance:
    pool, host = slot.pool, slot.host
    offering = pool.offering
    bound = None
    if host is not None and host.cluster and host.metadata is not None:
        bound = Binding(host.cluster, host.metadata)
    return Instance(
        id=slot.id,
        instance_type=offering.instance_type,
        zone=offering.zone,
        capacity_type=offering.capacity_type,
        host=Host(host.ref, node_name=host.ref) if host else None,
        price_per_hour=pool.price,
        interruption_probability=1.0 if host and host.interrupted else pool.probability,
        resources=offering.resources,
        allocatable=offering.allocatable,
        labels=slot.labels,
        region=offering.region,
        bound=bound,
    )


_PLACES = 4096
_OURSELVES = Peer("bigfleet://admin")


def fleet_of(config: SimConfig, seed_count: int, offerings: Path | None) -> Preset:
    """The preset, its offerings replaced by those of a file where one is given."""
    try:
        preset = preset_of(config.preset, seed_count)
        if offerings is None:
            return preset
        entries = orjson.loads(offerings.read_bytes())
    except NoSuchPreset as problem:
        raise BadInput([Problem("config.preset", str(problem))]) from problem
    except (OSError, ValueError) as problem:
        raise BadInput([Problem(str(offerings), str(problem))]) from problem
    found = offerings_of(entries, read_lines)
    return replace(preset, offerings=tuple(found))


class SimBackend(Backend):
    config = SimConfig
    fake = True

    cfg: SimConfig
    driver: Driver
    control: Control

    def __init__(self, config: SimConfig | None = None, fleet: Preset | None = None) -> None:
        """`fleet`: what there is instead of the preset that the settings name."""
        if config is not None:
            self.cfg = config
        self._fleet = fleet
        self._instances = Instances()
        self._file: TextIO | None = None
        #: Until the first describe the server's records are the truth about hosts.
        self._adopting = True

    def make_clock(self) -> Clock:
        return clock_of(self.cfg.clock, RealClock())

    def tuned(self, options: ProviderOptions) -> ProviderOptions:
        """As many operations at once as the substrate can carry: its latencies are not our queues.

        The conformance fleet is looked at often, so that a lost host is missed within seconds.
        """
        places = {kind: max(count, _PLACES) for kind, count in options.places.items()}
        tuned = replace(options, places=places)
        if self.cfg.preset != "conformance":
            return tuned
        timing = replace(tuned.timing, reconcile=min(tuned.timing.reconcile, 2.0))
        return replace(tuned, timing=timing, miss_seconds=min(tuned.miss_seconds, 5.0))

    async def open(self, ctx: OpenContext) -> None:
        self._store_name = f"-{ctx.incarnation}-"
        fleet = self._fleet or fleet_of(self.cfg, ctx.seed_count, ctx.offerings)
        rules = rules_of(self.cfg, fleet, ctx.provider, ctx.clock.now())
        substrate = new_substrate(rules, fleet.offerings)
        substrate.faults.selectors |= ctx.fault_selectors
        if self.cfg.events is not None:
            self._file = self.cfg.events.open("w", buffering=1)
        log = EventLog(sink=partial(print, file=self._file) if self._file else None)
        self.control = Control(
            substrate,
            ctx.clock,
            log,
            serves=self.cfg.control,
            fault_selectors=fleet.fault_selectors,
        )
        self.driver = self.control.driver
        if self.cfg.script is not None:
            self.control.load_script(self.cfg.script.read_text())

    def extension(self) -> Control:
        return self.control

    async def close(self) -> None:
        if hasattr(self, "driver"):
            self.control.close()
            self.driver.stop()
            self.driver.log.seal(self.driver.clock.now() + 1)
        if self._file is not None:
            self._file.close()

    async def confirm_ready(self, op: Operation) -> None:
        await self._perform(Step.READY, op)

    async def configure(self, op: Operation) -> None:
        await self._perform(Step.CONFIGURE, op)

    async def drain(self, op: Operation) -> None:
        await self._perform(Step.DRAIN, op)

    async def delete(self, op: Operation) -> None:
        await self._perform(Step.DELETE, op)

    async def reset(self, machine: MachineRecord) -> None:
        self.driver.tell(ResetAsked(machine.id, self.driver.clock.now()))

    async def watch(self) -> AsyncIterator[Signal]:
        while True:
            yield await self.driver.signals.get()

    def admit(self, kind: Kind, machine: MachineRecord) -> None:
        driver = self.driver
        said = driver.tell(AdmissionAsked(Step(kind.value), machine.id, driver.clock.now()))
        for instruction in said:
            if isinstance(instruction, Refuse) and not instruction.operation:
                raise error_of(instruction)

    async def describe(self) -> Inventory:
        await self._adopt_all()
        driver = self.driver
        shown = driver.tell(DescribeAsked(driver.clock.now()))
        show = next(i for i in shown if isinstance(i, ShowInventory))
        if show.delay_nanos and self.control.handler is not None:
            # The first describe takes no time: a stepped clock cannot be moved before it ends.
            await driver.clock.sleep(show.delay_nanos / SECOND)
        supply = driver.substrate.supply
        found: list[Instance] = []
        for chunk in self._instances.chunks(supply, round(len(supply.slots) * show.share)):
            found += chunk
            await settle(1)
        self._instances.forget(supply)
        return Inventory(found)

    async def _adopt_all(self) -> None:
        """Once, when the server already knows machines: it started from a store."""
        handler = self.control.handler
        if self._adopting and handler is not None:
            records, _ = list_of(await handler.list(ListCall(), _OURSELVES))
            for record in records:
                self._adopt(record)
        self._adopting = False

    def _adopt(self, record: MachineRecord) -> None:
        """Work under way is asked for again and finds its host as it was before it began."""
        if not self._adopting or record.id in self.driver.substrate.work_of:
            return
        bound = record.state in (MachineState.CONFIGURED, MachineState.DRAINING)
        self.driver.adopt(record, bound=bound)

    async def create(self, op: Operation) -> Created:
        self._adopt(op.machine)
        ref = await self.driver.perform(Step.CREATE, self._numbered(op))
        return Created(Host(ref, node_name=ref))

    async def _perform(self, step: Step, op: Operation) -> None:
        self._adopt(op.machine)
        await self.driver.perform(step, self._numbered(op))

    def _numbered(self, op: Operation) -> Operation:
        return replace(op, operation_id=op.operation_id.replace(self._store_name, "-", 1))

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        self._adopt(machine)
        slot = self.driver.substrate.supply.slots.get(machine.id)
        if slot is None:
            return GONE
        host = slot.host
        if host is None:
            return UNKNOWN if machine.state is MachineState.CREATING else GONE
        if machine.host is not None and machine.host.ref != host.ref:
            return GONE
        return BOUND if host.cluster else HostStatus.running(Host(host.ref, host.ref))
