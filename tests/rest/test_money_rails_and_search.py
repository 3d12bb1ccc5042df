"""Costs, what holds a fleet back, search, and what a fleet says of itself."""

import pytest

from bigfleet.model.figures import CostAxis
from bigfleet.web import further_schemas as shapes
from bigfleet.web.routes.costs import red_flags
from bigfleet.web.schemas import problems_in
from tests.rest.living_fleet import LivingFleet
from tests.shard_system.waiting import until

LISTS = {
    "/pauses": shapes.Pauses,
    "/quarantines": shapes.Quarantines,
    "/offerings": shapes.Offerings,
    "/thrash": shapes.Thrash,
    "/regret": shapes.Regrets,
    "/invoices": shapes.InvoicesShape,
    "/invoices?by=team&teams=shop=retail&month=2026-03&limit=5": shapes.InvoicesShape,
    "/eta": shapes.Etas,
    "/verifier": shapes.Verifiers,
    "/quotas": shapes.Quotas,
    "/transfers?finished=true": shapes.Transfers,
    "/shortfalls": shapes.Shortfalls,
    "/status": shapes.Status,
}


@pytest.mark.parametrize("route", LISTS)
def test_a_list_has_its_shape(fleet: LivingFleet, route: str) -> None:
    assert problems_in(fleet.get(route), LISTS[route]) == ""


@pytest.mark.parametrize("by", [str(axis) for axis in CostAxis])
def test_costs_add_up_to_the_same_bill_on_every_axis(fleet: LivingFleet, by: str) -> None:
    found = fleet.get(f"/costs?by={by}")
    assert problems_in(found, shapes.Costs) == ""
    for name in ("machines", "committedMachines", "dollarsPerHour", "idleDollarsPerHour"):
        total = sum(row[name] for row in found["rows"])
        assert total == pytest.approx(found["totals"][name])
    assert found["totals"]["machines"] > 0


async def test_costs_of_a_past_cycle_are_those_that_were_told_then(fleet: LivingFleet) -> None:
    then = fleet.get("/costs?by=zone")
    [(shard, cycle)] = then["cycle"].items()
    epoch = fleet.get("/status")["journal"][shard]["epoch"]
    past = f"/costs?by=zone&at={epoch}:{cycle}"
    await until(lambda: fleet.answers(past))
    later = fleet.get(past)
    assert problems_in(later, shapes.Costs) == ""
    assert {name: later[name] for name in ("cycle", "rows", "totals")} == {
        name: then[name] for name in ("cycle", "rows", "totals")
    }
    assert "epoch" in fleet.get(f"/costs?at={epoch + 7}:{cycle}", 404)["error"]
    assert "no cycle" in fleet.get("/costs?at=99999999", 404)["error"]
    assert fleet.get("/costs?at=0", 400)["field"] == "at"


def test_the_idle_bill_is_divided_when_it_is_asked_for(fleet: LivingFleet) -> None:
    found = fleet.get("/costs?by=cluster&idleShare=use")
    shared = [row["sharedIdleDollarsPerHour"] for row in found["rows"]]
    assert sum(shared) == pytest.approx(0)
    assert fleet.get("/costs?idleShare=never", 400)["field"] == "idleShare"


@pytest.mark.parametrize("by", [str(axis) for axis in CostAxis])
def test_hours_are_told_by_every_axis_with_what_was_observed(fleet: LivingFleet, by: str) -> None:
    found = fleet.get(f"/costs?by={by}&from=2026-01-01T00:00:00Z")
    assert problems_in(found, shapes.Costs) == ""
    period = found["period"]
    billed = sum(row["billedDollars"] for row in period["rows"])
    assert billed == pytest.approx(period["total"]["billedDollars"])
    [(_, hours)] = period["shards"].items()
    assert hours["unobservedHours"] > len(hours["unobserved"]) > 0


@pytest.mark.parametrize(
    "asked", ["from=soon", "to=2026-01-01T00:00:00Z", "from=2999-01-01T00:00:00Z"]
)
def test_a_time_without_hours_is_bad(fleet: LivingFleet, asked: str) -> None:
    assert fleet.get(f"/costs?{asked}", 400)["field"] == "from"


