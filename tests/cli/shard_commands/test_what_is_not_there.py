"""Verbs that are told one name: a shard that does not know it is exit 3, not an empty table."""

import json
from pathlib import Path

from tests.cli.shard_commands.rig import BOUGHT, FIRST, living_shard, need

NEAR = FIRST.replace("a--", "a-")


async def test_an_unknown_machine_is_not_an_empty_list(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        for words in (("machines", NEAR), ("machines", f"id={NEAR}", "-o", "json")):
            missed = await shard.run(*words)
            assert (missed.exit_code, missed.stdout) == (3, "")
            said = f"no machine {NEAR} in this shard; nearest are {FIRST}, "
            assert missed.stderr.startswith(said)
        far = await shard.run("machines", "list", "zzz")
        assert far.exit_code == 3
        assert (
            far.stderr == "no machine zzz in this shard; bigfleet machines shows those there are\n"
        )
        story = await shard.run("machines", "story", "zzz")
        assert (story.exit_code, story.stderr) == (3, far.stderr)


async def test_of_several_machines_those_that_are_known_are_shown(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        some = await shard.run("machines", FIRST, "zzz", "yyy", BOUGHT, "-o", "json")
        assert some.exit_code == 3
        assert [i["machine"]["id"] for i in json.loads(some.stdout)["items"]] == [FIRST, BOUGHT]
        assert [line.split()[2] for line in some.stderr.splitlines()] == ["yyy", "zzz"]


async def test_a_machine_that_is_known_but_not_meant_is_not_missing(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        assert "0 of 0 shown" in await shard.shown("machines", FIRST, "state=configured")
        assert "0 of 0 shown" in await shard.shown("machines", FIRST, "--failed")
        assert "1 of 2 shown" in await shard.shown("machines", FIRST, BOUGHT, "--limit", "1")
        unknown = await shard.run("machines", "zzz", FIRST, "state=configured")
        assert (unknown.exit_code, unknown.stderr.split()[2]) == (3, "zzz")


async def test_terms_that_fit_no_machine_are_an_empty_list(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        for term in ("id=zzz*", "zone=nowhere", "cluster=nobody"):
            assert "0 of 0 shown" in await shard.shown("machines", term)


async def test_needs_of_an_unknown_cluster_are_not_an_empty_list(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard, shard.operator("shop", need("shop", 1)):
        await shard.until_bound("shop", 1)
        missed = await shard.run("needs", "--cluster", "cluster/shpo")
        assert (missed.exit_code, missed.stdout) == (3, "")
        assert missed.stderr == "no cluster shpo in this shard; did you mean shop?\n"
        far = await shard.run("needs", "--cluster", "nobody", "-o", "json")
        assert (far.exit_code, far.stdout) == (3, "")
        assert "no cluster nobody in this shard; bigfleet clusters shows" in far.stderr


async def test_a_cluster_that_asks_for_nothing_is_known_all_the_same(tmp_path: Path) -> None:
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("shop", need("shop", 1)) as session,
    ):
        await shard.until_bound("shop", 1)
        await shard.tell(session, "shop")
        await shard.until(
            lambda: not shard.process.state.decision_loop.ledger.page("shop", 1).total
        )
        assert "0 of 0 needs shown" in await shard.shown("needs", "--cluster", "shop")
