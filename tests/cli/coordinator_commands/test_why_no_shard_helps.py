"""`bigfleet shards shortfalls`: a real coordinator's sweeps, and what people read of them."""

from pathlib import Path

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import ShortfallDetail
from tests.cli.coordinator_commands.rig import (
    EAGER,
    FOUR,
    LiveFleet,
    living_fleet,
    reads_as,
    two_shards,
)
from tests.cli.shard_commands.rig import need, steady
from tests.shard_system.waiting import until_told


def short_of(priority: int, age: int = 3) -> ShortfallDetail:
    return ShortfallDetail(f"web-{priority}", (), FOUR, FOUR, priority, age)


async def test_why_no_shard_helps_is_said_of_every_shortfall(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", settings=EAGER) as fleet:
        await fleet.sync("shard-0", shortfalls=(short_of(5), short_of(1000)))
        await fleet.sync("shard-1")
        await until_told(lambda: _swept(fleet))
        shown = steady(await fleet.shown("shards", "shortfalls"))
        assert shown == (
            "SHARD PRIORITY DEFICIT CYCLES SWEPT CODE REASON\n"
            "shard-0 1000 cpu 4 3 AGE rebalance.age "
            "short for 3 cycles, and 5 may pass before others help\n"
            "shard-0 5 cpu 4 3 AGE rebalance.age "
            "short for 3 cycles, and 5 may pass before others help"
        )
        found = await fleet.document("shards", "shortfalls", "shard/shard-0", "--limit", "1")
        (item,) = found["items"]
        assert reads_as(pb.ShortfallView(), item)
        assert (item["priority"], found["total"], found["unknownShardIds"]) == (1000, 2, [])
        assert await fleet.shown("shards", "shortfalls", "shard-1") == (
            "No shard is short of anything.\n"
        )


async def test_what_helps_is_said_below_the_shortfalls(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", settings=EAGER) as fleet:
        for _ in range(2):
            await fleet.report("shard-0")
            await fleet.sync("shard-0", shortfalls=(short_of(5, 20), short_of(6, 20)))
        await until_told(lambda: _swept(fleet, "rebalance.donor"))
        shown = await fleet.shown("shards", "shortfalls", "--limit", "1")
        assert "no other shard has machines that may match\n" in shown
        assert shown.endswith(
            "1 of 2 shown, the most urgent; name a shard to see its own\n"
            "rebalance.donor: add machines or offerings that fit\n"
        )


async def test_a_transfer_that_helps_a_shortfall_is_named(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", settings=EAGER) as fleet:
        begun = await fleet.transfer_to("shard-1", donor="shard-0")
        (row,) = (await fleet.document("shards", "shortfalls"))["items"]
        assert (row["transferId"], row["reason"]["code"]) == (begun.id, "rebalance.open")
        assert row["reason"]["text"] == f"transfer {begun.id} is under way for it"


async def test_a_shard_that_has_not_synced_is_not_called_well(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        await fleet.sync("shard-0")
        result = await fleet.run("shards", "shortfalls")
        assert result.exit_code == 5
        assert result.stderr.startswith("shard-1 told this coordinator nothing since it leads; ")
        assert "No shard is short" not in result.stdout


async def test_shortfalls_of_an_unknown_shard_are_not_an_empty_list(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        for words in (("shard/shard-00",), ("shard-00", "-o", "json")):
            said = await fleet.refused(3, "shards", "shortfalls", *words)
            assert said == "the coordinator knows no shard shard-00; did you mean shard-0?\n"


async def _swept(fleet: LiveFleet, code: str = "") -> bool:
    """Whether a sweep has looked at every shortfall, and found this."""
    rows = (await fleet.rig.client.shortfalls()).shortfalls
    return bool(rows) and all(row.swept_at and code in row.reason.code for row in rows)


async def test_why_of_a_short_need_names_the_command(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        short, met = need("shop", 1, priority=50).key, need("ml", 2).key
        shown = await fleet.shown("why", f"need/shop/{short.need_id}")
        assert shown.endswith(
            "next    bigfleet shards shortfalls shard-0 shows why no other shard helps\n"
        )
        assert "shortfalls" not in await fleet.shown("why", f"need/ml/{met.need_id}")
