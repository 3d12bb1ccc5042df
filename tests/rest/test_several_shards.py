"""Every shard counts its own cycles and actions: an answer is about the shard that is meant."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest

from tests.rest.living_fleet import LivingFleet
from tests.shard_system.waiting import until

SHARDS = ("shard-0", "shard-1", "shard-2")
Rows = Mapping[str, Any]


async def decided_by_several(fleet: LivingFleet) -> tuple[str, dict[str, Rows]]:
    """A name that several shards have decided under, with the decision of each."""
    found: dict[str, dict[str, Rows]] = defaultdict(dict)

    def shared() -> list[str]:
        for shard in SHARDS:
            for row in fleet.get(f"/decisions?limit=500&shard={shard}")["decisions"]:
                found[row["id"]][row["shardId"]] = row
        return [name for name, rows in found.items() if len(rows) > 1]

    await until(shared, lambda: {name: list(rows) for name, rows in found.items()})
    name = shared()[0]
    return name, found[name]


def cycles_of(fleet: LivingFleet) -> dict[str, str]:
    """One of each shard's, halfway: the last one may not be in the journal yet."""
    return {
        shard: f"{kept['epoch']}:{(kept['firstCycle'] + kept['lastCycle']) // 2}"
        for shard, kept in fleet.get("/status")["journal"].items()
    }


async def test_why_explains_the_decision_of_the_shard_that_is_meant(
    three_shards: LivingFleet,
) -> None:
    name, rows = await decided_by_several(three_shards)
    for shard, row in rows.items():
        told = three_shards.get(f"/why?object={name}&shard={shard}")
        assert told["shardId"] == shard
        assert told["decision"]["machine"] == row["machine"]
        assert told["decision"]["atUnixNanos"] == row["atUnixNanos"]


async def test_a_decision_that_several_shards_have_is_not_guessed(
    three_shards: LivingFleet,
) -> None:
    name, rows = await decided_by_several(three_shards)
    refused = three_shards.get(f"/why?object={name}", 400)
    assert refused["field"] == "shard"
    assert all(shard in refused["remedy"] for shard in rows)


def test_why_of_a_shard_that_does_not_exist_names_those_that_do(three_shards: LivingFleet) -> None:
    refused = three_shards.get("/why?object=cluster/shop&shard=shard-7", 404)
    assert "shard-0" in refused["remedy"]


def test_a_what_if_is_asked_again_of_the_same_cycle_of_each_shard(
    three_shards: LivingFleet,
) -> None:
    body = {"edits": [{"zone-loss": "b"}]}
    first = three_shards.post("/whatif", body)
    places = [part.split(" ") for part in first["cycle"].split(", ")]
    assert [shard for shard, _ in places] == list(SHARDS)
    at = ",".join(f"{shard}@{cycle}" for shard, cycle in places)
    again = three_shards.post("/whatif", {**body, "at": at})
    assert again["cycle"] == first["cycle"]
    assert again["base"] == first["base"]
    assert again["changed"] == first["changed"]


@pytest.mark.parametrize(
    ("at", "status", "said"),
    [
        ("shard-0@1,shard-1@1", 400, "no cycle of shard-2"),
        ("shard-0@1,shard-1@1,shard-7@1", 404, "shard-7"),
        ("shard-0@1,shard-1@x,shard-2@1", 400, "'x' is not a cycle"),
        ("shard-0@99:1,shard-1@99:1,shard-2@99:1", 404, "epoch 99"),
        ("99:1", 404, "epoch 99"),
    ],
)
def test_a_base_that_cannot_be_meant_is_refused(
    three_shards: LivingFleet, at: str, status: int, said: str
) -> None:
    refused = three_shards.post("/whatif", {"edits": [], "at": at}, status)
    assert said in refused["error"]


def test_one_shard_of_several_is_asked_about_its_own_cycle(three_shards: LivingFleet) -> None:
    cycle = cycles_of(three_shards)["shard-1"]
    told = three_shards.post("/whatif", {"edits": [], "at": cycle, "shard": "shard-1"})
    assert told["cycle"] == cycle


def test_the_decisions_of_a_need_are_those_of_its_shard(three_shards: LivingFleet) -> None:
    found = three_shards.get("/needs?shard=shard-1")
    for row in found["needs"]:
        name = quote(f"need/{row['clusterId']}/{row['needId']}")
        told = three_shards.get(f"/why?object={name}&shard=shard-1")
        assert told["shardId"] == "shard-1"


@pytest.mark.parametrize("route", ["/costs", "/decisions", "/fleet/map"])
def test_a_past_cycle_is_that_of_the_shard_that_is_named(
    three_shards: LivingFleet, route: str
) -> None:
    refused = three_shards.get(f"{route}?at=1", 400)
    assert refused["field"] == "shard"
    assert all(shard in refused["remedy"] for shard in SHARDS)
    assert "shard-0" in three_shards.get(f"{route}?at=1&shard=shard-7", 404)["remedy"]
    assert "epoch" in three_shards.get(f"{route}?at=99:1&shard=shard-1", 404)["error"]


async def past_with_decisions(fleet: LivingFleet, shard: str, least: int) -> str:
    """A cycle that is in the journal and was decided when so many decisions had been made."""
    found: list[int] = []

    def decided() -> bool:
        last = fleet.get("/status")["journal"][shard]["lastCycle"] or 0
        rows = fleet.get(f"/decisions?shard={shard}&limit=500")["decisions"]
        found[:] = [row["cycle"] for row in rows if row["cycle"] < last]
        return len(found) >= least

    await until(decided, lambda: found)
    return f"{fleet.get('/status')['journal'][shard]['epoch']}:{found[0]}"


async def test_costs_and_decisions_up_to_a_past_cycle_are_of_one_shard(
    three_shards: LivingFleet,
) -> None:
    for shard in SHARDS:
        name = await past_with_decisions(three_shards, shard, 4)
        cycle = int(name.partition(":")[2])
        costs = three_shards.get(f"/costs?at={name}&shard={shard}")
        assert costs["cycle"] == {shard: cycle}
        assert costs["totals"]["machines"] > 0
        told = three_shards.get(f"/decisions?at={name}&shard={shard}&limit=2")
        assert {row["shardId"] for row in told["decisions"]} == {shard}
        assert all(row["cycle"] <= cycle for row in told["decisions"])
        older = three_shards.get(f"/decisions?at={name}&shard={shard}&before={told['next']}")
        shown = {row["id"] for row in told["decisions"]}
        assert older["decisions"]
        assert not shown & {row["id"] for row in older["decisions"]}
