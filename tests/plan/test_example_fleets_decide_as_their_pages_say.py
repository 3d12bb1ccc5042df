"""The fleets of the worked cases in docs/decision-engine.md, decided."""

from pathlib import Path

import pytest

from bigfleet.fleetfile import load_fleet
from bigfleet.model.fleet import Fleet
from bigfleet.plan.cycle import FileDecision, decide_fleet
from bigfleet.plan.cycles import next_fleet
from tests.generated.agreement import differences
from tests.oracle import decide as oracle

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "fleets"
WORKED = ("higher-bucket-first", "empty-goes-first", "whole-rack", "idle-spot")


def fleet_named(name: str) -> Fleet:
    path = EXAMPLES / f"{name}.yaml"
    return load_fleet(path.read_bytes(), path.name)


def actions_of(decision: FileDecision) -> list[tuple[str, str, str]]:
    return [(a.kind.label, a.machine, a.cluster) for a in decision.actions]


@pytest.mark.parametrize("name", WORKED)
def test_the_page_shows_the_fleet_and_the_oracle_agrees(name: str) -> None:
    assert f"examples/fleets/{name}.yaml" in (ROOT / "docs" / "decision-engine.md").read_text()
    fleet = fleet_named(name)
    assert differences(decide_fleet(fleet), oracle.decide(fleet)) == []


def test_the_free_machine_completes_the_gang_of_the_higher_bucket() -> None:
    assert actions_of(decide_fleet(fleet_named("higher-bucket-first"))) == [
        ("Bootstrap", "a-1", "train")
    ]


def test_the_empty_machine_goes() -> None:
    assert actions_of(decide_fleet(fleet_named("empty-goes-first"))) == [
        ("Reclaim", "web-0", "shop")
    ]


def test_the_gang_takes_rack_c_whole_and_has_it_in_the_next_cycle() -> None:
    fleet = fleet_named("whole-rack")
    decision = decide_fleet(fleet)
    rack = ["c-0", "c-1", "c-2"]
    assert actions_of(decision) == [("Preempt", name, "batch") for name in rack]
    assert all(action.whole_domain for action in decision.actions)
    after = decide_fleet(next_fleet(fleet, decision.actions, decision.memory))
    assert actions_of(after) == [("Bootstrap", name, "train") for name in rack]


def test_work_that_must_not_be_interrupted_takes_the_dearer_idle_machine() -> None:
    assert actions_of(decide_fleet(fleet_named("idle-spot"))) == [
        ("Bootstrap", "od", "train"),
        ("Bootstrap", "spot", "batch"),
    ]
