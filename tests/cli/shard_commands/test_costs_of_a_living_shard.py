"""What a living shard costs: per hour from its last cycle, and added up in its ledger."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.shard_commands.rig import LiveShard, living_shard, need
from tests.shard_system.waiting import until_told


async def billed(shard: LiveShard, *words: str) -> dict[str, float]:
    answer = json.loads(await shard.shown("reports", "cost", "-o", "json", *words))
    return {row["name"]: row["billedDollarsPerHour"] for row in answer["items"]}


async def prices_of_machines(shard: LiveShard) -> float:
    """Added up from another verb's answer."""
    machines = json.loads(await shard.shown("machines", "-o", "json"))["items"]
    return sum(
        float(row["machine"].get("pricePerHour", 0.0))
        for row in machines
        if row["machine"].get("host", {}).get("provider")
        or row["machine"]["state"] == "MACHINE_STATE_CREATING"
    )


async def test_the_rate_is_that_of_the_machines_as_they_are_listed(tmp_path: Path) -> None:
    async with (
        living_shard(tmp_path) as shard,
        shard.operator("ml", need("ml", 2, kind="std-2")),
    ):

        async def both_are_bought() -> bool:
            return (await billed(shard)).get("ml", 0.0) > 0.15

        await until_told(both_are_bought)
        for axis in ("cluster", "team", "type", "zone", "capacity", "priority", "need"):
            rows = await billed(shard, "--by", axis)
            assert sum(rows.values()) == pytest.approx(await prices_of_machines(shard)), axis


async def test_a_new_price_of_an_idle_machine_is_told_by_the_next_cycle(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        await shard.do("price", "capacity=bare_metal", "2.5")

        async def is_told() -> bool:
            return (await billed(shard)).get("") == pytest.approx(12 * 2.5)

        await until_told(is_told)
        told = json.loads(await shard.shown("reports", "cost", "-o", "json"))
        assert told["total"]["idleDollarsPerHour"] == pytest.approx(30.0)
        assert told["total"]["committedMachines"] == 0


async def test_hours_are_added_up_and_those_without_observation_are_named(tmp_path: Path) -> None:
    async with living_shard(tmp_path) as shard:
        await shard.do("price", "capacity=bare_metal", "3600")

        async def is_billed() -> bool:
            answer = await shard.run("reports", "cost", "--from", "2h", "-o", "json")
            return float(json.loads(answer.stdout)["total"]["billedDollars"]) > 0

        await until_told(is_billed)
        answer = await shard.run("reports", "cost", "--from", "2h", "--by", "capacity")
        assert answer.exit_code == 5
        assert "shard-0: 2 hours were not observed, and nothing is added for them" in answer.stderr
        focus = await shard.run("reports", "cost", "--from", "2h", "--focus")
        rows = list(csv.DictReader(io.StringIO(focus.stdout)))
        assert {row["PricingUnit"] for row in rows} == {"Hours"}
        assert sum(float(row["BilledCost"]) for row in rows) > 0
        assert {row["SubAccountId"] for row in rows} == {""}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "soon"), "'soon' is not a time"),
        (("--to", "1h"), "--from: say since when"),
        (("--from", "1h", "--to", "2h"), "--from: is not before --to"),
        (("--focus",), "--from: say since when"),
    ],
)
async def test_times_that_cannot_be_meant_are_refused(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    async with living_shard(tmp_path) as shard:
        answer = await shard.run("reports", "cost", *words)
    assert answer.exit_code == 2
    assert said in answer.stderr
