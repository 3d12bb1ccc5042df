"""The verbs that look at a fleet: what a real coordinator and its shards say, also in JSON."""

from collections.abc import Callable
from pathlib import Path

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as shard_pb
from bigfleet.model.coordination import QuotaUsage
from bigfleet.model.coordinator_calls import AckOutcome, InstructionAck
from bigfleet.model.instants import instant_of
from bigfleet.model.ownership import PROVIDER_KEY
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from tests.cli.coordinator_commands.rig import (
    EAGER,
    ZONE,
    LateClock,
    LiveFleet,
    living_fleet,
    reads_as,
    shortfall,
)
from tests.cli.shard_commands.rig import FIRST, WHY, LiveShard, living_shard, need, steady
from tests.coordinator_process.rig import ADA, PROVIDER

STATUS = """\
node-1 leads in term 1; 2 shards, 2 clusters, 1 domain; 1 instruction pending, 0 transfers open
COORDINATOR REPLICA ROLE TERM STORE REVISION VERSION ERROR
ADDRESS node-1 leader 1 sqlite N 1.2.3 -
SHARD ADDRESS CYCLE SESSIONS MACHINES FAILED NEEDS SHORT LINK STATE
shard-0 ADDRESS N 1 14 0 1 0 none ready
shard-1 ADDRESS N 0 14 0 0 0 none ready
No pause or quarantine is in force, and no quota is set."""

INSTANT = "INSTANT"
POOL = ("--provider", "sim", "--region", "eu")
DOMAIN = ("--key", ZONE, "--value", "z1")
CLUSTERS = """\
CLUSTER SHARD SESSION NEEDS UNMET MACHINES BOUND_SINCE NODES REQUESTS COVERED_NOT_PLACED ARRIVING \
BLOCKED SHORT PAUSED
ml shard-1 closed - 0 0 AGE - - - 0 0 0 -
shop shard-0 open AGE 1 0 3 AGE - - - 0 0 0 -
stray shard-1 open AGE 1 0 1 - - - - 0 0 0 -"""


