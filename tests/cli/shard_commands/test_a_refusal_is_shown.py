"""A cluster whose roll-ups are refused: every page about it says so, and why."""

from pathlib import Path

from bigfleet.model.cluster_reports import ClusterReport
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources
from bigfleet.wire.cluster_report_client import ClusterReportClient
from tests.cli.shard_commands.rig import living_shard, need

WHY = "distinct resource names: 65 sent, 64 allowed; see rollup.max_resource_names"


def heavy() -> Need:
    base = need("shop", 1)
    names = {f"example.com/r{number}": "1" for number in range(64)}
    return Need("shop", base.profile, Resources.parse({"cpu": "1", **names}), base.min_unit)


async def test_a_refused_roll_up_is_shown_until_one_is_taken(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 2)) as session:
        await shard.until_bound("shop", 2)
        ingest = shard.process.state.parts.ingest
        await shard.tell(session, "shop", heavy())
        await shard.until(lambda: ingest.refusal_of("shop"))
        for words in (["clusters"], ["clusters", "show", "shop"], ["describe", "cluster", "shop"]):
            said = " ".join((await shard.shown(*words)).split())
            assert "1 roll-up refused in the last" in said, words
            assert "the last accepted demand stays" in said, words
            assert WHY in said, words
        status = await shard.shown("status")
        assert "- the roll-ups of 1 cluster are refused: the last demand that was taken " in status
        assert "  next: why, for each of them: bigfleet clusters\n" in status
        (told,) = (await shard.document("clusters"))["items"]
        assert told["refusedRollup"]["reason"] == "too_heavy"
        assert WHY in told["refusedRollup"]["text"]
        (told,) = (await shard.document("describe", "cluster", "shop"))["refusedRollups"]
        assert WHY in told["text"]
        async with ClusterReportClient(shard.address) as client:
            reply = await client.report(ClusterReport("shop", at=5))
        assert reply.refused_rollup is not None
        assert WHY in reply.refused_rollup.text
        assert reply.refused_rollup.times == 1
        await shard.tell(session, "shop", need("shop", 2))
        await shard.until(lambda: ingest.refusal_of("shop") is None)
        assert "refused" not in await shard.shown("clusters")
        assert "refused" not in await shard.shown("status")
