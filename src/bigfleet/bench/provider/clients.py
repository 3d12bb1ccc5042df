"""What is asked of a provider to measure it: Lists, Gets and mutations over gRPC, on one machine
with it. Medians, never the best of several; every full List is asked after a change, so that no
answer is one that lay ready.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

from bigfleet.bench.provider.process import RunningProvider
from bigfleet.engine.inventory import Inventory
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import CreateCall, ListCall, Token
from bigfleet.wire.machine_batches import KnownMachines, batch_of, listed
from bigfleet.wire.machines import list_of
from bigfleet.wire.provider_client import ProviderClient

CLIENTS = 16
LISTS, GETS, MUTATIONS, LONE_MUTATIONS, CAPPED = 9, 3200, 1000, 300, 100
#: Loads of mutations; the rate is their median and the spread is shown beside it.
ROUNDS = 5
Call = Callable[[ProviderClient], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Listing:
    """Of a full List, in seconds; parts are medians of the same Lists."""

    bytes_at_client: float
    server_cpu: float
    into_columns: float
    into_records: float
    into_inventory: float
    #: The next List, of which nothing is new.
    unchanged: float
    size: int


@dataclass(frozen=True, slots=True)
class Rate:
    per_second: float
    slowest: float
    fastest: float
    p99: float


class Load:
    """The clients of one provider; slots are bought one after the other, none twice."""

    def __init__(self, provider: RunningProvider, machines: int) -> None:
        self._provider = provider
        self._machines = machines
        self._fresh = count()
        self.clients = [ProviderClient(provider.address) for _ in range(CLIENTS)]

    async def close(self) -> None:
        for client in self.clients:
            await client.close()

    async def connected(self) -> None:
        for client in self.clients:
            await client.connected()

    async def lists(self) -> Listing:
        """Full Lists, decoded as a shard decodes them and as records."""
        client, arrivals, decoded = self.clients[0], [], []
        await self._buy(1)
        content = await client.list_bytes()
        _into_columns(content)  # compiles, or loads what was compiled
        spent = 0.0
        for _ in range(LISTS):
            await self._buy(1)
            before = self._provider.cpu_seconds()
            seconds, content = await _timed(client.list_bytes())
            spent += self._provider.cpu_seconds() - before
            arrivals.append(seconds)
            decoded.append(seconds + _seconds_of(partial(_into_columns, content)))
        inventory, unchanged = _taken_over(content)
        return Listing(
            bytes_at_client=statistics.median(arrivals),
            server_cpu=spent / LISTS,
            into_columns=statistics.median(decoded),
            into_records=statistics.median(arrivals) + _seconds_of(partial(list_of, content)),
            into_inventory=statistics.median(arrivals) + inventory,
            unchanged=statistics.median(arrivals) + unchanged,
            size=len(content),
        )

    async def capped(self) -> float:
        one = ListCall((MachineState.SPECULATIVE,), 1)
        times = [(await _timed(self.clients[0].list_bytes(one)))[0] for _ in range(CAPPED)]
        return statistics.median(times)

    async def delta(self, changes: int) -> float:
        client = self.clients[0]
        revision = await self.revision()
        await self._buy(changes)
        call = ListCall(since_revision=revision)
        return statistics.median([(await _timed(client.list_bytes(call)))[0] for _ in range(LISTS)])

    async def revision(self) -> bytes:
        """Of the head: a cursor that names nothing gives the whole fleet."""
        return listed(await self.clients[0].list_bytes()).revision

    async def settled(self) -> None:
        """Returns when everything that was bought is there."""
        on_its_way = ListCall((MachineState.CREATING,), 1)
        while len(listed(await self.clients[0].list_bytes(on_its_way))):
            await asyncio.sleep(0.01)

    async def gets(self) -> float:
        """The 99th percentile with all clients at once."""
        chance = random.Random(1)
        names = [f"m-{chance.randrange(self._slots)}" for _ in range(GETS)]
        times, _ = await self._all_at_once([partial(_get, name) for name in names])
        return _p99(times)

    async def gets_beside_lists(self) -> float:
        """The same while another client asks for the whole fleet again and again."""
        lister = ProviderClient(self._provider.address)
        await lister.connected()

        async def listing() -> None:
            while True:
                await self._buy(1)
                await lister.list_bytes()

        task = asyncio.create_task(listing())
        try:
            return await self.gets()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await lister.close()

    async def mutations(self) -> Rate:
        acks: list[float] = []
        rates: list[float] = []
        for _ in range(ROUNDS):
            times, rate = await self._all_at_once(self._creates(MUTATIONS))
            acks += times
            rates.append(rate)
        return Rate(statistics.median(rates), min(rates), max(rates), _p99(acks))

    async def lone_mutations(self) -> float:
        """A second, by one client that waits for each answer."""
        calls = self._creates(LONE_MUTATIONS)

        async def work() -> None:
            for call in calls:
                await call(self.clients[0])

        return LONE_MUTATIONS / (await _timed(work()))[0]

    @property
    def _slots(self) -> int:
        """The fake substrate names its on-demand slots m-0, m-1 ...; a third is spot."""
        return self._machines - self._machines // 3

    def _creates(self, number: int) -> list[Call]:
        numbers = [next(self._fresh) for _ in range(number)]
        calls = [CreateCall(f"m-{n % self._slots}", Token("bench", 1, n + 1)) for n in numbers]
        return [partial(_create, call) for call in calls]

    async def _buy(self, number: int) -> None:
        await self._all_at_once(self._creates(number))

    async def _all_at_once(self, calls: list[Call]) -> tuple[list[float], float]:
        """The time of each call, and how many a second all clients together made."""
        waiting, times = iter(calls), []

        async def work(client: ProviderClient) -> None:
            for call in waiting:
                times.append((await _timed(call(client)))[0])

        seconds, _ = await _timed(asyncio.gather(*map(work, self.clients)))
        return times, len(times) / seconds


def _get(name: str, client: ProviderClient) -> Awaitable[object]:
    return client.get(name)


def _create(call: CreateCall, client: ProviderClient) -> Awaitable[object]:
    return client.create(call)


def _into_columns(content: bytes) -> None:
    now = listed(content)
    batch_of(now, now.rows())


def _taken_over(content: bytes) -> tuple[float, float]:
    """Into an empty inventory, and the same answer once more."""
    inventory, known = Inventory(), KnownMachines.none()
    times = []
    for _ in range(2):
        began = time.perf_counter()
        now = listed(content)
        read = batch_of(now, known.rows_unlike(now))
        inventory.adopt(read.batch, source="bench")
        known = known.after(now, whole=True)
        times.append(time.perf_counter() - began)
    return times[0], times[1]


async def _timed(work: Awaitable[object]) -> tuple[float, bytes]:
    began = time.perf_counter()
    result = await work
    return time.perf_counter() - began, result if isinstance(result, bytes) else b""


def _seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]
