"""A fleet of which some shards do not answer: what is known is shown, and it is exit 5."""

import json
import socket
from pathlib import Path

from bigfleet.cli.request_options import named_text
from tests.cli.coordinator_commands.rig import NOWHERE, LateClock, living_fleet
from tests.cli.shard_commands.rig import steady

SILENCE = (
    "1 of 2 shards gave no answer: shard-1 at 127.0.0.1:1 (Connection refused); "
    "what they would say is missing\n"
)


async def test_what_is_missing_is_a_dash_and_the_answer_partial(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.report("shard-1", NOWHERE)
        await fleet.sync("shard-0", "shop")
        await fleet.sync("shard-1", "ml")
        shown = await fleet.run("clusters")
        assert (shown.exit_code, shown.stderr) == (5, SILENCE)
        assert steady(shown.stdout).splitlines()[1:] == [
            "ml shard-1 - - - - AGE - - - - - - -",
            "shop shard-0 closed - 0 0 AGE - - - 0 0 0 -",
        ]
        listed = await fleet.run("clusters", "-o", "json")
        document = json.loads(listed.stdout)
        assert document["items"][0].keys() == {"clusterId", "shardId", "boundUnixNanos"}
        (silent,) = document["unreachable"]
        assert (silent["shardId"], silent["error"]["code"]) == ("shard-1", "UNAVAILABLE")


async def test_the_status_of_a_fleet_goes_on_without_them(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.report("shard-1", NOWHERE)
        shown = await fleet.run("status")
        assert (shown.exit_code, shown.stderr) == (5, SILENCE)
        assert "no answer: Connection refused" in shown.stdout
        assert "ready" in shown.stdout
        items = json.loads((await fleet.run("status", "-o", "json")).stdout)["items"]
        assert [("error" in item, item["shardId"]) for item in items] == [
            (False, "shard-0"),
            (True, "shard-1"),
        ]


async def test_pauses_providers_and_shards_are_listed_without_them(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        await fleet.report("shard-1", NOWHERE)
        await fleet.sync("shard-0")
        await fleet.sync("shard-1")
        for verb in ("pause list", "providers", "shards"):
            shown = await fleet.run(*verb.split())
            assert (shown.exit_code, shown.stderr) == (5, SILENCE)
            assert shown.stdout


async def test_a_shard_that_is_stale_is_not_expected_to_answer(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, clock=LateClock()) as fleet:
        await fleet.report("shard-1", NOWHERE)
        shown = (await fleet.shown("shards")).splitlines()[1].split()
        assert (shown[2], shown[-1]) == ("-", "stale")


async def test_a_shard_that_takes_too_long_is_left_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with living_fleet(tmp_path, "shard-0") as fleet:
            where = f"127.0.0.1:{silent.getsockname()[1]}"
            await fleet.report("shard-1", where)
            shown = await fleet.run("clusters", "--timeout", "3s")
            assert shown.exit_code == 5
            assert f"shard-1 at {where} (not within 3s)" in shown.stderr


async def test_shards_that_have_not_reported_to_a_new_leader_are_named(tmp_path: Path) -> None:
    async with living_fleet(tmp_path) as fleet:
        await fleet.report("shard-0", NOWHERE)
        await fleet.report("shard-1", NOWHERE)
    async with living_fleet(tmp_path) as fleet:
        fleet.cycles["shard-1"] = 1
        await fleet.report("shard-1", NOWHERE)
        shown = await fleet.run("reports")
        assert shown.exit_code == 5
        assert shown.stderr.startswith("shard-0 told this coordinator nothing since it leads; ")
        assert steady(shown.stdout).splitlines()[2:] == [
            "shard-1 7 4 0 AGE z1=5, z2=2 a3=5, b1=2",
            "shard-0 - - - - - -",
        ]


def test_of_many_shards_the_first_are_named() -> None:
    assert named_text(["a", "b"]) == "a, b"
    assert named_text(list("abcdefg")) == "a, b, c, d, e and 2 more"