async def test_a_fleet_is_shown_in_one_screen(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", sim=True) as fleet:
        shard = fleet.shards["shard-0"]
        async with shard.operator("shop", need("shop", 3)):
            await shard.until_bound("shop", 3)
            await fleet.sync("shard-0", "shop")
            await fleet.sync("shard-1", "ml")
            await fleet.rig.client.assign_domain(
                ADA, topology_key=ZONE, topology_value="z1", shard_id="shard-1"
            )
            varying = ((r"(?<=sqlite )\d+", "N"), (r"(?<=ADDRESS )\d+(?= \d 14)", "N"))
            assert steady(await fleet.shown("status"), *varying) == STATUS

            found = await fleet.document("status")
            assert reads_as(pb.CoordinatorStatus(), found["coordinator"])
            assert found["replicas"] == [{"address": fleet.rig.address, **found["coordinator"]}]
            for item in found["items"]:
                assert reads_as(shard_pb.ShardStatus(), item, "address", "quarantines", "offerings")
            assert [item["machines"] for item in found["items"]] == [14, 14]
            assert instant_of(found["queriedAt"])


async def test_what_holds_a_shard_back_is_said_in_its_line(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        await fleet.shown("pause", "--rebalance", *WHY)
        shown = await fleet.shown("status")
        assert "transfers open; rebalancing is paused; 1 pause in force\n" in shown
        assert "ready; 1 pause in force; no provider" in shown


async def test_what_holds_a_fleet_back_is_shown_once_in_its_status(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", sim=True) as fleet:
        await fleet.shown("pause", "--cluster", "shop", *WHY)
        await fleet.shown("quotas", "set", *POOL, "--total", "1000", *WHY)
        await fleet.sync("shard-0", usage=(QuotaUsage("sim", "eu", 0, 300, 10, 100),))
        shard = fleet.shards["shard-0"]
        await shard.do("fail", FIRST, "disk")
        await shard.until(lambda: shard.process.state.parts.failures.count() == 1)
        broken = fleet.shards["shard-1"]
        await broken.do("list-empty", "1000000")
        await broken.until(lambda: broken.process.state.quarantines())

        shown = await fleet.shown("status")
        assert "; 1 pause in force; 1 machine Failed: bigfleet machines --failed\n" in shown
        (pause,) = [line for line in shown.splitlines() if "every action of cluster shop" in line]
        assert pause.startswith("- all 2 shards: every action of cluster shop is paused by ada ")
        assert pause.endswith(": a test")
        assert shown.count("bigfleet resume ") == 1
        (held,) = [line for line in shown.splitlines() if "Lists of provider sim" in line]
        assert held.startswith("- shard-1: ")
        assert "(14 of 14 machines are missing)" in held
        assert "bigfleet quarantines release list sim --accept --reason WHY\n" in shown
        (quota,) = [line for line in shown.splitlines() if line.startswith("sim       eu")]
        assert quota.split() == ["sim", "eu", "300", "1,000"]

        found = await fleet.document("status")
        told = {each["code"]: each for each in found["findings"]}
        assert set(told) == {"rail.paused", "machines.failed", "rail.quarantine.list"}
        assert told["machines.failed"]["command"] == "bigfleet machines --failed"
        assert told["rail.paused"]["shardIds"] == ["shard-0", "shard-1"]
        (document,) = found["pauses"]
        assert (document["coordinator"], document["shardIds"]) == (True, ["shard-0", "shard-1"])
        assert found["quotas"][0]["inUse"] == {"shard-0": 300}
        assert [item.get("failedMachines", 0) for item in found["items"]] == [1, 0]
        assert "1 machine Failed" in await fleet.shown("status", "--shard", "shard-0")


async def test_a_cluster_says_what_is_paused_for_it(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", sim=True) as fleet:
        shard = fleet.shards["shard-0"]
        async with (
            shard.operator("shop", need("shop", 1)),
            shard.operator("ml", need("ml", 1)),
        ):
            await shard.until_bound("shop", 1)
            await fleet.sync("shard-0", "shop", "ml")
            words = ("--kind", "reclaim", "--kind", "preempt", "--ttl", "30m")
            await fleet.shown("pause", "--cluster", "shop", *words, *WHY)
            await fleet.shown("pause", "--rebalance", *WHY)
            rows = {line.split()[0]: line for line in (await fleet.shown("clusters")).splitlines()}
            assert rows["shop"].endswith("Reclaim and Preempt")
            assert rows["ml"].split()[-1] == "-"
            items = {i["clusterId"]: i for i in (await fleet.document("clusters"))["items"]}
            (pause,) = items["shop"]["pauses"]
            assert pause["scope"]["clusterIds"] == ["shop"]
            assert items["ml"]["pauses"] == []
            shown = await fleet.shown("clusters", "show", "shop")
            assert f"Paused: Reclaim and Preempt of cluster shop by ada until {INSTANT}" in (
                steady(shown)
            )
            assert f"bigfleet resume {pause['pauseId']} --reason WHY" in shown


async def test_one_shard_of_a_fleet_is_shown_by_its_id(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        for word in ("shard-1", "shard/shard-1", fleet.shards["shard-1"].address):
            shown = await fleet.shown("status", "--shard", word)
            assert shown.startswith("shard-1 is ready; cycle ")
        for verb in ("needs", "machines", "quarantines", "reports offerings"):
            await fleet.shown(*verb.split(), "--shard", "shard-0")


async def test_shards_are_listed_with_how_long_they_have_been_silent(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", clock=LateClock()) as fleet:
        assert steady(await fleet.shown("shards")) == (
            "SHARD ADDRESS EPOCH REGISTERED LAST_HEARTBEAT STATE\n"
            "shard-0 ADDRESS 1 AGE AGE stale\n"
            "shard-1 ADDRESS 1 AGE AGE stale"
        )
        listed = await fleet.document("shards", "list")
        for item in listed["items"]:
            assert reads_as(contract.ShardRegistryEntry(), item, "state", "epoch")
        assert [item["state"] for item in listed["items"]] == ["stale", "stale"]


async def test_who_has_not_spoken_to_this_leader_is_silent(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0"):
        pass
    async with living_fleet(tmp_path) as fleet:
        assert "- silent" in " ".join((await fleet.shown("shards")).split())


def _all_met(shard: LiveShard) -> Callable[[], bool]:
    return lambda: shard.process.state.decision_loop.ledger.counts().met == 1


async def test_clusters_are_listed_over_all_shards(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", sim=True) as fleet:
        first, second = fleet.shards["shard-0"], fleet.shards["shard-1"]
        async with (
            first.operator("shop", need("shop", 3)),
            second.operator("stray", need("stray", 1)),
        ):
            await first.until_bound("shop", 3)
            await second.until_bound("stray", 1)
            for shard in (first, second):
                await shard.until(_all_met(shard))
            await fleet.sync("shard-0", "shop")
            await fleet.sync("shard-1", "ml")
            assert steady(await fleet.shown("clusters")) == CLUSTERS
            shown = await fleet.shown("clusters", "show", "shop")
            assert "shop at shard-0" in shown
            assert "all 1 need met" in shown
            nobody = await fleet.run("clusters", "show", "nobody")
            assert (nobody.exit_code, "no shard serves" in nobody.stderr) == (3, True)
            one = await fleet.document("clusters", "--shard", "shard-0")
            assert [item["clusterId"] for item in one["items"]] == ["shop"]
            assert reads_as(
                shard_pb.SessionView(),
                one["items"][0],
                *("shardId", "unmet", "machines", "pauses", "boundUnixNanos"),
            )
            assert (one["items"][0]["machines"], one["unreachable"]) == (3, [])


async def test_reports_are_shown_per_shard_with_what_is_short(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        await fleet.report("shard-1", shortfalls=(shortfall(1000), shortfall(5)))
        shown = steady(await fleet.shown("reports"))
        assert shown == (
            "2 shards; 14 machines, 8 free; 2 short\n"
            "SHARD TOTAL FREE SHORTFALLS AGE BY_ZONE BY_TYPE\n"
            "shard-0 7 4 0 AGE z1=5, z2=2 a3=5, b1=2\n"
            "shard-1 7 4 2 AGE z1=5, z2=2 a3=5, b1=2\n"
            "SHARD PRIORITY DEFICIT CYCLES\n"
            "shard-1 1000 cpu 4 9\n"
            "shard-1 5 cpu 4 9\n"
            "bigfleet shards shortfalls says why no other shard helps"
        )
        one = await fleet.document("reports", "shards", "--shard", "shard-1")
        (item,) = one["items"]
        assert reads_as(contract.ShardReportSnapshot(), item)
        assert (item["shardId"], item["summary"]["freeMachines"]) == ("shard-1", 4)
        assert [row["priority"] for row in item["shortfalls"]] == [1000, 5]


async def test_a_shard_without_a_coordinator_makes_its_own_report(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, shard.operator("ml", need("ml", 1, kind="gpu")):
        await shard.until(lambda: len(shard.process.state.parts.shortfalls) == 1)
        shown = steady(await shard.shown("reports"), (r"(?<=cpu 1 )\d+", "N"))
        assert shown == (
            "1 shard; 14 machines, 14 free; 1 short\n"
            "SHARD TOTAL FREE SHORTFALLS AGE BY_ZONE BY_TYPE\n"
            "shard-0 14 14 1 AGE a=12, b=2 std-8=12, std-2=2\n"
            "SHARD PRIORITY DEFICIT CYCLES\n"
            "shard-0 100 cpu 1 N"
        )
        (item,) = (await shard.document("reports", "shards"))["items"]
        assert reads_as(contract.ShardReportSnapshot(), item)
        assert item["summary"]["perZoneCounts"] == {"a": 12, "b": 2}


async def test_instructions_of_an_unknown_shard_are_not_an_empty_list(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        for words in (("shard/shard-00",), ("shard-00", "-o", "json")):
            said = await fleet.refused(3, "shards", "instructions", *words)
            assert said == "the coordinator knows no shard shard-00; did you mean shard-0?\n"
        known = await fleet.shown("shards", "instructions", "shard-0")
        assert known == "No instruction waits.\n"


async def test_domains_and_the_instructions_they_cause_are_shown(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        assert steady(await fleet.shown("domains")) == (
            "No domain is assigned: default owners own everything.\n"
            f"KEY VALUE SHARD\n{PROVIDER_KEY} {PROVIDER} shard-0"
        )
        assert await fleet.shown("shards", "instructions") == "No instruction waits.\n"
        said = await fleet.shown("domains", "assign", *DOMAIN, "--shard", "shard-1", *WHY)
        assert said.startswith(f"{ZONE}=z1 goes to shard-1 once shard-0 has given it up; ")
        assert (await fleet.shown("domains")).splitlines()[1].split() == (
            [ZONE, "z1", "(changes", "hands)"]
        )
        assert steady(await fleet.shown("shards", "instructions")) == (
            "SHARD SEQUENCE INSTRUCTION KIND AGE TRIES LAST WHAT\n"
            f"shard-0 1 dom-1/unassign unassign-domain AGE 0 - {ZONE}=z1"
        )
        await _give_up(fleet, AckOutcome.FAILED, "machines are bound there")
        told = await fleet.shown("shards", "instructions", "shard/shard-0")
        assert f"1  failed  {ZONE}=z1: machines are bound there" in told
        (waiting,) = (await fleet.document("shards", "instructions"))["items"]
        assert reads_as(pb.PendingInstruction(), waiting)

        await _give_up(fleet, AckOutcome.ACCEPTED)
        assert (await fleet.shown("domains")).splitlines()[1].split() == [ZONE, "z1", "shard-1"]
        assert (await fleet.shown("domains")).splitlines()[2].split() == (
            [PROVIDER_KEY, PROVIDER, "shard-0"]
        )
        listed = await fleet.document("domains", "list")
        (item,), (default,) = listed["items"], listed["defaultOwners"]
        assert reads_as(contract.DomainAssignment(), item)
        assert reads_as(pb.DefaultOwner(), default)
        again = await fleet.shown("domains", "assign", *DOMAIN, "--shard", "shard-1", *WHY)
        assert again == f"{ZONE}=z1 belongs to shard-1\n"


async def test_quotas_are_shown_with_who_uses_them(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        assert await fleet.shown("quotas") == "No quota is set: nothing is limited.\n"
        await fleet.shown("quotas", "set", *POOL, "--total", "1000", *WHY)
        for shard, used in (("shard-0", 300), ("shard-1", 5)):
            await fleet.sync(shard, usage=(QuotaUsage("sim", "eu", 0, used, 10, 100),))
        first, second = (await fleet.shown("quotas")).splitlines()
        assert first.split() == ["PROVIDER", "REGION", "TOTAL", "ALLOCATED", "IN_USE", "BY_SHARD"]
        words = second.split()
        assert words[:3] == ["sim", "eu", "1,000"]
        assert (words[4], words[5][:12]) == ("305", "shard-0=300/")
        (item,) = (await fleet.document("quotas"))["items"]
        assert reads_as(shared.QuotaAllocation(), item)
        assert item["inUse"] == {"shard-0": 300, "shard-1": 5}


async def test_providers_are_shown_with_the_breakers_of_their_shards(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", sim=True) as fleet:
        shard = fleet.shards["shard-0"]
        address = shard.process.state.settings.provider_addr[0].removeprefix("sim=")
        await fleet.shown("providers", "set", "sim", "--address", address, "--region", "eu", *WHY)
        await fleet.sync("shard-0", provider=address)
        await fleet.shown("providers", "set", "aws", "--address", "a:9000", *WHY)
        assert steady(await fleet.shown("providers")) == (
            "NAME ADDRESS REGION SHARDS BREAKER\naws a:9000 - - -\nsim ADDRESS eu shard-0 closed"
        )
        items = (await fleet.document("providers"))["items"]
        assert [reads_as(shared.ProviderEntry(), item, "breakers") for item in items] == [True] * 2
        assert items[1]["breakers"] == {"shard-0": "closed"}


async def test_transfers_are_shown_with_their_reason(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1", settings=EAGER) as fleet:
        assert await fleet.shown("shards", "transfers") == "Nothing moves.\n"
        begun = await fleet.transfer_to("shard-1", donor="shard-0")
        shown = await fleet.shown("shards", "transfers")
        assert steady(shown).startswith(
            "TRANSFER TIER FROM TO MACHINES STATE AGE IDS REASON\n"
            f"{begun.id} idle shard-0 shard-1 0 offered AGE - shard-1 is short of cpu 4"
        )
        (item,) = (await fleet.document("shards", "transfers"))["items"]
        assert reads_as(pb.Transfer(), item)
        assert item["state"] == "TRANSFER_STATE_OFFERED"

        said = await fleet.shown("shards", "cancel", begun.id, *WHY)
        assert said == f"transfer {begun.id} (0 machines from shard-0 to shard-1) is cancelled\n"
        assert begun.id not in await fleet.shown("shards", "transfers")
        ended = await fleet.document("shards", "transfers", "--all")
        assert "TRANSFER_STATE_CANCELLED" in [
            item["state"] for item in ended["items"] if item["transferId"] == begun.id
        ]


async def _give_up(fleet: LiveFleet, outcome: AckOutcome, reason: str = "") -> None:
    """The old owner of the domain answers what it was told."""
    await fleet.report("shard-0", acks=(InstructionAck("dom-1/unassign", outcome, reason),))
