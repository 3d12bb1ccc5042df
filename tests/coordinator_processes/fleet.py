"""A fleet of real processes: three etcd members, three coordinators, two shards, one provider.

Every way between them that may break runs over a link: from each coordinator to each member, and to
each coordinator from everybody. The operators live in the test. Nothing outlives it: what is
started here is killed with it, however it ends.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from bigfleet.bench.processes import Processes, RunningProcess, processes
from bigfleet.model.coordination import CoordinatorStatus, Transfer
from bigfleet.model.provider_calls import ListCall, MachineRecord, Rejected
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.shard_views import MachineView, ShardStatus
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.etcd_cluster import EtcdCluster, etcd_cluster, free_ports
from tests.etcd_links import Link, link_to
from tests.shard_processes.process import provider_words, shard_words
from tests.shard_system.operators import Operator, operating
from tests.shard_system.rig import offered
from tests.shard_system.waiting import PATIENCE, until_told

ZONES = ("sim-1a", "sim-1b", "sim-1c")
IN_ZONE = 10
SHARDS = ("shard-0", "shard-1")
#: Of a question to a coordinator, which may be stopped or cut off.
DEADLINE = 5.0
#: Everything a coordinator is by default, but in a hurry, and ready to give its last machine.
HASTE = {
    "lease-ttl": "2s",
    "stale-after": "3s",
    "shutdown-grace": "1s",
    "rebalance-interval": "200ms",
    "rebalance-age-cycles": "1",
    "rebalance-drain": "false",
    "rebalance-cooldown": "300ms",
    "rebalance-cooldown-cycles": "1",
    "rebalance-min-stay": "300ms",
    "rebalance-direction-lock": "300ms",
    "rebalance-donor-margin-machines": "0",
    "rebalance-donor-margin-fraction": "0",
    "rebalance-donor-rate": "1",
    "rebalance-offer-ttl": "2s",
    "rebalance-hold-ttl": "2s",
    "rebalance-return-after": "1s",
    "rebalance-decline-rest": "200ms",
    "rebalance-stall-rest": "500ms",
}
SHARD_HASTE = {
    "cycle-interval": "100ms",
    "report-interval": "200ms",
    "report-call-timeout": "1s",
    "report-backoff-min": "50ms",
    "report-backoff-max": "300ms",
}


def flags(of: dict[str, str]) -> list[str]:
    return [word for name, value in of.items() for word in (f"--{name}", value)]


class Replica:
    """A coordinator, or the place of one while it is dead."""

    def __init__(self, name: str, address: str, words: list[str]) -> None:
        self.name = name
        #: Its own, beside every link.
        self.address = address
        #: To it from everybody.
        self.link = Link(address)
        #: To each member of etcd.
        self.ways: list[Link] = []
        self.words = words
        self.process: RunningProcess | None = None
        self.is_stopped = False

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None, f"{self.name} does not run"
        self.process.send(number)
        self.is_stopped = number is signal.SIGSTOP


class Shard:
    def __init__(self, name: str, words: list[str]) -> None:
        self.name = name
        self.words = words
        self.process: RunningProcess | None = None
        self.address = ""
        self.metrics_port = 0
        self.admin: ShardAdminClient | None = None

    async def status(self) -> ShardStatus | None:
        """None while it is dead."""
        return None if self.admin is None else await self.admin.status()

    async def machines(self) -> dict[str, MachineView]:
        assert self.admin is not None, f"{self.name} does not run"
        page = await self.admin.machines()
        return {view.machine.id: view for view in page.machines}


class Fleet:
    def __init__(self, folder: Path, etcd: EtcdCluster, running: Processes) -> None:
        self.folder = folder
        self.etcd = etcd
        self._running = running
        self.replicas: list[Replica] = []
        self.shards: list[Shard] = []
        self.operators: list[Operator] = []
        self.provider = ""
        #: Whom people last asked to own each zone; empty: none.
        self.wished: dict[str, str] = {}
        #: What was done to it, in order: the first thing to read when something fails.
        self.story: list[str] = []
        self.admin: CoordinatorAdminClient

    @property
    def journal(self) -> Path:
        return self.folder / "provider.db"

    # -- coming up -------------------------------------------------------------------------------

    async def start(self, stack: AsyncExitStack) -> None:
        await self._start_provider()
        for number, port in enumerate(free_ports(3), start=1):
            replica = Replica(f"node-{number}", f"127.0.0.1:{port}", [])
            replica.link = await stack.enter_async_context(link_to(replica.address))
            replica.ways = [
                await stack.enter_async_context(link_to(address)) for address in self.etcd.endpoints
            ]
            replica.words = _coordinator_words(replica)
            self.replicas.append(replica)
        await together(self.start_replica(replica) for replica in self.replicas)
        self.admin = CoordinatorAdminClient([r.address for r in self.replicas], deadline=DEADLINE)
        stack.push_async_callback(self.admin.close)
        to_coordinators = [replica.link.address for replica in self.replicas]
        for name in SHARDS:
            more = [word for each in to_coordinators for word in ("--coordinator-addr", each)]
            words = shard_words(
                self.folder / name, self.provider, "--id", name, *more, *flags(SHARD_HASTE)
            )
            self.shards.append(Shard(name, words))
        stack.push_async_callback(self._hang_up)
        # The first one there is the default owner.
        await self.start_shard(self.shards[0])
        await until_told(self._owns_everything, lambda: self.story)
        await self.start_shard(self.shards[1])
        for shard, cluster in zip(self.shards, ("shop", "yard"), strict=True):
            operator = operating(cluster, _address_of(shard))
            self.operators.append(await stack.enter_async_context(operator))
        # A shard that has never heard what it owns rightly decides nothing: not yet a fault.
        await until_told(self._has_decided, lambda: self.story)

    async def _has_decided(self) -> bool:
        known = [await shard.status() for shard in self.shards]
        return all(status is not None and status.cycle > 0 for status in known)

    async def _start_provider(self) -> None:
        offers = [offered("bare_metal", IN_ZONE, zone) for zone in ZONES]
        words = provider_words(self.folder, offers, "127.0.0.1:0")
        process = await self._running.verb("provider", *words)
        self.provider = f"127.0.0.1:{(await process.event('provider.started'))['port']}"

    async def start_replica(self, replica: Replica) -> None:
        replica.process = await self._running.verb(replica.name, *replica.words)
        replica.is_stopped = False
        await replica.process.event("coordinator.started")

    async def start_shard(self, shard: Shard) -> None:
        shard.process = await self._running.verb(shard.name, *shard.words)
        told = await shard.process.event("shard.started")
        shard.address, shard.metrics_port = f"127.0.0.1:{told['port']}", int(told["metrics_port"])
        shard.admin = ShardAdminClient(shard.address, deadline=PATIENCE)

    async def kill_replica(self, replica: Replica) -> None:
        assert replica.process is not None, f"{replica.name} does not run"
        await replica.process.kill()
        replica.process, replica.is_stopped = None, False

    async def kill_shard(self, shard: Shard) -> None:
        assert shard.process is not None, f"{shard.name} does not run"
        await shard.process.kill()
        if shard.admin is not None:
            await shard.admin.close()
        shard.process = shard.admin = None

    async def _hang_up(self) -> None:
        for shard in self.shards:
            if shard.admin is not None:
                await shard.admin.close()

    async def _owns_everything(self) -> bool:
        return len(await self.shards[0].machines()) == IN_ZONE * len(ZONES)

    # -- looking ---------------------------------------------------------------------------------

    async def status(self, replica: Replica) -> CoordinatorStatus | None:
        """None where it does not answer."""
        if replica.process is None or replica.is_stopped:
            return None
        try:
            return await self.admin.status(replica.address)
        except Rejected:
            return None

    async def leader(self) -> Replica | None:
        for replica in self.replicas:
            status = await self.status(replica)
            if status is not None and status.is_leader:
                return replica
        return None

    async def some_leader(self, other_than: Replica | None = None) -> Replica:
        """As soon as there is one."""
        found: list[Replica] = []

        async def leads() -> bool:
            leader = await self.leader()
            if leader is None or leader is other_than:
                return False
            found.append(leader)
            return True

        await until_told(leads, lambda: ("no replica leads", self.story))
        return found[0]

    async def transfers(self) -> tuple[Transfer, ...]:
        """All that ever were, as soon as a leader tells."""
        found: list[tuple[Transfer, ...]] = []

        async def told() -> bool:
            try:
                found.append(await self.admin.transfers(include_finished=True, limit=10_000))
            except Rejected:
                return False
            return True

        await until_told(told, lambda: ("no leader tells of transfers", self.story))
        return found[0]

    async def truth(self) -> dict[str, MachineRecord]:
        """Every machine, by the provider's own word."""
        async with ProviderClient(self.provider) as client:
            return {record.id: record for record in (await client.list(ListCall()))[0]}


def _address_of(shard: Shard) -> Callable[[], str]:
    return lambda: shard.address


def _coordinator_words(replica: Replica) -> list[str]:
    ways = [word for way in replica.ways for word in ("--etcd-endpoints", way.address)]
    return [
        *("coordinator", "--id", replica.name, "--listen", replica.address),
        *("--advertise-addr", replica.link.address, "--metrics-addr", "127.0.0.1:0"),
        *("--store", "etcd", *ways, "--partition-keys", ZONE_KEY, *flags(HASTE)),
    ]


async def together(coroutines: Iterable[Coroutine[Any, Any, object]]) -> None:
    async with asyncio.TaskGroup() as group:
        for each in coroutines:
            group.create_task(each)


@asynccontextmanager
async def real_fleet(folder: Path) -> AsyncIterator[Fleet]:
    """Up, with every machine idle in the hands of the first shard."""
    with etcd_cluster(folder, size=3) as etcd:
        async with AsyncExitStack() as stack:
            running = await stack.enter_async_context(processes())
            fleet = Fleet(folder, etcd, running)
            await fleet.start(stack)
            yield fleet
