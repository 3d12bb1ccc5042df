"""A provider mixes up its records: its Lists give every machine to another cluster, or free it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bigfleet.model.session_frames import ReclaimInstruction
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.sim_control import SimControlClient
from tests.nightly import IS_NIGHTLY
from tests.shard_processes.process import Running, provider_words, serving, shard_words
from tests.shard_system.demand import LOW
from tests.shard_system.operators import Operator, operating
from tests.shard_system.rig import offered
from tests.shard_system.waiting import until, until_told

#: Lists are asked for ten times a second; it once took 9 s of them to drain 28 machines.
LIES = 90 if IS_NIGHTLY else 20
SHOP, ML = (24, 14) if IS_NIGHTLY else (6, 4)


@dataclass(slots=True)
class Fleet:
    shard: Running
    control: SimControlClient
    shop: Operator
    ml: Operator

    def reclaimed(self) -> int:
        return len(self.shop.seen(ReclaimInstruction)) + len(self.ml.seen(ReclaimInstruction))

    async def told_lies(self, number: int) -> None:
        """So many of them, and true Lists after them for some cycles."""

        async def told() -> bool:
            events = [event["event"] async for event in self.control.events()]
            return events.count("list.wrong") >= number

        await until_told(told)
        cycles = await self.shard.metric("cycles_total")

        async def decided() -> bool:
            return await self.shard.metric("cycles_total") > cycles + 3

        await until_told(decided)


@asynccontextmanager
async def attacked(folder: Path) -> AsyncIterator[Fleet]:
    offers = [offered("bare_metal", SHOP + ML + 2)]
    async with serving(*provider_words(folder, offers, "127.0.0.1:0")) as provider:
        words = shard_words(folder / "data", provider.address)
        async with (
            serving(*words) as shard,
            SimControlClient(provider.address) as control,
            operating("shop", shard.address) as shop,
            operating("ml", shard.address) as ml,
        ):
            await shop.wants(SHOP, LOW)
            await ml.wants(ML, LOW)
            await until(lambda: len(shop.configured()) == SHOP, lambda: shop.nodes)
            await until(lambda: len(ml.configured()) == ML, lambda: ml.nodes)
            yield Fleet(shard, control, shop, ml)


#: What Lists say of every Configured machine, and what the hold says of them.
WRONG = (("ml", f"{SHOP} from shop to ml"), ("-", f"{SHOP + ML} are listed as Idle"))


async def test_no_machine_is_drained_or_given_away(tmp_path: Path) -> None:
    async with attacked(tmp_path) as fleet, ShardAdminClient(fleet.shard.address) as admin:
        shop, ml = fleet.shop.configured(), fleet.ml.configured()
        for attacks, (cluster, seen) in enumerate(WRONG, 1):
            await fleet.control.do("list-rebind", (cluster, str(LIES)))
            held: list[str] = []

            async def quarantined(held: list[str] = held) -> bool:
                held.extend(each.what for each in await admin.quarantines())
                return bool(held)

            await until_told(quarantined)
            assert seen in held[0]
            await fleet.told_lies(attacks * LIES)
            assert fleet.reclaimed() == 0
            assert (fleet.shop.configured(), fleet.ml.configured()) == (shop, ml)
            assert await admin.quarantines() == ()
            assert fleet.shard.logged("list_quarantined")
