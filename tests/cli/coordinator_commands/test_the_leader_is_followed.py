"""Coordinators of which one leads, none leads, or some are not there: whom people reach."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.model.coordination import CoordinatorStatus
from tests.cli.coordinator_commands.rig import NOWHERE, living_fleet
from tests.cli.shard_commands.rig import WHY, run
from tests.coordinator_wire import samples
from tests.coordinator_wire.scripted import ScriptedCoordinator, serving

READS = (
    "shards",
    "shards transfers",
    "shards instructions",
    "shards shortfalls",
    "domains",
    "quotas",
    "providers",
    "clusters",
    "reports",
    "pause list",
    "status",
)


class Follower(ScriptedCoordinator):
    async def status(self) -> CoordinatorStatus:
        known = replace(samples.STATUS, replica_id="c-1", is_leader=False, store_error="")
        return replace(known, leader_address=self.follows or "")


@pytest.mark.parametrize("verb", READS)
async def test_a_follower_sends_every_verb_to_its_leader(tmp_path: Path, verb: str) -> None:
    async with (
        living_fleet(tmp_path, "shard-0") as fleet,
        serving(Follower(follows=fleet.rig.address)) as follower,
    ):
        await fleet.sync("shard-0")
        result = await run(*verb.split(), "--coordinator", follower.address)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout


async def test_a_change_reaches_the_leader_by_way_of_a_follower(tmp_path: Path) -> None:
    async with (
        living_fleet(tmp_path, "shard-0") as fleet,
        serving(Follower(follows=fleet.rig.address)) as follower,
    ):
        words = ("quotas", "set", "--provider", "sim", "--region", "eu", "--total", "3", *WHY)
        result = await run(*words, "--coordinator", f"{NOWHERE},{follower.address}")
        assert (result.exit_code, result.stderr) == (0, "")
        assert [quota.total for quota in await fleet.rig.client.quotas()] == [3]


async def test_the_status_of_a_fleet_shows_every_replica(tmp_path: Path) -> None:
    async with (
        living_fleet(tmp_path, "shard-0") as fleet,
        serving(Follower(follows=fleet.rig.address)) as follower,
    ):
        shown = await run("status", "--coordinator", follower.address)
        replicas = [line.split()[:3] for line in shown.stdout.splitlines()[3:5]]
        assert replicas == [
            [follower.address, "c-1", "follower"],
            [fleet.rig.address, "node-1", "leader"],
        ]
        half = await run("status", "--coordinator", f"{NOWHERE},{fleet.rig.address}")
        assert half.exit_code == 5
        assert half.stderr == "no coordinator answers at 127.0.0.1:1\n"
        listed = await run(
            "status", "-o", "json", "--coordinator", f"{NOWHERE},{fleet.rig.address}"
        )
        first, second = json.loads(listed.stdout)["replicas"]
        assert (first["error"]["code"], second["isLeader"]) == ("UNAVAILABLE", True)


async def test_without_a_leader_the_replicas_are_still_shown() -> None:
    async with serving(Follower(follows="")) as first, serving(Follower(follows="")) as second:
        asked = ("--coordinator", f"{first.address},{second.address}")
        result = await run("status", *asked)
        assert result.exit_code == 3
        assert result.stdout.startswith("no coordinator leads; shards go on with what they have\n")
        assert result.stderr.startswith("none of the coordinators leads: ")
        assert "start one" not in result.stderr
        listed = await run("status", "-o", "json", *asked)
        document = json.loads(listed.stdout)
        assert (document["items"], "coordinator" in document) == ([], False)
        refused = await run("domains", *asked)
        assert (refused.exit_code, refused.stdout) == (3, "")


@pytest.mark.parametrize("verb", READS)
async def test_a_coordinator_that_is_not_there_is_told_from_every_verb(verb: str) -> None:
    result = await run(*verb.split(), "--coordinator", NOWHERE)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "no coordinator answers at 127.0.0.1:1 (without certificates): Connection refused; "
        "start one, or name another with --coordinator\n"
    )


async def test_a_coordinator_that_does_not_answer_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        result = await run("shards", "--coordinator", address, "--timeout", "300ms")
    assert (result.exit_code, result.stdout) == (3, "")
    assert address in result.stderr


async def test_a_shard_is_not_a_coordinator(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        result = await run("shards", "--coordinator", fleet.shards["shard-0"].address)
    assert result.exit_code == 3
    assert "is it a coordinator" in result.stderr
