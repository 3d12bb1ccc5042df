"""Two shards that share one provider for a day of virtual time, each with its ledger of costs.

The provider is the sim's own substrate, which keeps its own bill. Nothing is seen late: each step
ends what is due, lists everything, lets both shards decide, and lists what came of it at once. So
what the ledgers say can be compared with the bill to the cent.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

from bigfleet.edge.clock import Timer
from bigfleet.edge.logs import NullLog
from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.coordinator_calls import Done
from bigfleet.model.costs import Amounts, CostCall, CostReport
from bigfleet.model.figures import CostAxis
from bigfleet.model.machines import CapacityType, Host, Instant, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import (
    Ack,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.model.resources import Resources
from bigfleet.provider.ledger.entries import seeded
from bigfleet.provider.sim.backend import instance_of
from bigfleet.provider.sim.world.distributions import distribution_of
from bigfleet.provider.sim.world.economy import new_substrate
from bigfleet.provider.sim.world.events import (
    Command,
    CommandGiven,
    Event,
    Finish,
    Instruction,
    Refuse,
    ReportGone,
    Reprice,
    Step,
    StepAsked,
    TimePassed,
)
from bigfleet.provider.sim.world.offerings import offering
from bigfleet.provider.sim.world.state import Rules, Substrate
from bigfleet.provider.sim.world.step import step
from bigfleet.shard.driving.costs import ShardCosts
from bigfleet.shard.instructions import CallProvider, GetCall
from tests.hazards.virtual_fleet import CLOUD
from tests.transfers.shards import Shard, adopt, moving, offer, release

S, C = MachineState, CapacityType
#: The beginning of an hour.
BEGIN: Instant = 1_773_446_400 * SECOND
STEP_SECONDS = 30
HOUR_STEPS = 3600 // STEP_SECONDS
HEAL_SECONDS = 60
OFFERINGS = (
    offering("std-8", C.BARE_METAL, "a", 3),
    offering("std-8", C.ON_DEMAND, "a", 10, racks=2),
    offering("std-8", C.ON_DEMAND, "b", 10),
    offering("std-8", C.SPOT, "a", 12),
    offering("std-8", C.SPOT, "b", 12),
)
RULES = Rules(
    provider=CLOUD,
    start=BEGIN,
    latency={
        step.value: distribution_of(text)
        for step, text in {
            Step.CREATE: "fixed:60s",
            Step.CONFIGURE: "fixed:30s",
            Step.READY: "fixed:30s",
            Step.DRAIN: "fixed:30s",
            Step.DELETE: "fixed:60s",
        }.items()
    },
    interruptions=False,  # waves come by command, at whole steps
    notice_nanos=60 * SECOND,
)
UNIT = Resources.parse({"cpu": "7"})
_STEPS = {
    CreateCall: Step.CREATE,
    ConfigureCall: Step.CONFIGURE,
    DrainCall: Step.DRAIN,
    DeleteCall: Step.DELETE,
}
_BEGUN = {CreateCall: S.CREATING, DrainCall: S.DRAINING, DeleteCall: S.DELETING}


class Cloud:
    """What a provider shows of the substrate."""

    def __init__(self) -> None:
        self.at = BEGIN
        self.substrate: Substrate = new_substrate(RULES, OFFERINGS)
        self.shelf: dict[str, MachineRecord] = {}
        #: What happened, by name.
        self.seen: Counter[str] = Counter()
        self._calls = 0
        self._healed_at: dict[str, Instant] = {}
        for number, slot in enumerate(self.substrate.supply.slots.values()):
            self.shelf[slot.id] = seeded(instance_of(slot), CLOUD, number).record

    @property
    def bill(self) -> float:
        return sum(map(self.substrate.billed, self.substrate.supply.pools.values()))

    def slots(self, zone: str) -> list[str]:
        """Not the owned ones, which are Idle from the start."""
        return [m.id for m in self.shelf.values() if m.zone == zone and m.state is S.SPECULATIVE]

    def pass_time(self) -> None:
        self._tell(TimePassed(self.at))
        for name, at in list(self._healed_at.items()):
            if at <= self.at:
                del self._healed_at[name]
                self._show(name, state=S.SPECULATIVE, last_error="")

    def command(self, verb: str, **arguments: str) -> None:
        self._tell(CommandGiven(Command(verb, arguments), self.at))

    def answer(self, asked: CallProvider) -> Ack | MachineRecord | Rejected:
        call = asked.call
        if isinstance(call, GetCall):
            return self.shelf[call.machine_id]
        self._begin(call)
        return Ack(f"op-{self._calls}", self.shelf[call.machine_id])

    def _begin(self, call: Mutation) -> None:
        name, kind = call.machine_id, type(call)
        self._calls += 1
        cluster, grace = "", 0
        if isinstance(call, ConfigureCall):
            cluster = call.cluster_id
            self._show(
                name, state=S.CONFIGURING, cluster=cluster, shard_metadata=call.shard_metadata
            )
        else:
            self._show(name, state=_BEGUN[kind])
        if isinstance(call, DrainCall):
            grace = call.grace_period_seconds
        self._ask(_STEPS[kind], name, cluster, grace)

    def _ask(self, wanted: Step, name: str, cluster: str, grace: int = 0) -> None:
        operation = f"op-{self._calls}-{name}"
        self._tell(StepAsked(wanted, name, operation, self.at, cluster, grace))

    def _tell(self, event: Event) -> None:
        for instruction in step(self.substrate, event):
            self._carry(instruction)
        self.substrate.take_notes()

    def _carry(self, said: Instruction) -> None:
        match said:
            case Finish(step=Step.CREATE):
                self._show(said.machine, state=S.IDLE, host=Host(CLOUD, said.host_ref))
            case Finish(step=Step.CONFIGURE):
                self._ask(Step.READY, said.machine, self.shelf[said.machine].cluster)
            case Finish(step=Step.READY):
                self._show(said.machine, state=S.CONFIGURED)
            case Finish(step=Step.DRAIN):
                self._show(said.machine, state=S.IDLE, cluster="", shard_metadata={})
            case Finish(step=Step.DELETE):
                self._show(said.machine, state=S.SPECULATIVE, host=None)
            case Refuse():
                self.seen[said.failure] += 1
                self._fail(said.machine, f"{said.failure}: {said.text}")
            case ReportGone():
                self.seen["gone"] += 1
                self._fail(said.machine, f"spot: {said.text}")
            case Reprice(pool):
                self.seen["repriced"] += 1
                for name, slot in self.substrate.supply.pools[pool].slots.items():
                    self._show(name, price_per_hour=slot.pool.price)
            case _:
                pass  # notices, and what nothing asked for

    def _fail(self, name: str, text: str) -> None:
        """Its host is gone, and the provider knows it."""
        self._show(name, state=S.FAILED, last_error=text, host=None, cluster="", shard_metadata={})
        self._healed_at[name] = self.at + HEAL_SECONDS * SECOND

    def _show(self, name: str, **fields: object) -> None:
        self.shelf[name] = replace(self.shelf[name], **fields)  # type: ignore[arg-type]


class DayShard(Shard):
    cycle_seconds = STEP_SECONDS

    def __init__(self, cloud: Cloud, name: str) -> None:
        self.cloud = cloud
        super().__init__((), name=name, at=cloud.at - STEP_SECONDS * SECOND)

    def look_again(self) -> None:
        """Lists what has become of it, after the answers: a nanosecond later."""
        self.at += 1
        self._list()
        while self.state.continue_sweep():
            self._obey(self.state.taken())

    def _list(self) -> None:
        self.shelf = self.cloud.shelf
        super()._list()

    def _end_due(self) -> None:
        """The cloud does."""

    def _answer(self, asked: CallProvider) -> Ack | MachineRecord | Rejected:
        return self.cloud.answer(asked)


class SteppedClock:
    """Tells the cloud's time; nothing waits for it, each look is asked for."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def now(self) -> Instant:
        return self._cloud.at

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        raise AssertionError("a ledger of costs needs no timer")


