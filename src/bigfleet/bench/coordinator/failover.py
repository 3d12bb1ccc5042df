"""The part `failover`: three coordinators over etcd lose their leader, by a kill and by a stop.

Measured is the time until another one answers a report, what reporting shards notice, and whether a
real shard that has nothing but its provider goes on deciding as before.
"""

import asyncio
import json
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from bigfleet.bench.coordinator.etcd_members import etcd_members
from bigfleet.bench.coordinator.metrics_pages import Distribution, Series, page
from bigfleet.bench.measures import Measure, Say
from bigfleet.bench.processes import Processes, RunningProcess, child, processes
from bigfleet.bench.shard.fleet import ShardScale as ProviderScale
from bigfleet.model.coordinator_calls import NotLeader, ShardReport
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.shard_views import ShardSummary
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.coordinator_client import CoordinatorLines


@dataclass(frozen=True, slots=True)
class FailoverPlan:
    #: Of each kind.
    rounds: int = 1
    #: As a coordinator is set.
    lease_ttl: float = 5.0
    machines: int = 10_000
    #: How long the shard is watched before and after each loss of the leader.
    seconds: float = 8.0


QUICK, FULL = FailoverPlan(), FailoverPlan(rounds=5)
REPLICAS = 3
#: Simulated shards that do nothing but report.
REPORTERS = 2
_CYCLES = "bigfleet_shard_cycle_duration_seconds"
_MACHINES = "bigfleet_shard_inventory_machines{"
_REPORTED = 'bigfleet_shard_coordinator_reports_total{result="ok"}'
_DEADLINE_SECONDS = 0.5
_PROBE_SECONDS, _REPORT_SECONDS, _LOOK_SECONDS = 0.01, 0.1, 0.05


class Replica:
    def __init__(self, name: str, process: RunningProcess, address: str) -> None:
        self.name = name
        self.process = process
        self.address = address


class FailoverHarness:
    """Everything that runs."""

    def __init__(self, running: Processes, etcd: Sequence[str], plan: FailoverPlan) -> None:
        self.plan = plan
        self._running = running
        self._etcd = etcd
        self.replicas: list[Replica] = []
        self.reporters: list[Reporter] = []
        self.shard_metrics = 0

    @property
    def addresses(self) -> list[str]:
        return [replica.address for replica in self.replicas]

    async def start_replica(self, name: str, address: str = "127.0.0.1:0") -> Replica:
        process = await self._running.verb(
            "coordinator",
            *("coordinator", "--id", name, "--store", "etcd"),
            *("--listen", address, "--metrics-addr", "127.0.0.1:0"),
            *("--lease-ttl", f"{self.plan.lease_ttl}s", "--etcd-endpoints", ",".join(self._etcd)),
        )
        port = (await process.event("coordinator.started"))["port"]
        return Replica(name, process, f"127.0.0.1:{port}")

    async def start_shard(self, folder: Path, provider: str) -> None:
        addresses = [word for each in self.addresses for word in ("--coordinator-addr", each)]
        shard = await self._running.verb(
            "shard",
            *("shard", "--id", "real", "--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"),
            *("--data-dir", str(folder), "--provider-addr", f"bench={provider}", *addresses),
            *("--cycle-interval", "100ms", "--report-interval", "500ms"),
        )
        self.shard_metrics = int((await shard.event("shard.started"))["metrics_port"])

    async def leader(self) -> Replica:
        """Waits until a replica leads."""
        async with CoordinatorAdminClient(self.addresses, deadline=_DEADLINE_SECONDS) as admin:
            while True:
                for replica in self.replicas:
                    if await _leads(admin, replica.address):
                        return replica
                await asyncio.sleep(_LOOK_SECONDS)

    async def shard_reported(self) -> float:
        return (await page(self.shard_metrics)).get(_REPORTED, 0.0)

    async def shard_machines(self) -> float:
        told = await page(self.shard_metrics)
        return sum(value for name, value in told.items() if name.startswith(_MACHINES))


async def _leads(admin: CoordinatorAdminClient, address: str) -> bool:
    try:
        return (await admin.status(address)).is_leader
    except Rejected:
        return False


class Reporter:
    """A shard that reports often: to the leader, and to the next replica without an answer."""

    def __init__(self, name: str, addresses: Sequence[str]) -> None:
        self._name = name
        self._addresses = addresses
        self._lines = CoordinatorLines()
        #: When the last report was answered.
        self.answered_at = 0.0

    async def run(self) -> None:
        asked, address = 0, self._addresses[0]
        for cycle in count(1):
            try:
                await self._lines.report(address, _report(self._name, cycle), _DEADLINE_SECONDS)
                self.answered_at = time.perf_counter()
            except NotLeader as problem:
                address = problem.leader
            except Rejected:
                asked += 1
                address = self._addresses[asked % len(self._addresses)]
            await asyncio.sleep(_REPORT_SECONDS)

    async def answered_after(self, moment: float) -> float:
        """Seconds from the moment until it was answered again."""
        while self.answered_at < moment:
            await asyncio.sleep(_PROBE_SECONDS)
        return self.answered_at - moment


def _report(shard: str, cycle: int) -> ShardReport:
    return ShardReport(shard, cycle, time.time_ns(), 1, "", ShardSummary(0, 0, {}, {}))


