"""The kill switch over a whole fleet: said to the coordinator and to every shard, directly."""

import json
from dataclasses import replace
from pathlib import Path

from google.protobuf.json_format import ParseDict

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.pauses import PauseScope, PauseSource
from tests.cli.coordinator_commands.rig import NOWHERE, LiveFleet, living_fleet
from tests.cli.shard_commands.rig import SETTINGS, WHY, LiveShard, run, steady


def paused(shard: LiveShard) -> dict[str, PauseScope]:
    return {each.pause_id: each.scope for each in shard.process.state.parts.pauses.active()}


async def told_by_the_coordinator(fleet: LiveFleet, shard: str, at: Instant = 1) -> None:
    """What the shard's next sync brings it."""
    reply = await fleet.sync(shard)
    pauses = fleet.shards[shard].process.state.parts.pauses
    pauses.on_coordinator(reply.pauses, at)


async def test_a_pause_is_confirmed_by_everybody_and_lifted_everywhere(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        made = await fleet.shown("pause", "--kind", "reclaim", *WHY)
        assert steady(made) == (
            "SHARD PAUSE SCOPE EXPIRES\ncoordinator PAUSE Reclaim until INSTANT\n".replace(
                "Reclaim", "Reclaim"
            )
            + "shard-0 PAUSE Reclaim until INSTANT\n"
            "shard-1 PAUSE Reclaim until INSTANT"
        )
        pause_id = made.split()[5]
        wanted = {pause_id: PauseScope(kinds=(ActionKind.RECLAIM,))}
        assert [paused(shard) for shard in fleet.shards.values()] == [wanted, wanted]
        listed = await fleet.shown("pause", "list")
        assert steady(listed) == (
            "ID SCOPE SOURCE OWNER AGE EXPIRES WHERE REASON\n"
            "PAUSE Reclaim rpc ada AGE until INSTANT all a test"
        )
        lifted = await fleet.shown("resume", pause_id, *WHY)
        assert [line.split() for line in lifted.splitlines()[1:]] == [
            ["coordinator", pause_id, "nothing"],
            ["shard-0", pause_id, "nothing"],
            ["shard-1", pause_id, "nothing"],
        ]
        assert await fleet.shown("pause", "list") == "Nothing is paused.\n"
        assert [paused(shard) for shard in fleet.shards.values()] == [{}, {}]


async def test_a_pause_of_some_shards_reaches_only_them(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        made = await fleet.document("pause", "--shard", "shard-1", "--ttl", "30m", *WHY)
        assert [item.get("shard") for item in made["items"]] == [None, "shard-1"]
        assert made["items"][0].pop("coordinator") == fleet.rig.address
        made["items"][1].pop("shard")
        for item in made["items"]:
            ParseDict(item, shared.PauseResponse())
            assert item["pause"]["scope"]["shardIds"] == ["shard-1"]
        assert paused(fleet.shards["shard-0"]) == {}
        assert (await fleet.sync("shard-0")).pauses == ()
        (told,) = (await fleet.sync("shard-1")).pauses
        assert told.scope.shard_ids == ("shard-1",)
        where = (await fleet.document("pause", "list"))["items"][0]
        assert (where["coordinator"], where["shardIds"]) == (True, ["shard-1"])


async def test_moves_between_shards_are_paused_alone(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.shown("pause", "--rebalance", *WHY)
        (pause,) = (await fleet.rig.client.pauses()).pauses
        assert pause.scope == PauseScope(rebalance_only=True)
        assert "rebalancing is paused" in await fleet.shown("status")


async def test_where_a_shard_does_not_confirm_the_check_fails(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.report("shard-1", NOWHERE)
        half = await fleet.run("pause", *WHY)
        assert half.exit_code == 1
        assert [line.split()[0] for line in half.stdout.splitlines()] == (
            ["SHARD", "coordinator", "shard-0"]
        )
        assert half.stderr.startswith("shard-1: no shard answers at 127.0.0.1:1 ")
        # A shard that is away hears of it from the coordinator.
        assert len((await fleet.sync("shard-1")).pauses) == 1
        listed = await fleet.run("pause", *WHY, "-o", "json")
        items = {item.get("shard"): item for item in json.loads(listed.stdout)["items"]}
        assert items["shard-1"]["error"]["code"] == "UNAVAILABLE"


async def test_a_shard_that_heard_of_it_by_its_coordinator_first_confirms(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        made = await fleet.document("pause", *WHY)
        pause_id = made["items"][0]["pause"]["pauseId"]
        await told_by_the_coordinator(fleet, "shard-0")
        pauses = fleet.shards["shard-0"].process.state.parts.pauses
        assert [each.source for each in pauses.active()] == [
            PauseSource.RPC,
            PauseSource.COORDINATOR,
        ]
        lifted = (await fleet.shown("resume", pause_id, *WHY)).splitlines()
        assert lifted[2].split(maxsplit=2) == [
            "shard-0",
            pause_id,
            f"{pause_id} (until its next report)",
        ]


async def test_what_a_shard_has_only_from_its_coordinator_ends_with_its_next_report(
    tmp_path: Path,
) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        made = await fleet.document("pause", *WHY)
        pause_id = made["items"][0]["pause"]["pauseId"]
        shard = fleet.shards["shard-0"]
        shard.process.state.parts.pauses.resume(pause_id, False, 1)
        await told_by_the_coordinator(fleet, "shard-0")
        lifted = (await fleet.shown("resume", pause_id, *WHY)).splitlines()
        assert lifted[2].split(maxsplit=2) == [
            "shard-0",
            "nothing",
            f"{pause_id} (until its next report)",
        ]
        await told_by_the_coordinator(fleet, "shard-0")
        assert paused(shard) == {}


async def test_all_pauses_of_one_shard_are_lifted_and_those_of_others_stay(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        await fleet.shown("pause", "--cluster", "shop", *WHY)
        await fleet.shown("pause", "--shard", "shard-1", *WHY)
        await fleet.shown("resume", "--all", "--shard", "shard-1", *WHY)
        (left,) = (await fleet.rig.client.pauses()).pauses
        assert left.scope.cluster_ids == ("shop",)
        assert paused(fleet.shards["shard-1"]) == {}
        assert len(paused(fleet.shards["shard-0"])) == 1
        await fleet.shown("resume", "--all", *WHY)
        assert await fleet.shown("pause", "list") == "Nothing is paused.\n"


async def test_an_unknown_pause_cannot_be_lifted(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        missed = await fleet.run("resume", "no-such", *WHY)
        assert missed.exit_code == 3
        assert "no pause no-such is in force" in missed.stderr


async def test_a_pause_that_only_some_have_is_listed_with_where(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        direct = await run("pause", *WHY, "--shard", fleet.shards["shard-1"].address)
        assert direct.exit_code == 0
        assert "shard-1  a test" in await fleet.shown("pause", "list")


async def test_the_kill_switch_works_where_the_coordinator_does_not(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        shard = fleet.shards["shard-0"]
        gone = ("--coordinator", NOWHERE)
        half = await run("pause", *WHY, "--shard", shard.address, *gone)
        assert half.exit_code == 1
        assert half.stdout.split()[4] == shard.address
        assert half.stderr.startswith("coordinator: no coordinator answers at 127.0.0.1:1 ")
        assert len(paused(shard)) == 1
        half = await run("resume", "--all", *WHY, "--shard", shard.address, *gone)
        assert (half.exit_code, paused(shard)) == (1, {})
        for words in (("pause",), ("resume", "--all"), ("pause", "--shard", "shard-0")):
            nobody = await run(*words, *WHY, *gone)
            assert (nobody.exit_code, nobody.stdout) == (3, "")
            assert "name shards by address: --shard HOST:PORT" in nobody.stderr


async def test_a_shard_is_paused_through_a_tunnel(tmp_path: Path) -> None:
    """The coordinator knows it at an address that is not reached from here."""
    async with living_fleet(tmp_path, "shard-0") as fleet, living_fleet(tmp_path / "far") as far:
        near = fleet.shards["shard-0"].address
        await far.report("shard-0", "10.255.0.1:7780")
        made = await far.shown("pause", "--shard", near, *WHY)
        assert [line.split()[0] for line in made.splitlines()[1:]] == ["coordinator", "shard-0"]
        await far.shown("resume", "--all", "--shard", near, *WHY)


async def test_a_shard_outside_the_fleet_is_paused_directly_and_told(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet, living_fleet(tmp_path / "far") as far:
        stranger = fleet.shards["shard-0"]
        half = await far.run("pause", "--shard", stranger.address, *WHY)
        assert half.exit_code == 1
        assert "the coordinator knows no shard shard-0" in half.stderr
        assert len(paused(stranger)) == 1


async def test_dry_run_is_told_of_the_shards_that_have_it(tmp_path: Path) -> None:
    dry = replace(SETTINGS, dry_run=True)
    async with living_fleet(tmp_path, "shard-0", "shard-1", shard=dry) as fleet:
        assert "dry-run is on at shard-0, shard-1: " in await fleet.shown("pause", "list")
        found = await fleet.document("pause", "list")
        assert (found["dryRun"], found["dryRunShardIds"]) == (True, ["shard-0", "shard-1"])