class SimulatedDay:
    def __init__(self, folder: Path, seed: int = 1, *, kept: bool = True) -> None:
        """`kept`: whether there are ledgers."""
        self.cloud = Cloud()
        self._chance = Random(seed)
        self._moves = 0
        self.moved = 0
        self.cloud.at += STEP_SECONDS * SECOND
        self.shards = [DayShard(self.cloud, "shard-a"), DayShard(self.cloud, "shard-b")]
        self.ledgers = []
        for shard in self.shards if kept else ():
            path = folder / shard.name
            path.mkdir()
            clock = SteppedClock(self.cloud)
            self.ledgers.append(ShardCosts(shard.state, path, clock, NullLog()))
        self._keeping = [asyncio.ensure_future(ledger.keep()) for ledger in self.ledgers]
        self._rows: dict[str, MachineOverride] = {}
        self._give("0-0", *self.cloud.slots("b"))

    async def run(self, hours: int) -> None:
        for hour in range(hours):
            for number in range(HOUR_STEPS):
                self._ask(number)
                self.cloud.at += STEP_SECONDS * SECOND
                self.cloud.pass_time()
                self._happen(hour, number)
                await self._decide()

    async def _decide(self) -> None:
        for shard in self.shards:
            shard.at = self.cloud.at - STEP_SECONDS * SECOND
            shard.run(1)
        self.cloud.pass_time()
        for shard in self.shards:
            shard.look_again()
        for ledger in self.ledgers:
            await ledger.look()

    async def close(self) -> None:
        for task in self._keeping:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for ledger in self.ledgers:
            await ledger.close()

    async def told(self, by: CostAxis, begins: Instant = BEGIN) -> list[CostReport]:
        call = CostCall(by, begins, self.cloud.at, charges=True)
        return [await ledger.report(call) for ledger in self.ledgers]

    async def total(self, by: CostAxis = CostAxis.CLUSTER) -> Amounts:
        found = Amounts()
        for report in await self.told(by):
            found = found.plus(report.total)
        return found

    # -- what happens ----------------------------------------------------------------------------

    def _ask(self, number: int) -> None:
        """Demand changes, and machines change hands, once a step is over."""
        if number % (HOUR_STEPS // 3) == 0:
            for shard, cluster, priority in zip(
                self.shards, ("shop", "ml"), (1000, 100), strict=True
            ):
                machines = self._chance.randint(0, 14)
                shard.report(cluster, *([_need(cluster, machines, priority)] if machines else ()))
        if number % 10 == 9:
            self._move()

    def _happen(self, hour: int, number: int) -> None:
        """To the provider, before anyone sees it."""
        if hour % 3 == 1 and number == 11:
            self.cloud.command("interrupt", select="capacity=spot", fraction="0.5", notice="60s")
        if hour % 4 == 0 and number == 7:
            self.cloud.command("stock", select="capacity=spot", value="2")
            self.cloud.command("stock", select="capacity=on_demand", value="1")
        if hour % 4 == 1 and number == 5:
            self.cloud.command("stock", select="capacity=spot", value="inf")
            self.cloud.command("stock", select="capacity=on_demand", value="inf")
        if hour % 6 == 2 and number == 3:
            self.cloud.command("price", select="capacity=on_demand", value="x1.1")

    def _move(self) -> None:
        """An idle machine of the first shard, if it has one, becomes the second's."""
        donor, receiver = self.shards
        self._moves += 1
        name = f"1-{self._moves}"
        asked = replace(
            offer(1, transfer=name), min_unit=UNIT, deficit=UNIT, keep_machines=0, keep_per_mille=0
        )
        given = donor.asked_for(asked).machine_ids
        if not given:
            return
        donor.sync(transfers=[moving(TransferState.RELEASING, *given, transfer=name)])
        assert isinstance(donor.told(release(*given, transfer=name)), Done)
        self._give(name, *given)
        assert isinstance(receiver.told(adopt(*given, transfer=name)), Done)
        self.moved += sum(self.cloud.shelf[m].price_per_hour > 0 for m in given)

    def _give(self, name: str, *machines: str) -> None:
        rows = [MachineOverride(m, "shard-b", "shard-a", name) for m in machines]
        granted = moving(TransferState.GRANTED, *machines, transfer=name, tier=TransferTier.IDLE)
        for shard in self.shards:
            shard.view(*rows, transfers=[granted])
            shard.look_again()


def _need(cluster: str, machines: int, priority: int) -> Need:
    return Need(cluster, Profile.of([], priority=priority), UNIT.times(machines), UNIT)