async def measured(plan: FailoverPlan, say: Say) -> list[Measure]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        running = await stack.enter_async_context(processes())
        say("starting etcd, three coordinators, a provider and a shard")
        rig = FailoverHarness(running, await etcd_members(running, folder), plan)
        rig.replicas = [await rig.start_replica(f"node-{n}") for n in range(REPLICAS)]
        scale = json.dumps(asdict(ProviderScale(plan.machines, 100, 10, 1.0, 1.0)))
        provider = await stack.enter_async_context(
            child("bigfleet.bench.shard.instant_provider", "provider", scale)
        )
        await rig.leader()
        await rig.start_shard(folder / "shard", f"127.0.0.1:{(await provider.ask())['port']}")
        rig.reporters = [Reporter(f"shard-{n}", rig.addresses) for n in range(REPORTERS)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.run()) for each in rig.reporters]
            found = await _rounds(rig, say)
            for task in tasks:
                task.cancel()
        return found


async def _rounds(rig: FailoverHarness, say: Say) -> list[Measure]:
    plan = rig.plan
    say("an undisturbed leader")
    await _settled(rig)
    before = await page(rig.shard_metrics)
    await asyncio.sleep(plan.seconds)
    found = _cycle_rows(before, await _after_a_cycle(rig, before), "before")
    for number, name, most in (
        (signal.SIGKILL, "kill -9", plan.lease_ttl + 1),
        (signal.SIGTERM, "clean stop", 1.0),
    ):
        losses = []
        for turn in range(plan.rounds):
            say(f"{name} of the leader, {turn + 1} of {plan.rounds}")
            losses.append(await _lost(rig, number))
        found += _loss_rows(name, losses, most)
    return found


@dataclass(frozen=True, slots=True)
class Loss:
    """Seconds from the loss of a leader."""

    #: Until another one answers a report.
    answered: float
    #: Until every simulated shard has been answered.
    all_shards: float
    #: Until the real shard has been answered.
    shard: float
    before: Series
    after: Series


async def _lost(rig: FailoverHarness, number: signal.Signals) -> Loss:
    leader = await rig.leader()
    reported = await rig.shard_reported()
    before = await page(rig.shard_metrics)
    others = [each.address for each in rig.replicas if each is not leader]
    lost_at = time.perf_counter()
    leader.process.send(number)
    answered = await _first_answer(others) - lost_at
    all_shards = max([await each.answered_after(lost_at + answered) for each in rig.reporters])
    while await rig.shard_reported() <= reported + 1:
        await asyncio.sleep(_LOOK_SECONDS)
    shard = time.perf_counter() - lost_at
    await asyncio.sleep(max(0.0, rig.plan.seconds - shard))
    after = await _after_a_cycle(rig, before)
    loss = Loss(answered, answered + all_shards, shard, before, after)
    await leader.process.ended()
    again = await rig.start_replica(leader.name, leader.address)
    rig.replicas[rig.replicas.index(leader)] = again
    return loss


async def _after_a_cycle(rig: FailoverHarness, before: Series) -> Series:
    """The page once it shows a cycle since `before`: on a busy machine that takes longer."""
    after = await page(rig.shard_metrics)
    while not Distribution.between(before, after, _CYCLES).count:
        await asyncio.sleep(_LOOK_SECONDS)
        after = await page(rig.shard_metrics)
    return after


async def _first_answer(addresses: Sequence[str]) -> float:
    """When one of them took a report."""
    asking = [asyncio.create_task(_answer(address)) for address in addresses]
    done, left = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    await asyncio.wait(asking)
    return min(task.result() for task in done)


async def _answer(address: str) -> float:
    lines = CoordinatorLines()
    try:
        for cycle in count(1):
            with suppress(Rejected):
                await lines.report(address, _report("probe", cycle), _DEADLINE_SECONDS)
                break
            await asyncio.sleep(_PROBE_SECONDS)
        return time.perf_counter()
    finally:
        await lines.close()


async def _settled(rig: FailoverHarness) -> None:
    """Every shard is answered, and the real one has its machines."""
    began = time.perf_counter()
    for reporter in rig.reporters:
        await reporter.answered_after(began)
    while await rig.shard_machines() < rig.plan.machines:
        await asyncio.sleep(_LOOK_SECONDS)


def _loss_rows(name: str, losses: Sequence[Loss], most: float) -> list[Measure]:
    answered = 1e3 * max(loss.answered for loss in losses)
    all_shards = 1e3 * max(loss.all_shards for loss in losses)
    shard = 1e3 * max(loss.shard for loss in losses)
    found = [
        Measure(
            f"{name}: a report is answered again, at worst", answered, "ms", at_most=1e3 * most
        ),
        Measure(f"{name}: every simulated shard is answered, at worst", all_shards, "ms"),
        Measure(f"{name}: the real shard is answered, at worst", shard, "ms"),
    ]
    for turn, loss in enumerate(losses):
        found += _cycle_rows(loss.before, loss.after, f"{name} {turn + 1}")
    return found


def _cycle_rows(before: Series, after: Series, when: str) -> list[Measure]:
    cycles = Distribution.between(before, after, _CYCLES)
    return [
        Measure(f"cycles of the real shard, {when}", cycles.count, ""),
        Measure(f"cycle of the real shard, {when}, mean", 1e3 * cycles.mean, "ms"),
        Measure(f"cycle of the real shard, {when}, p99", 1e3 * cycles.percentile(0.99), "ms"),
    ]
