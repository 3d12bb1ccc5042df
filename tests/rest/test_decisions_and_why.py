"""Decisions page by page, cycles, and why: the same answers as on the command line."""

import hashlib
import json
from typing import Any

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.model.actions import ActionKind
from bigfleet.model.shard_views import ActionView
from bigfleet.web import further_schemas as shapes
from bigfleet.web.decision_documents import decision_document
from bigfleet.web.schemas import problems_in
from tests.rest.living_fleet import LivingFleet


def test_decisions_come_newest_first_and_no_page_repeats_one(fleet: LivingFleet) -> None:
    seen: list[str] = []
    before = ""
    for _ in range(4):
        page = fleet.get(f"/decisions?limit=7&before={before}")
        assert problems_in(page, shapes.Decisions) == ""
        seen += [row["id"] for row in page["decisions"]]
        if "next" not in page:
            break
        before = page["next"]
    places = [tuple(map(int, each.removeprefix("action/").split("."))) for each in seen]
    assert len(places) == len(set(places))
    assert len(places) > 7
    assert places == sorted(places, reverse=True)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ActionKind.BOOTSTRAP, "Bootstrap bm-1 for shop"),
        (ActionKind.RECLAIM, "Reclaim bm-1 from shop"),
        (ActionKind.PREEMPT, "Preempt bm-1 from shop"),
    ],
)
def test_a_machine_goes_to_a_cluster_or_is_taken_from_it(kind: ActionKind, said: str) -> None:
    view = ActionView(4, 0, kind, "bm-1", "shop", reason="it is so")
    assert decision_document(view, "shard-0")["sentence"] == f"{said}: it is so"


def test_decisions_are_filtered_by_kind_cluster_and_machine(fleet: LivingFleet) -> None:
    (first, *_) = fleet.get("/decisions?kind=Bootstrap&cluster=shop&limit=3")["decisions"]
    assert (first["kind"], first["cluster"]) == ("Bootstrap", "shop")
    assert first["sentence"].startswith(f"Bootstrap {first['machine']} for shop: ")
    own = fleet.get(f"/decisions?machine={first['machine']}")["decisions"]
    assert {row["machine"] for row in own} == {first["machine"]}
    need = fleet.lasting_need()
    rows = fleet.get(f"/decisions?need={need}")["decisions"]
    assert {row["need"] for row in rows} <= {need}
    assert fleet.get("/decisions?kind=Buy", 400)["field"] == "kind"
    assert fleet.get("/decisions?before=x", 400)["field"] == "before"
    assert fleet.get("/decisions?need=need/shop/nffffffffffff", 404)["field"] == "need"


def test_a_decision_says_why_and_what_it_costs(fleet: LivingFleet) -> None:
    (row, *_) = fleet.get("/decisions?kind=Bootstrap&limit=1")["decisions"]
    first = row["reasons"][0]
    assert (first["code"], first["tier"], first["cycle"]) == ("cost.rank", 6, row["cycle"])
    assert first["facts"]["need"] == row["need"]
    assert f"machine/{row['machine']}" in first["refs"]
    assert row["sentence"].endswith(first["text"])
    assert row["deltaHourlyCost"] == 0.0
    (bought, *_) = fleet.get("/decisions?kind=Provision&limit=1")["decisions"]
    price = float(bought["reasons"][0]["facts"]["pricePerHour"])
    assert bought["deltaHourlyCost"] == price > 0


def test_decisions_after_a_place_are_only_the_newer_ones(fleet: LivingFleet) -> None:
    rows = fleet.get("/decisions?limit=20")["decisions"]
    place = rows[-1]["id"].removeprefix("action/")
    newer = fleet.get(f"/decisions?limit=500&after={place}")["decisions"]
    assert [row["id"] for row in rows[:-1]] == [row["id"] for row in newer][-len(rows) + 1 :]


