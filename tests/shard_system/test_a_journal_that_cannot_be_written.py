"""A shard whose journal cannot be written decides as before, and says what is missing."""

from pathlib import Path

from bigfleet.journal.history import History
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.shard_system.rig import ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until, until_told


async def figure(shard: ShardRig, name: str) -> float:
    _, page = await shard.page("/metrics")
    rows = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    return float(rows[f"bigfleet_shard_journal_{name}"])


async def test_cycles_go_on_and_the_gap_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    in_the_way = data / "journal"
    in_the_way.write_text("not a directory")
    async with (
        provided(tmp_path, [offered("bare_metal", 2)]) as provider,
        sharded(data, [provider.address]) as shard,
        ShardAdminClient(shard.address) as admin,
    ):
        cycles = shard.cycles
        await until(lambda: shard.cycles > cycles + 2)
        status = await admin.status()
        assert (status.ready, status.journal_degraded) == (True, True)
        assert status.store_error == "the journal cannot be written: File exists"
        assert await figure(shard, "gaps_total") > 2
        assert await figure(shard, "write_errors_total") > 2
        assert await figure(shard, "degraded") == 1

        in_the_way.unlink()

        async def written() -> bool:
            return await figure(shard, "bytes_total") > 0

        await until_told(written)
        assert not (await admin.status()).journal_degraded
        lost = await figure(shard, "gaps_total")
    history = History()
    recorded = [
        each.given.cycle for each in history.cycles(records_in_order(segments_of(data / "journal")))
    ]
    assert recorded
    assert sum(int(gap.attributes["cycles"]) for gap in history.gaps) == lost
