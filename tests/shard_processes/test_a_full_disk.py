"""A disk that takes nothing: decisions go on, audit lines are counted as lost, and what must be
remembered is not begun."""

import json
from pathlib import Path

from bigfleet.model.session_frames import ReclaimInstruction
from bigfleet.model.statements import InvoiceCall
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.shard_processes.process import serving, shard_words
from tests.shard_system.demand import LOW
from tests.shard_system.operators import operating
from tests.shard_system.rig import AUDIT, offered, provided
from tests.shard_system.waiting import until, until_told


async def test_a_full_disk_stops_new_drains_and_nothing_else(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with (
        provided(tmp_path, [offered("bare_metal", 6)]) as provider,
        serving(*shard_words(data_dir, provider.address, "--journal-audit-log", AUDIT)) as shard,
        operating("shop", shard.address) as shop,
    ):
        await shop.wants(3, LOW)
        await until(lambda: len(shop.configured()) == 3, lambda: shop.nodes)
        shard.fill_disk()
        # Bootstraps are not remembered anywhere: they go on.
        await shop.wants(5, LOW)
        await until(lambda: len(shop.configured()) == 5, lambda: shop.nodes)

        async def lost() -> bool:
            return await shard.metric("audit_lines_lost") >= 2

        await until_told(lost)
        # What is logged, told on the session and shown on the page comes on three ways.
        await until(lambda: shard.logged("audit.degraded"), lambda: shard.lines)
        # The drain that finds out is under way; no other follows it.
        shop.evicts = False
        await shop.wants(4, LOW)
        await until(lambda: shard.logged("state.degraded"), lambda: shard.lines)
        await until(lambda: shop.seen(ReclaimInstruction), lambda: shop.frames)

        async def shown() -> bool:
            return await shard.metric("state_degraded") == 1

        await until_told(shown)
        # The statement of that drain waits for the disk, and says so.
        await until(lambda: shard.logged("statements.degraded"), lambda: shard.lines)
        assert "the disk is full" in shard.logged("statements.degraded")[0]["msg"]
        await shop.wants(2, LOW)
        cycles = await shard.metric("cycles_total")

        async def cycled() -> bool:
            return await shard.metric("cycles_total") > cycles + 5

        await until_told(cycled)
        assert len(shop.seen(ReclaimInstruction)) == 1
        assert len(shop.configured()) == 5
        shard.fill_disk(is_full=False)
        await until(lambda: shard.logged("state.recovered"), lambda: shard.lines)
        await until(lambda: shard.logged("statements.recovered"), lambda: shard.lines)
        await until(lambda: len(shop.seen(ReclaimInstruction)) == 3, lambda: shard.lines)
        shop.evicts = True
        for instruction in shop.seen(ReclaimInstruction):
            await shop.finish(instruction)
        await until(lambda: len(shop.nodes) == 2, lambda: shop.nodes)
        async with ShardAdminClient(shard.address) as admin:

            async def stated() -> bool:
                return (await admin.invoices(InvoiceCall())).total == 3

            await until_told(stated)
            found = await admin.invoices(InvoiceCall())
            assert (found.gaps, found.trouble) == ((), "")
        lines = (data_dir / AUDIT).read_text().splitlines()
        assert all(json.loads(line)["kind"] for line in lines)
        assert not shard.logged("shard.died")