def test_a_cycle_tells_what_it_decided(fleet: LivingFleet) -> None:
    (row, *_) = fleet.get("/decisions?limit=1")["decisions"]
    found = fleet.get(f"/cycles/{row['cycle']}")
    assert problems_in(found, shapes.CycleShape) == ""
    assert row["id"] in {each["id"] for each in found["decisions"]}
    assert found["totalActions"] == len(found["decisions"])
    assert {"phase1", "phase2", "phase3"} <= found["phaseSeconds"].keys()
    assert all(seconds >= 0 for seconds in found["phaseSeconds"].values())
    assert all(each["reasons"] for each in found["decisions"])
    assert fleet.get("/cycles/soon", 400)["field"] == "n"
    assert "no cycle" in fleet.get("/cycles/99999999", 404)["error"]


def test_a_past_cycle_tells_what_was_new_to_it_and_hashes_to_compare(fleet: LivingFleet) -> None:
    kept = fleet.get("/status")["journal"]["shard-0"]
    cycles = [fleet.get(f"/cycles/{kept['firstCycle'] + n}") for n in range(8)]
    assert [problems_in(each, shapes.CycleShape) for each in cycles] == [""] * 8
    # There the journal begins.
    assert cycles[0]["inputs"]["keyframe"]
    seen = next(each for each in cycles if each["machines"])
    whole = [seen, *(each for each in cycles if each["inputs"]["keyframe"])]
    assert [each["inputs"]["machines"] for each in whole] == [each["machines"] for each in whole]
    assert len({each["inputs"]["hash"] for each in cycles}) == 8
    nothing = hashlib.sha256().hexdigest()
    assert all((each["outputHash"] == nothing) == (not each["totalActions"]) for each in cycles)


def asked_on_the_command_line(fleet: LivingFleet, *words: str) -> dict[str, Any]:
    address = fleet.local.addresses["shard-0"]
    done = CliRunner().invoke(cli, [*words, "--shard", address, "-o", "json"])
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("kind", ["machine", "need"])
def test_why_is_the_answer_of_the_command_line(fleet: LivingFleet, kind: str) -> None:
    # Its outcome was seen: one that is still to come may come between the two questions.
    rows = fleet.get("/decisions?kind=Bootstrap&limit=500")["decisions"]
    row = next(each for each in rows if each.get("outcome"))
    name = row["need"] if kind == "need" else f"machine/{row['machine']}"
    cycle = f"{fleet.get('/status')['shards'][0]['shardEpoch']}:{row['cycle']}"
    found = fleet.get(f"/why?object={name}&at={cycle}")
    assert problems_in(found, shapes.Why) == ""
    told = asked_on_the_command_line(fleet, "why", name, "--at", cycle)
    for each in (found, told):
        for moving in ("queriedAt", "lastDecision", "events", "unreachable", "warnings"):
            each.pop(moving, None)
    assert found == told


def test_why_not_names_the_first_check_that_fails(fleet: LivingFleet) -> None:
    name = fleet.lasting_need()
    (row,) = fleet.get("/machines?filter=state=speculative&limit=1")["machines"]
    found = fleet.get(f"/why?object=machine/{row['id']}&versus={name}")
    assert found["sentence"]
    assert found["checks"]
    alone = fleet.get(f"/why?object=machine/{row['id']}&not=true")
    assert alone["sentence"]


def test_why_of_an_action_and_of_a_cluster(fleet: LivingFleet) -> None:
    row = fleet.get("/decisions?limit=1")["decisions"][0]
    found = fleet.get(f"/why?object={row['id']}")
    assert found["decision"]["machine"] == row["machine"]
    about = fleet.get("/why?object=cluster/shop")
    assert {each["cluster"] for each in about["decisions"]} == {"shop"}


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ("object=machine/absent", 404, "no machine absent"),
        ("object=need/shop/nffff", 404, "no need shop/nffff"),
        ("object=cluster/shap", 404, "no cluster shap"),
        ("object=action/1.99999", 404, "no action 1.99999"),
        ("object=teapot/1", 400, "is not an object"),
        ("object=machine", 400, "is not an object"),
        ("object=machine/x&at=later", 400, "is not a cycle"),
        ("object=machine/x&counterfactual=true", 400, "about a Need"),
        ("object=machine/x&not=perhaps", 400, "neither true nor false"),
        ("", 400, "object is missing"),
        ("object=pod/shop/default/web", 503, "API server"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    fleet: LivingFleet, asked: str, status: int, says: str
) -> None:
    assert says in fleet.get(f"/why?{asked}", status)["error"]
