"""Machines whose Node never came, went, or stays broken; and how few of them go at once."""

import pytest

from bigfleet.kube.objects import Condition
from bigfleet.model.cluster_reports import LostCause
from bigfleet.model.instants import instant_text
from bigfleet.model.options import SECOND
from bigfleet.operator.node_rules import BadCondition, NodeRules, repair_conditions
from tests.operator_nodes.nodes import MINUTE, START, Fleet, S, causes, node, told


def fleet_of(count: int, **settings: object) -> Fleet:
    """So many machines, all with a usable Node."""
    fleet = Fleet(**settings)  # type: ignore[arg-type]
    names = [f"m-{number:02}" for number in range(count)]
    fleet.say(*(told(name) for name in names))
    fleet.joins(*(node(name) for name in names))
    return fleet


def test_a_machine_without_a_node_for_two_minutes_has_never_joined() -> None:
    fleet = Fleet()
    fleet.say(told())
    assert causes(fleet.passes(110)) == {}
    assert causes(fleet.passes(10)) == {"m-1": LostCause.NEVER_JOINED}
    fleet.joins(node())
    assert causes(fleet.look()) == {}


def test_a_machine_whose_node_went_two_minutes_ago_is_lost() -> None:
    fleet = fleet_of(1)
    fleet.leaves("m-00")
    assert causes(fleet.passes(110)) == {}
    assert causes(fleet.passes(10)) == {"m-00": LostCause.NODE_GONE}


def test_a_node_that_comes_back_in_time_starts_the_time_anew() -> None:
    fleet = fleet_of(1)
    for _ in range(5):
        fleet.leaves("m-00")
        assert causes(fleet.passes(100)) == {}
        fleet.joins(node("m-00"))
        assert causes(fleet.passes(10)) == {}


def test_a_machine_that_is_given_back_is_not_lost_when_its_node_goes() -> None:
    fleet = fleet_of(1)
    fleet.say(told("m-00", S.DRAINING))
    fleet.leaves("m-00")
    assert causes(fleet.passes(600)) == {}


def test_a_machine_that_comes_again_joins_anew() -> None:
    fleet = fleet_of(1)
    fleet.say(told("m-00", S.IDLE))
    fleet.leaves("m-00")
    fleet.say(told("m-00"))
    assert causes(fleet.passes(120)) == {"m-00": LostCause.NEVER_JOINED}


def test_nothing_is_lost_while_nodes_cannot_be_seen_and_for_two_minutes_after() -> None:
    fleet = fleet_of(1)
    fleet.leaves("m-00")
    fleet.fresh = False
    assert causes(fleet.passes(600)) == {}
    fleet.fresh = True
    assert causes(fleet.passes(110)) == {}
    assert causes(fleet.passes(20)) == {"m-00": LostCause.NODE_GONE}


def test_a_new_session_starts_the_time_anew_and_forgets_what_it_does_not_name() -> None:
    fleet = Fleet()
    fleet.say(told("m-1"), told("m-2"))
    fleet.passes(115)
    fleet.reconnects(told("m-1"))
    assert causes(fleet.passes(110)) == {}
    assert causes(fleet.passes(20)) == {"m-1": LostCause.NEVER_JOINED}


def test_a_node_that_is_not_ready_for_thirty_minutes_is_broken() -> None:
    fleet = fleet_of(10)
    fleet.joins(node("m-03", "Unknown"))
    assert causes(fleet.passes(29 * 60)) == {}
    assert causes(fleet.passes(60)) == {"m-03": LostCause.UNHEALTHY}


def test_a_restarted_operator_does_not_start_the_thirty_minutes_anew() -> None:
    fleet = fleet_of(10, at=START + 40 * MINUTE)
    fleet.joins(node("m-03", "False", since=START))
    assert causes(fleet.look()) == {"m-03": LostCause.UNHEALTHY}


