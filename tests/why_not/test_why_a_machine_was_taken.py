"""Why was this machine taken from me, by whom, at what declared cost, and what was the next-best
choice? Why is this machine still here? Each in one command, from a recorded journal."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent, StorySource
from bigfleet.plan.cycle import engine_input_of
from tests.plan.fleets import fleet_of

FLEET = """
machines:
  - {id: taken, state: Configured, cluster: batch, capacityType: OnDemand, pricePerHour: 0.38,
     resources: {cpu: 8}, assigned: {priority: 100, interruptionPenalty: 4, reclamationPenalty: 1}}
  - {id: spared, state: Configured, cluster: batch, capacityType: OnDemand, pricePerHour: 0.38,
     resources: {cpu: 8}, assigned: {priority: 100, interruptionPenalty: 64, reclamationPenalty: 1}}
needs:
  - {cluster: shop, priority: 100000, aggregateResources: {cpu: 8}, minUnit: {cpu: 8}}
  - {cluster: batch, priority: 100, aggregateResources: {cpu: 16}, minUnit: {cpu: 8}}
options: {now: "2026-01-01T00:00:00Z"}
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Cycle 7 preempts a machine; in cycle 8 it drains and nothing more is decided about it."""
    fleet = fleet_of(FLEET)
    given = replace(engine_input_of(fleet), cycle=7)
    decision = given.decide()
    (action,) = decision.actions
    view = ActionView(7, 0, action.kind, action.machine, "batch", disposition=Disposition.ENQUEUED)
    draining = tuple(
        replace(entry, machine=replace(entry.machine, state=MachineState.DRAINING))
        if entry.machine.id == "taken"
        else entry
        for entry in fleet.machines
    )
    after = engine_input_of(
        replace(fleet, machines=draining, memory=decision.memory, now=(fleet.now or 0) + SECOND)
    )
    after = replace(after, cycle=8)
    file = JournalFile(tmp_path / "journal", "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    file.record(FinishedCycle(given, decision, (view,)), 0)
    file.record(FinishedCycle(after, after.decide()), SECOND)
    at = (fleet.now or 0) + 2 * SECOND
    began = StoryEvent(at - SECOND, StorySource.EXECUTOR, "its pods are evicted", machine="taken")
    others = StoryEvent(at, StorySource.PROVIDER, "it is gone", machine="spared")
    ended = replace(view, outcome="drain_error: the rack has no power", at=at)
    failed = StoryEvent(at, StorySource.PROVIDER, "the rack has no power", machine="taken")
    notes = ((7, began), (8, others), (8, ended), (8, failed))
    assert file.note([Note(cycle, body.at, body) for cycle, body in notes]) == 0
    file.close()
    return tmp_path / "journal"


def run(*words: str) -> Result:
    answer = CliRunner().invoke(cli, words)
    assert answer.exit_code == 0, answer.output
    return answer


def told(answer: Result) -> dict[str, Any]:
    return {step["phase"]: step["text"] for step in json.loads(answer.stdout)["steps"]}


def test_by_whom_at_what_declared_cost_and_what_was_next_best(journal: Path) -> None:
    answer = run("why", "machine/taken", "--journal", str(journal), "-o", "json")
    steps = told(answer)
    assert json.loads(answer.stdout)["cycle"] == "3:7"
    assert steps["taken by"].startswith("need/shop/n")
    assert "(priority 100000)" in steps["taken by"]
    cost = "interruption $4.00, reclamation $1.00; declared, not billed"
    assert steps["declared cost"] == cost
    assert steps["next best"].startswith("machine/spared of cluster batch, priority 100, score")
    assert steps["buying"] == "no other free machine fits"
    assert steps["disposition"] == "enqueued"
    # It failed: its pods do not leave, and it is not reserved.
    assert steps["next"] == "the action has ended; the machine's story tells what came of it"


def test_rails_disposition_and_outcome_of_an_action_are_told(journal: Path) -> None:
    for name in ("machine/taken", "action/7.0", "action/3:7.0"):
        steps = told(run("why", name, "--journal", str(journal), "-o", "json"))
        assert steps["rails"].startswith("passed: nothing under way, no pause, no dry-run")
        assert steps["rails"].endswith("verified, room in the queue")
        assert steps["disposition"] == "enqueued"
        outcome = "drain_error: the rack has no power, seen at 2026-01-01T00:00:02Z"
        assert steps["outcome"] == outcome


def test_a_journal_tells_the_story_of_a_machine(journal: Path) -> None:
    answer = run("why", "machine/taken", "--journal", str(journal))
    assert "What touched it, newest last:" in answer.stdout
    _, _, story = answer.stdout.partition("What touched it")
    assert story.index("its pods are evicted") < story.index("the rack has no power")
    assert "it is gone" not in story
    then = run("why", "machine/taken", "--journal", str(journal), "--at", "7", "-o", "json")
    assert [each["text"] for each in json.loads(then.stdout)["events"]] == ["its pods are evicted"]


def test_the_cycle_that_decided_is_found_and_said(journal: Path) -> None:
    answer = run("why", "machine/taken", "--journal", str(journal))
    assert "cycle 3:7 is the last that decided about taken" in answer.stderr
    assert "(cycle 3:7, 2026-01-01T00:00:00Z)" in answer.stdout
    later = run("why", "machine/taken", "--journal", str(journal), "--at", "8")
    assert "machine/taken is Draining" in later.stdout
    assert "reserved for need/shop/" in later.stdout


def test_an_action_is_explained_by_its_place_in_its_cycle(journal: Path) -> None:
    whole = run("why", "machine/taken", "--journal", str(journal), "-o", "json")
    action = run("why", "action/7.0", "--journal", str(journal), "-o", "json")
    assert told(action) == told(whole)
    for name in ("action/7.9", "action/9.0"):
        unknown = CliRunner().invoke(cli, ["why", name, "--journal", str(journal)])
        assert unknown.exit_code == 3, unknown.output
    wrong = CliRunner().invoke(cli, ["why", "action/seven", "--journal", str(journal)])
    assert wrong.exit_code == 2
    assert "such as action/18231.4" in wrong.stderr


def test_why_a_machine_is_still_here(journal: Path) -> None:
    answer = run("why-not", "machine/spared", "--journal", str(journal))
    assert "machine/spared is not reclaimed: claimed by need/batch/n" in answer.stdout


def test_a_fleet_file_tells_the_same_but_what_became_of_it(journal: Path, tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(f"version: 1\nkind: Fleet\n{FLEET}")
    recorded = told(run("why", "machine/taken", "--journal", str(journal), "-o", "json"))
    planned = told(run("why", "machine/taken", "--fleet", str(file), "-o", "json"))
    for became in ("disposition", "rails", "outcome"):
        del recorded[became]
    assert "then it is reserved for need/shop/" in planned["next"]
    apart = {"action": "", "next": ""}
    assert {**planned, **apart} == {**recorded, **apart}
    assert planned["action"].partition(" ")[2] == recorded["action"].partition(" ")[2]
