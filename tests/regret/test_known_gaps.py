"""Fleets whose gap is known, what a time limit leaves, and what is said without the solver."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from bigfleet.cli.main import cli
from bigfleet.fleetfile import load_fleet
from bigfleet.model.regret import HOW_TO_ENABLE, Regret, RegretStatus
from bigfleet.plan.cycle import engine_input_of
from bigfleet.regret import meter
from bigfleet.regret.meter import regret_of
from tests.questions.recorded_night import NIGHT

#: Two idle machines of 16 cpu at $1, four of 4 cpu to be bought at $0.20. Greedy takes what is idle
#: first: each large machine goes to a Need of 4 cpu, and the Need that needs large ones gets none.
FRAGMENTED = """
version: 1
kind: Fleet
machines:
  - {id: "big-{0}", count: 2, state: Idle, capacityType: OnDemand, instanceType: big,
     pricePerHour: 1.0, resources: {cpu: 16, memory: 64Gi}}
  - {id: "small-{0}", count: 4, state: Speculative, capacityType: OnDemand, instanceType: small,
     pricePerHour: 0.2, resources: {cpu: 4, memory: 16Gi}}
needs:
  - {cluster: shop, priority: 1000, aggregateResources: {cpu: 4}, minUnit: {cpu: 4}}
  - {cluster: ml, priority: 1000, aggregateResources: {cpu: 4}, minUnit: {cpu: 4}}
  - {cluster: ml, priority: 100, aggregateResources: {cpu: 32}, minUnit: {cpu: 16}}
"""
ONE_TYPE = """
version: 1
kind: Fleet
machines:
  - {{id: "c-{{00}}", count: {bound}, state: Configured, cluster: a, capacityType: OnDemand,
     instanceType: m5, pricePerHour: 0.4, resources: {{cpu: 8, memory: 32Gi}}}}
  - {{id: "s-{{00}}", count: {free}, state: Speculative, capacityType: OnDemand, instanceType: m5,
     pricePerHour: 0.4, resources: {{cpu: 8, memory: 32Gi}}}}
needs:
  - {{cluster: a, priority: 1000, aggregateResources: {{cpu: {first}, memory: 32Gi}},
     minUnit: {{cpu: 8, memory: 32Gi}}}}
  - {{cluster: b, priority: 10, aggregateResources: {{cpu: {second}}},
     minUnit: {{cpu: 8, memory: 32Gi}}}}
"""


def measured(text: str, seconds: float = 10.0) -> Regret:
    given = engine_input_of(load_fleet(text.encode(), "fleet.yaml"))
    return regret_of(given.decide(workers=1), seconds)


def test_a_fragmented_fleet_shows_its_gap_and_the_types_that_make_it() -> None:
    found = measured(FRAGMENTED)
    assert found.status is RegretStatus.OPTIMAL
    assert found.greedy_per_hour == 2.0
    assert found.bound_per_hour == pytest.approx(0.4)
    assert found.ratio == pytest.approx(0.8)
    parts = {
        each.instance_type: (each.greedy_per_hour, round(each.bound_per_hour, 9))
        for each in found.by_type
    }
    assert parts == {"big": (2.0, 0.0), "small": (0.0, 0.4)}


def test_a_fragmented_fleet_shows_what_could_be_covered() -> None:
    (batch,) = measured(FRAGMENTED).uncovered
    assert (batch.priority_class, batch.greedy.texts()) == ("batch", {"cpu": "32"})
    assert (batch.bound.texts(), batch.bound_known) == ({}, True)


def one_type(bound: int, free: int, first: int, second: int) -> Regret:
    """Machines that cluster a has and those to be bought; what a and b ask for, in machines."""
    return measured(ONE_TYPE.format(bound=bound, free=free, first=8 * first, second=8 * second))


@given(
    bound=st.integers(1, 12),
    free=st.integers(1, 12),
    first=st.integers(1, 10),
    second=st.integers(1, 10),
)
@example(bound=3, free=9, first=2, second=3).via("met")
@example(bound=1, free=9, first=5, second=1).via("mostly bought")
@example(bound=6, free=2, first=3, second=2).via("with excess")
@example(bound=2, free=2, first=3, second=10).via("short")
def test_one_type_asked_for_in_whole_machines_has_no_gap(
    bound: int, free: int, first: int, second: int
) -> None:
    found = one_type(bound, free, first, second)
    assert found.status is RegretStatus.OPTIMAL
    assert found.greedy_per_hour > 0
    assert found.bound_per_hour == pytest.approx(found.greedy_per_hour)


@given(
    bound=st.integers(1, 9),
    free=st.integers(1, 9),
    more=st.integers(0, 9),
    second=st.integers(1, 20),
)
def test_one_type_of_which_no_cluster_has_too_many_leaves_uncovered_what_the_bound_does(
    bound: int, free: int, more: int, second: int
) -> None:
    found = one_type(bound, free, bound + more, second)
    assert [each.bound for each in found.uncovered] == [each.greedy for each in found.uncovered]


def test_machines_that_another_cluster_is_about_to_give_back_count_in_the_bound() -> None:
    (lacking,) = one_type(bound=2, free=1, first=1, second=2).uncovered
    assert (lacking.priority_class, lacking.greedy.texts()) == ("other", {"cpu": "8"})
    assert lacking.bound.texts() == {}


def test_a_rest_of_a_machine_is_a_machine_in_the_bound_too() -> None:
    found = measured(ONE_TYPE.format(bound=1, free=9, first=9, second=1))
    assert found.greedy_per_hour == pytest.approx(3 * 0.4)
    assert found.bound_per_hour == pytest.approx(found.greedy_per_hour)


def test_a_pinned_workload_on_a_machine_that_may_be_interrupted_counts_at_its_price() -> None:
    text = """