def test_one_pool_and_isolated_ones_are_compared_on_the_journal(fleet: LivingFleet) -> None:
    found = fleet.get("/costs/isolated?headroom=0.1&split=mean")
    assert problems_in(found, shapes.Isolated) == ""
    (told,) = found["reports"]
    assert told["shardId"] == "shard-0"
    assert (told["report"]["split"], told["report"]["headroom"]) == ("mean", 0.1)
    assert told["rows"][0]["measure"] == "billed"
    assert told["assumptions"]
    assert "No interval" in told["whyNoInterval"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("split=weight", "split"),
        ("headroom=much", "headroom"),
        ("headroom=-1", "headroom"),
        ("from=yesterday", "from"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
    ],
)
def test_a_comparison_that_cannot_be_made_names_the_parameter(
    fleet: LivingFleet, asked: str, field: str
) -> None:
    assert fleet.get(f"/costs/isolated?{asked}", 400)["field"] == field


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("by=moon", "by"),
        ("month=2026-13", "month"),
        ("from=then", "from"),
        ("to=then", "to"),
        ("month=2026-03&from=2026-03-02T00:00:00Z", "month"),
        ("by=team&teams=shop", "teams"),
        ("limit=many", "limit"),
    ],
)
def test_invoices_of_what_does_not_exist_are_bad(
    fleet: LivingFleet, asked: str, field: str
) -> None:
    assert fleet.get(f"/invoices?{asked}", 400)["field"] == field


def test_invoices_add_up_what_their_statements_declare(fleet: LivingFleet) -> None:
    found = fleet.get("/invoices")
    caused, borne = (
        sum(line[name] for line in found["months"]) for name in ("causedDollars", "borneDollars")
    )
    assert caused == borne
    assert found["total"] >= len(found["statements"])
    assert found["declared"] is True


def test_an_axis_that_does_not_exist_is_bad(fleet: LivingFleet) -> None:
    assert fleet.get("/costs?by=moon", 400)["field"] == "by"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("shop", "cluster"), ("cluster/sho", "cluster"), ("shard", "shard"), ("Fleet", "page")],
)
def test_one_box_finds_objects_of_all_kinds(fleet: LivingFleet, text: str, kind: str) -> None:
    found = fleet.get(f"/search?q={text}")
    assert problems_in(found, shapes.SearchShape) == ""
    assert kind in {each["kind"] for each in found["results"]}
    assert len(found["results"]) <= 20


def test_search_finds_a_machine_a_need_and_a_decision_by_name(fleet: LivingFleet) -> None:
    row = fleet.get("/decisions?kind=Bootstrap&limit=1")["decisions"][0]
    _, cluster, need_id = fleet.lasting_need().split("/")
    for text, kind in (
        (row["machine"], "machine"),
        (need_id[:6], "need"),
        (f"{cluster}/{need_id}", "need"),
        (row["id"].removeprefix("action/"), "decision"),
    ):
        found = fleet.get(f"/search?q={text}")["results"]
        assert kind in {each["kind"] for each in found}, text
    assert fleet.get("/search?q=", 400)["field"] == "q"
    assert fleet.get("/search?q=%3Cimg%20onerror%3D1%3E")["results"] == []


def test_a_status_tells_shards_that_do_not_answer(fleet: LivingFleet) -> None:
    found = fleet.get("/status", port=fleet.partial_port)
    silent = next(each for each in found["shards"] if each["shardId"] == "shard-9")
    assert silent["error"]
    assert set(found["journal"]) == {"shard-0"}


def test_a_status_tells_which_cycles_can_be_looked_at(fleet: LivingFleet) -> None:
    kept = fleet.get("/status")["journal"]["shard-0"]
    assert 0 < kept["firstCycle"] < kept["lastCycle"]
    first = f"{kept['epoch']}:{kept['firstCycle']}"
    assert fleet.get(f"/cycles/{first}")["cycle"] == kept["firstCycle"]


def test_shortfalls_are_those_of_members(fleet: LivingFleet) -> None:
    found = fleet.get("/shortfalls?shard=shard-0&limit=5000")
    assert (found["clamped"], found["limit"]) == (True, 1_000)
    assert found["unknownShardIds"] == []
    answer = fleet.get("/shortfalls?shard=shard-7", 404)
    assert (answer["error"], answer["remedy"]) == ("no shard shard-7", "nearest are shard-0")
    assert fleet.get("/shortfalls?limit=many", 400)["field"] == "limit"


def test_red_flags_are_workloads_on_spot_that_should_not_be() -> None:
    found = red_flags({"0": 9, "1": 2, "2": 3, "pinned": 1})
    assert [(each["severity"], each["bucket"], each["count"]) for each in found] == [
        ("danger", "pinned", 1),
        ("warn", "2", 3),
    ]
    assert found[0]["message"] == "1 Spot machine run workloads never to be interrupted"
