"""Needs, machines and what holds them: asked of all shards, and found without knowing where."""

import json
import socket
from pathlib import Path

from bigfleet.fleetfile import load_fleet
from tests.cli.coordinator_commands.rig import NOWHERE, living_fleet, two_shards
from tests.cli.shard_commands.rig import BOUGHT, FIRST, WHY, run, steady

MISSING = "1 of 3 shards gave no answer: shard-2 at 127.0.0.1:1 (Connection refused)"


async def test_needs_and_machines_of_all_shards_stand_in_one_table(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        lines = steady(await fleet.shown("needs")).splitlines()
        assert lines[0].endswith("AGE SHARD")
        assert [(line.split()[1], line.split()[-1]) for line in lines[1:3]] == [
            ("ml", "shard-1"),
            ("shop", "shard-0"),
        ], "by precedence, whichever shard"
        assert lines[-1] == "2 of 2 needs shown (1 met, 1 short), of 2 shards"
        machines = await fleet.document("machines", "cluster=ml")
        assert [item["shardId"] for item in machines["items"]] == ["shard-1", "shard-1"]
        assert [each["shardId"] for each in machines["shards"]] == ["shard-0", "shard-1"]
        assert (machines["total"], machines["unreachable"]) == (2, [])


async def test_a_shard_narrows_the_question(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        assert "0 of 0 shown" in await fleet.shown("machines", "--shard", "shard-0")
        address = fleet.shards["shard-1"].address
        for name in ("shard-1", address):
            needs = await fleet.document("needs", "--shard", name)
            assert [item["clusterId"] for item in needs["items"]] == ["ml"]


async def test_a_machine_is_found_without_its_shard(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        story = await fleet.shown("machines", "story", FIRST)
        assert story.startswith(f"machine/{FIRST} is Configured for cluster ml")
        assert "shard-1" in story
        document = await fleet.document("machines", "story", FIRST)
        assert document["shards"] == ["shard-1"]
        assert {event["shardId"] for event in document["events"]} == {"shard-1"}
        refused = await fleet.refused(4, "machines", "clear", FIRST, "--mode", "recheck", *WHY)
        assert "is not Failed" in refused or "Configured" in refused, "its own shard was asked"


async def test_a_machine_of_no_shard_is_told_with_the_nearest_ones(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        wrong = BOUGHT.replace("b--", "b-")
        for words in (("machines", wrong), ("machines", "story", wrong)):
            said = await fleet.refused(3, *words)
            assert said.startswith(f"no machine {wrong} in these 2 shards; nearest are {BOUGHT}, ")
        said = await fleet.refused(3, "needs", "--cluster", "shpo")
        assert said == "no cluster shpo in these 2 shards; did you mean shop?\n"


async def test_what_a_silent_shard_would_say_is_marked_as_missing(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        await fleet.report("shard-2", NOWHERE)
        verbs = ("needs", "machines", "machines reservations", "quarantines", "reports offerings")
        for verb in (*verbs, f"machines story {FIRST}"):
            shown = await fleet.run(*verb.split(), "-o", "json")
            assert (shown.exit_code, shown.stderr.startswith(MISSING)) == (5, True)
            (silent,) = json.loads(shown.stdout)["unreachable"]
            assert (silent["shardId"], silent["error"]["code"]) == ("shard-2", "UNAVAILABLE")
        lost = await fleet.run("machines", "story", "zzz")
        assert (lost.exit_code, lost.stdout) == (5, ""), "the silent shard may have it"
        assert "no machine zzz in these 2 shards" in lost.stderr


async def test_a_shard_that_never_answers_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with two_shards(tmp_path) as fleet:
            where = f"127.0.0.1:{silent.getsockname()[1]}"
            await fleet.report("shard-2", where)
            shown = await fleet.run("machines", "cluster=ml", "--timeout", "3s")
            assert shown.exit_code == 5
            assert f"shard-2 at {where} (not within 3s)" in shown.stderr
            assert "2 of 2 shown" in shown.stdout


async def test_where_no_shard_answers_it_is_an_error_and_no_empty_table(tmp_path: Path) -> None:
    async with living_fleet(tmp_path) as fleet:
        await fleet.report("shard-2", NOWHERE)
        said = await fleet.refused(3, "machines")
        assert said.startswith("no shard answers at shard-2 at 127.0.0.1:1")


async def test_the_live_fleet_is_one_pipe_away_from_a_plan(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        pipe = await fleet.run("snapshot", "fleet", "-", "--shard", "shard-1")
        assert pipe.exit_code == 0, pipe.output
        file = tmp_path / "piped"
        file.write_bytes(pipe.stdout_bytes)
        plan = await run("plan", str(file))
        assert plan.exit_code == 0, plan.output
        assert "14 machines, 1 need; all demand met" in plan.stdout
        assert "Nothing to do: no machine moves this cycle." in plan.stdout


async def test_all_shards_are_one_pool_in_a_fleet_file(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        file = tmp_path / "fleet.yaml"
        said = await fleet.shown("snapshot", "fleet", str(file))
        assert said.startswith(f"saved {file}: 14 machines and 2 needs of shard-0, shard-1; ")
        whole = load_fleet(file.read_bytes(), file.name)
        assert (len(whole.machines), len(whole.needs)) == (14, 2)
        assert whole.provenance.shard == "shard-0,shard-1"
        assert whole.options.clusters_ready == frozenset({"shop", "ml"})
        await fleet.report("shard-2", NOWHERE)
        part = await fleet.run("snapshot", "fleet", str(tmp_path / "part.yaml"))
        assert (part.exit_code, part.stdout) == (5, "")
        assert "nothing is written" in part.stderr
        assert not (tmp_path / "part.yaml").exists()