version: 1
kind: Fleet
machines:
  - {id: spot, state: Idle, capacityType: Spot, pricePerHour: 0.1, interruptionProbability: 0.3,
     resources: {cpu: 8}}
needs:
  - {cluster: a, priority: 10, interruptionPenaltyBucket: pinned, aggregateResources: {cpu: 8}}
"""
    found = measured(text)
    assert found.greedy_per_hour == 0.1
    assert found.bound_per_hour == pytest.approx(0.1)
    assert found.pinned_machines == 1


def test_declared_penalties_are_part_of_the_cost() -> None:
    text = """
version: 1
kind: Fleet
machines:
  - {id: spot, state: Idle, capacityType: Spot, pricePerHour: 0.1, interruptionProbability: 0.3,
     resources: {cpu: 8}}
needs:
  - {cluster: a, priority: 10, interruptionPenaltyBucket: "4", aggregateResources: {cpu: 8}}
"""
    assert measured(text).greedy_per_hour == pytest.approx(0.1 + 0.3 * 4)


def test_a_fleet_without_demand_has_no_regret() -> None:
    text = "version: 1\nkind: Fleet\nmachines: []\nneeds: []\n"
    found = measured(text)
    assert found == Regret(RegretStatus.OPTIMAL, seconds=found.seconds)


def test_when_time_runs_out_the_bound_is_true_and_the_answer_says_so() -> None:
    found = measured(FRAGMENTED, seconds=0.0)
    assert found.status is RegretStatus.BOUND_ONLY
    assert 0.0 <= found.bound_per_hour <= 0.4
    assert found.reason == "time ran out after 0 s: the gap may be smaller"
    assert [each.bound_known for each in found.uncovered] == [False]
    assert found.by_type == ()


def test_a_fleet_too_varied_for_the_time_is_skipped_with_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(meter, "MOST_PAIRS", 2)
    found = measured(FRAGMENTED)
    assert found.status is RegretStatus.SKIPPED
    assert found.reason.startswith("the fleet is too varied: 3 pairs")


def typed(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(cli, words)


@pytest.fixture
def fragmented(tmp_path: Path) -> str:
    file = tmp_path / "fleet.yaml"
    file.write_text(FRAGMENTED)
    return str(file)


def test_a_fleet_file_is_measured_and_shown_with_the_types_that_make_the_gap(
    fragmented: str,
) -> None:
    answer = typed("reports", "regret", "--fleet", fragmented)
    assert answer.exit_code == 0, answer.stderr
    lines = [line.split() for line in answer.stdout.splitlines()]
    shown = "- optimal $2.00 $0.40 $1.60 80.0% batch cpu 32 batch nothing 0"
    assert shown.split() in lines
    assert "big: $2.00/h, $0.00/h in the bound".split() in lines


def test_a_cycle_of_a_journal_is_measured_too() -> None:
    answer = typed("reports", "regret", "--journal", str(NIGHT), "--at", "384", "-o", "json")
    assert answer.exit_code == 0, answer.stderr
    (row,) = json.loads(answer.stdout)["items"]
    assert (row["status"], row["cycle"]) == ("REGRET_STATUS_OPTIMAL", 384)
    assert 0 < row["boundPerHour"] <= row["greedyPerHour"]


def test_without_the_solver_the_command_says_how_to_get_it(
    fragmented: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    answer = typed("reports", "regret", "--fleet", fragmented, "-o", "json")
    assert answer.exit_code == 5
    assert HOW_TO_ENABLE in answer.stderr
    (row,) = json.loads(answer.stdout)["items"]
    assert (row["status"], row["reason"]) == ("REGRET_STATUS_SKIPPED", HOW_TO_ENABLE)
    table = typed("reports", "regret", "--fleet", fragmented)
    assert "unknown" in table.stdout
    assert "$" not in table.stdout