def test_a_node_that_flaps_is_never_broken_for_its_time() -> None:
    fleet = fleet_of(10)
    for _ in range(20):
        fleet.joins(node("m-03", "Unknown", since=fleet.at))
        assert causes(fleet.passes(20 * 60, step=60)) == {}
        fleet.joins(node("m-03", "True", since=fleet.at))
        assert causes(fleet.passes(60, step=60)) == {}


def test_other_conditions_are_broken_by_setting() -> None:
    rules = NodeRules(repair=repair_conditions(["KernelDeadlock=10m", "GpuHealthy:False=5m"]))
    fleet = fleet_of(20, rules=rules)
    since = instant_text(fleet.at)
    deadlock = Condition(type="KernelDeadlock", status="True", last_transition_time=since)
    healthy = Condition(type="GpuHealthy", status="True", last_transition_time=since)
    sick = Condition(type="GpuHealthy", status="False", last_transition_time=since)
    fleet.joins(
        node("m-01", conditions=[deadlock]),
        node("m-02", conditions=[sick]),
        node("m-03", conditions=[healthy]),
    )
    assert causes(fleet.passes(300)) == {"m-02": LostCause.UNHEALTHY}
    assert sorted(causes(fleet.passes(300))) == ["m-01", "m-02"]


@pytest.mark.parametrize("text", ["Ready", "=5m", "Ready=soon", "Gpu:=5m"])
def test_a_condition_that_cannot_be_read_says_how_it_is_written(text: str) -> None:
    with pytest.raises(BadCondition, match="write it like KernelDeadlock=10m"):
        repair_conditions([text])


def test_the_time_of_ready_can_be_set() -> None:
    (rule,) = repair_conditions(["Ready=1h"])
    assert (rule.type, rule.status, rule.after) == ("Ready", "", 3600 * SECOND)


def test_repair_that_is_off_replaces_nothing() -> None:
    fleet = fleet_of(10, rules=NodeRules(repair=()))
    fleet.joins(node("m-03", "Unknown"))
    assert causes(fleet.passes(3600, step=60)) == {}


def test_half_the_nodes_going_dark_is_not_so_many_broken_machines() -> None:
    fleet = fleet_of(10)
    fleet.joins(*(node(f"m-{number:02}", "Unknown") for number in range(5)))
    found = fleet.passes(2 * 3600, step=60)
    assert causes(found) == {}
    assert (found.broken, found.machines, len(found.held)) == (5, 10, 5)
    fleet.joins(*(node(f"m-{number:02}") for number in range(3)))
    assert sorted(causes(fleet.look())) == ["m-03", "m-04"]


def test_a_fifth_of_the_machines_goes_at_once_the_longest_broken_first() -> None:
    fleet = fleet_of(11, at=START + 60 * MINUTE)
    fleet.joins(
        node("m-01", "Unknown", since=START + 2 * SECOND),
        node("m-02", "Unknown", since=START),
    )
    assert sorted(causes(fleet.look())) == ["m-01", "m-02"]
    fleet.say(told("m-01", S.DRAINING))
    assert sorted(causes(fleet.look())) == ["m-02"]
    fleet.joins(node("m-03", "Unknown", since=START))
    found = fleet.look()
    assert causes(found) == {}, "three of eleven are broken now"
    fleet.say(told("m-01", S.IDLE))
    fleet.leaves("m-01")
    assert sorted(causes(fleet.look())) == ["m-02", "m-03"]


def test_machines_on_their_way_out_count_for_what_goes_at_once() -> None:
    fleet = fleet_of(10, at=START + 60 * MINUTE)
    fleet.joins(node("m-01", "Unknown", since=START), node("m-02", "Unknown", since=START))
    fleet.say(told("m-01", S.DRAINING))
    found = fleet.look()
    assert sorted(causes(found)) == ["m-02"]
    assert found.held == ()


def test_a_cluster_of_three_machines_may_replace_one() -> None:
    fleet = fleet_of(3, at=START + 60 * MINUTE)
    fleet.joins(node("m-01", "Unknown", since=START))
    assert causes(fleet.look()) == {"m-01": LostCause.UNHEALTHY}
    fleet.joins(node("m-02", "Unknown", since=START))
    assert causes(fleet.look()) == {}
