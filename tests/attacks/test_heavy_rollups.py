"""One cluster sends roll-ups as heavy as it can: the shard refuses what is too heavy, goes on
deciding for the others, and has its memory back when the cluster has gone.

Real processes. The full sizes run nightly; the figures are printed, and docs/security.md has those
of a full run.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from bigfleet.edge.driver import RealClock
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator as Rule
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import Acknowledgement
from bigfleet.wire.session_client import Session, SessionClient
from tests.nightly import IS_NIGHTLY
from tests.shard_processes.process import Running, provider_words, serving, shard_words
from tests.shard_system.demand import HIGH, LOW, rollup, whole_nodes
from tests.shard_system.operators import Operator, hello_of, operating
from tests.shard_system.rig import ANYWHERE, offered
from tests.shard_system.waiting import until, until_told

#: Roll-ups within the limits, and rows of 32 KB in each: 8 MB a roll-up in a full run.
ROUNDS, WIDE_ROWS = (25, 230) if IS_NIGHTLY else (4, 30)
MANY_PROFILES = 200_000 if IS_NIGHTLY else 11_000
#: The memory that may stay behind.
MAY_STAY = 1.10
pytestmark = pytest.mark.timeout(900 if IS_NIGHTLY else 120)
CPU = Resources.parse({"cpu": "1"})
_TIMES = count(1)


async def test_a_cluster_within_its_limits_leaves_nothing_behind(tmp_path: Path) -> None:
    async with fleet(tmp_path) as (shard, shop):
        async with attacker(shard) as evil:
            before = await settled_memory(shard)
            for number in range(ROUNDS):
                assert await evil.is_accepted(*wide_rows(number))
            most = memory_of(shard)
            await evil.withdraw()
        figures(RSS_before=before, RSS_at_most=most)
        await until(
            lambda: memory_of(shard) <= MAY_STAY * before, lambda: (before, memory_of(shard))
        )
        late = await shard.metric("loop_lag_seconds_sum")
        figures(RSS_after=memory_of(shard), seconds_the_loop_was_late=late)
        await shop.wants(3, LOW)
        await until(lambda: len(shop.configured()) == 3)


async def test_what_is_too_heavy_is_refused_and_the_others_are_served(tmp_path: Path) -> None:
    async with fleet(tmp_path) as (shard, shop), attacker(shard) as evil:
        before, failed = memory_of(shard), await shard.metric("cycle_errors_total")
        assert not await evil.is_accepted(*profiles(MANY_PROFILES))
        (refusal,) = shard.logged("rollup_rejected")
        assert "10000 allowed; see rollup.max_profiles" in refusal["msg"]
        if IS_NIGHTLY:
            assert not await evil.is_accepted(*(row for n in range(2) for row in wide_rows(n)))
        await shop.wants(3, LOW)
        await until(lambda: len(shop.configured()) == 3)
        assert await shard.metric("cycle_errors_total") == failed
        figures(RSS_before=before, RSS_after=memory_of(shard))


# -- what it sends ---------------------------------------------------------------------------------


def profiles(many: int) -> list[Need]:
    return [evil(Profile.of(priority=number)) for number in range(many)]


def wide_rows(number: int) -> list[Need]:
    """Rows just below the limit of a row, none of which was there before."""
    return [
        evil(Profile.of([one_of(f"v{number}-{row}-{value}-" + "x" * 40 for value in range(550))]))
        for row in range(WIDE_ROWS)
    ]


def one_of(values: Iterator[str]) -> Requirement:
    return Requirement.of("example.com/pool", Rule.IN, values)


def evil(profile: Profile) -> Need:
    return Need("evil", profile, CPU, CPU)


class Attacker:
    def __init__(self, session: Session, shard: Running) -> None:
        self.session = session
        self._shard = shard
        self._acknowledged = 0
        self._reading = asyncio.create_task(self._read())

    async def is_accepted(self, *needs: Need) -> bool:
        """Whether the shard takes it; a refusal is counted and not acknowledged."""
        before, refused = self._acknowledged, await self._refused()
        await self.session.send(rollup("evil", next(_TIMES), *needs))

        async def judged() -> bool:
            return self._acknowledged > before or await self._refused() > refused

        await until_told(judged)
        return self._acknowledged > before

    async def withdraw(self) -> None:
        """As often as the shard wants to hear it."""
        while not self._shard.logged("rollup_confirmed"):
            assert await self.is_accepted()
            await RealClock().sleep(0.3)

    def stop(self) -> None:
        self._reading.cancel()

    async def _refused(self) -> float:
        return await self._shard.metric("rollups_rejected_total")

    async def _read(self) -> None:
        async for frame in self.session:
            self._acknowledged += isinstance(frame, Acknowledgement) and frame.echo == "rollup"


# -- where it sends it -----------------------------------------------------------------------------


@asynccontextmanager
async def fleet(folder: Path) -> AsyncIterator[tuple[Running, Operator]]:
    """A shard that has decided things already, also that there is not enough of something."""
    words = provider_words(folder, [offered("on_demand", 4)], ANYWHERE)
    quick = ("--empty-rollup-guard", "true", "--rollup-guard-min-hold", "500ms")
    async with (
        serving(*words) as provider,
        serving(*shard_words(folder / "data", provider.address, *quick)) as shard,
        operating("shop", shard.address) as shop,
    ):
        await shop.report(whole_nodes("shop", 2, LOW), whole_nodes("shop", 9, HIGH))
        await until(lambda: len(shop.configured()) == 4, lambda: shop.nodes)
        await shop.wants(2, LOW)
        await until(lambda: len(shop.configured()) == 2, lambda: shop.nodes)
        yield shard, shop


@asynccontextmanager
async def attacker(shard: Running) -> AsyncIterator[Attacker]:
    async with SessionClient(shard.address, None).open(hello_of("evil")) as session:
        one = Attacker(session, shard)
        try:
            # Small ones first: what every cluster makes a shard load is not its weight.
            for number in range(3):
                assert await one.is_accepted(*wide_rows(-1 - number)[:3])
            yield one
        finally:
            one.stop()


def figures(**measured: float) -> None:
    sys.stdout.write(f"{measured}\n")


def memory_of(shard: Running) -> int:
    """Resident, in MB."""
    pages = int(Path(f"/proc/{shard.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


async def settled_memory(shard: Running) -> int:
    """After ten more cycles."""
    cycles = await shard.metric("cycles_total")

    async def passed() -> bool:
        return await shard.metric("cycles_total") >= cycles + 10

    await until_told(passed)
    return memory_of(shard)
