"""`describe` and `top`: everything known of one object, and the largest ones first."""

import json
from pathlib import Path

from tests.cli.coordinator_commands.rig import NOWHERE, LiveFleet, two_shards
from tests.cli.shard_commands.rig import FIRST, WHY, need, run, steady

SHORT = need("shop", 1, priority=50).key.need_id


async def field_of(fleet: LiveFleet, kind: str, name: str) -> dict[str, str]:
    lines = (await fleet.shown("describe", kind, name, "-o", "csv")).splitlines()
    assert lines[0] == "FIELD,VALUE"
    return dict(line.split(",", 1) for line in lines[1:])


async def test_a_machine_is_told_with_its_need_and_its_story(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        page = await fleet.shown("describe", "machine", FIRST)
        assert page.startswith(f"machine/{FIRST} is Configured for cluster ml")
        fields = await field_of(fleet, "machine", FIRST)
        assert (fields["shard"], fields["cluster"]) == ("shard-1", "ml")
        serves = f"ml/{need('ml', 2).key.need_id}"
        assert fields["serves"] == f"need/{serves}"
        assert "What touched it, newest last:" in page
        assert f"bigfleet describe need {serves}" in page
        document = await fleet.document("describe", f"machine/{FIRST}")
        assert (document["name"], document["shards"]) == (f"machine/{FIRST}", ["shard-1"])
        assert document["events"]
        assert await fleet.shown("describe", "machine", FIRST, "-o", "name") == f"machine/{FIRST}\n"


async def test_a_need_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        for words in (("need", SHORT[:7]), (f"need/shop/{SHORT}",), ("need", f"shop/{SHORT[:5]}")):
            page = await fleet.shown("describe", *words)
            assert page.startswith(f"need/shop/{SHORT} is short, for ")
            said = "none of the 0 machines of the shard is Idle, Speculative or Configured"
            assert f"\n{said}\n" in page
        served = await fleet.document("describe", "need", need("ml", 2).key.need_id)
        assert served["machineIds"] == fleet.shards["shard-1"].bound_to("ml")
        both = await fleet.refused(2, "describe", "need", "n")
        assert "2 needs begin with n: ml/n" in both
        wrong = f"{SHORT[:-1]}x"
        said = await fleet.refused(3, "describe", "need", wrong)
        assert said == f"no need {wrong} in these 2 shards; did you mean {SHORT}?\n"


async def test_a_cluster_is_told_with_its_machines_and_what_is_short(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        page = await fleet.shown("describe", "cluster", "ml")
        assert page.startswith("cluster/ml has 2 machines for $0.00/h; all 1 need met")
        assert FIRST in page
        short = await fleet.shown("describe", "cluster", "shop")
        assert "1 need: 1 short" in short
        assert f"need/shop/{SHORT}: none of the 0 machines" in short
        said = await fleet.refused(3, "describe", "cluster", "shpo")
        assert said == "no cluster shpo in these 2 shards; did you mean shop?\n"


async def test_a_pause_stands_on_every_page_it_holds_with_how_to_lift_it(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        await fleet.run("pause", "--cluster", "ml", *WHY)
        (pause,) = (await fleet.document("pause", "list"))["items"]
        lift = f"bigfleet resume {pause['pauseId']} --reason WHY"
        for kind, name in (("machine", FIRST), ("cluster", "ml"), ("shard", "shard-1")):
            page = await fleet.shown("describe", kind, name)
            assert "everything of cluster ml" in page or "of cluster ml" in page
            assert "a test" in page
            assert lift in page
        assert "a test" not in await fleet.shown("describe", "cluster", "shop")


async def test_a_shard_is_told_with_its_clusters(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        page = steady(await fleet.shown("describe", "shard", "shard-1"))
        assert page.startswith("shard-1 is ready; cycle N took")
        assert "ml open AGE 1 0 2" in page
        at = fleet.shards["shard-0"].address
        assert (await fleet.shown("describe", "shard", at)).startswith("shard-0 is ready")
        said = await fleet.refused(3, "describe", "shard", "shard-7")
        assert "no shard shard-7 in these 2 shards; nearest are shard-" in said


async def test_what_cannot_be_described_is_told_with_what_can() -> None:
    for words, said in {
        ("machne", "m-1"): "'machne' is not a kind of object; did you mean machine?",
        ("offering", "sim/a/b/Spot"): "'offering' cannot be described; there are machine, need,",
        ("machine",): "write: bigfleet describe machine NAME",
    }.items():
        result = await run("describe", *words, "--coordinator", NOWHERE)
        assert result.exit_code == 2
        assert said in result.stderr


async def test_the_largest_come_first(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        lines = steady(await fleet.shown("top", "clusters")).splitlines()
        assert lines == [
            "CLUSTER MACHINES $/H NEEDS UNMET SHORT SHARD",
            "ml 2 0.00 1 0 0 shard-1",
            "shop 0 0.00 1 1 1 shard-0",
        ]
        worst = await fleet.document("top", "clusters", "--sort-by=-UNMET")
        assert [item["clusterId"] for item in worst["items"]] == ["shop", "ml"]
        shards = (await fleet.document("top", "shards"))["items"]
        assert [(item["shardId"], item["machines"]) for item in shards] == [
            ("shard-1", 12),
            ("shard-0", 0),
        ]
        assert all(item["cpuCores"] > 0 for item in shards)
        assert all(item["residentBytes"] > 2**20 for item in shards)
        head, first, _ = (await fleet.shown("top", "shards")).splitlines()
        assert head.endswith("CYCLE_MS  CORES  MEMORY_MIB")
        cores, mebibytes = first.replace(",", "").split()[-2:]
        assert float(cores) > 0
        assert int(mebibytes) > 1
        page = await fleet.shown("describe", "shard", "shard-1")
        assert "cores, last minute" in page
        assert "memory" in page
        await fleet.report("shard-2", NOWHERE)
        part = await fleet.run("top", "-o", "json")
        assert (part.exit_code, len(json.loads(part.stdout)["unreachable"])) == (5, 1)
