"""A fleet or one shard: whom a verb asks goes by what was said, and by nothing else."""

import json
from pathlib import Path

import pytest

from tests.cli.coordinator_commands.rig import NOWHERE, LiveFleet, by_default, living_fleet
from tests.cli.shard_commands.rig import WHY, run

FALLEN_BACK = "no coordinator answers at {}: asking the shard at {} alone; --coordinator or --shard"
#: Each with the word that shows that a fleet was asked, and the one that shows that a shard was.
EITHER = {
    "status": ("leads in term", "is ready; cycle"),
    "clusters": ("bound", "CLUSTER"),
    "reports": ("2 shards;", "1 shard;"),
    "pause list": ("Nothing is paused", "Nothing is paused"),
    "needs": ("of 2 shards", "as of cycle"),
    "machines": ("of 2 shards", "as of cycle"),
    "machines reservations": ("No machine is reserved", "No machine is reserved"),
    "quarantines": ("Nothing is held", "Nothing is held"),
    "reports offerings": ("No offering rests", "No offering rests"),
}


async def asked_both(fleet: LiveFleet) -> None:
    await fleet.sync("shard-0", "bound")
    await fleet.sync("shard-1")


@pytest.mark.parametrize("verb", EITHER)
async def test_without_an_address_the_coordinator_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        await asked_both(fleet)
        by_default(monkeypatch, coordinator=fleet.rig.address, shard=NOWHERE)
        result = await run(*verb.split())
        assert (result.exit_code, result.stderr) == (0, "")
        assert EITHER[verb][0] in result.stdout


@pytest.mark.parametrize("verb", EITHER)
async def test_where_no_coordinator_is_there_the_shard_is_asked_and_that_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        shard = fleet.shards["shard-0"].address
        by_default(monkeypatch, coordinator=NOWHERE, shard=shard)
        result = await run(*verb.split())
        assert result.exit_code == 0
        assert result.stderr.startswith(FALLEN_BACK.format(NOWHERE, shard))
        assert result.stderr.count("\n") == 1
        assert EITHER[verb][1] in result.stdout


async def test_where_neither_is_there_both_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    by_default(monkeypatch, coordinator=NOWHERE, shard="127.0.0.1:2")
    result = await run("status")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no coordinator answers at 127.0.0.1:1" in result.stderr
    assert "no shard answers at 127.0.0.1:2" in result.stderr


@pytest.mark.parametrize("verb", EITHER)
async def test_only_the_named_coordinator_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        by_default(monkeypatch, coordinator=NOWHERE, shard=fleet.shards["shard-0"].address)
        by_flag = await run(*verb.split(), "--coordinator", NOWHERE)
        monkeypatch.setenv("BIGFLEET_CLI_COORDINATOR", NOWHERE)
        for result in (by_flag, await run(*verb.split())):
            assert (result.exit_code, result.stdout) == (3, "")
            assert result.stderr.startswith("no coordinator answers at 127.0.0.1:1 ")


@pytest.mark.parametrize("verb", EITHER)
async def test_a_shard_that_is_named_by_address_is_asked_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        by_default(monkeypatch, coordinator=fleet.rig.address, shard=NOWHERE)
        result = await run(*verb.split(), "--shard", fleet.shards["shard-0"].address)
        assert (result.exit_code, result.stderr) == (0, "")
        assert EITHER[verb][1] in result.stdout


async def test_an_id_is_resolved_by_the_coordinator_of_the_default_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        by_default(monkeypatch, coordinator=fleet.rig.address, shard=NOWHERE)
        shown = await run("status", "--shard", "shard-1")
        assert shown.stdout.startswith("shard-1 is ready")
        assert (await run("needs", "--shard", "shard-0")).exit_code == 0
        paused = await run("pause", "--shard", "shard-1", *WHY)
        assert [line.split()[0] for line in paused.stdout.splitlines()[1:]] == (
            ["coordinator", "shard-1"]
        )
        missed = await run("machines", "--shard", "shard-12")
        assert missed.exit_code == 3
        assert missed.stderr == "the coordinator knows no shard shard-12; did you mean shard-1?\n"


async def test_a_fleet_without_shards_has_none_to_ask(tmp_path: Path) -> None:
    async with living_fleet(tmp_path) as fleet:
        assert "knows no shard yet" in await fleet.refused(3, "needs")
        assert "No shard has reported yet" in await fleet.shown("reports")


async def test_a_flag_for_the_coordinator_is_stronger_than_the_shard_of_a_file(
    tmp_path: Path,
) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        file = tmp_path / "bigfleet.yaml"
        file.write_text("cli: {shard: '127.0.0.1:1'}\n")
        for verb in ("status", "needs", "clusters"):
            await fleet.shown(verb, "--config", str(file))


async def test_a_file_may_name_both_and_then_a_fleet_is_a_fleet(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0", "shard-1") as fleet:
        file = tmp_path / "bigfleet.yaml"
        file.write_text(
            f"cli: {{shard: shard-1, coordinator: ['{fleet.rig.address}'], output: json}}\n"
        )
        status = await run("status", "--config", str(file))
        assert len(json.loads(status.stdout)["items"]) == 2
        needs = await run("needs", "--config", str(file))
        assert needs.exit_code == 0
        one = await run("status", "--config", str(file), "--shard", "shard-1")
        assert json.loads(one.stdout)["shardId"] == "shard-1"


async def test_several_coordinators_are_named_with_commas_or_one_by_one(tmp_path: Path) -> None:
    async with living_fleet(tmp_path, "shard-0") as fleet:
        where = fleet.rig.address
        for flags in (
            ("--coordinator", f"{NOWHERE},{where}"),
            ("--coordinator", NOWHERE, "--coordinator", where),
        ):
            assert (await run("shards", *flags)).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("shards", "--coordinator", "nowhere"),
        ("shards", "--coordinator", ":7790"),
        ("status", "--shard", "127.0.0.1:"),
        ("status", "--shard", ":7780"),
        ("shards", "--coordinator", ","),
        ("pause", "--shard", "", *WHY),
        ("resume", "--all", "--shard", ",", *WHY),
        ("shards", "--shard", "shard-0"),
    ],
    ids=" ".join,
)
async def test_what_is_not_an_address_is_bad_input(words: tuple[str, ...]) -> None:
    result = await run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr
