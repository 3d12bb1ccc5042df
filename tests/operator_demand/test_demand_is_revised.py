"""Own rows with overhead in their units, margins after them, and the shard asked first."""

from dataclasses import replace

from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources
from tests.operator_demand.demand import Operator

MARGIN = "margin"


def groups(needs: tuple[Need, ...]) -> list[str]:
    return [need.group for need in needs]


def crowded() -> Operator:
    """Two machines with a pod of five cpus each, and a third pod that finds no place."""
    operator = Operator()
    operator.hears()
    for name in ("a", "b", "c"):
        operator.asks(name)
    for machine, name in (("m-1", "a"), ("m-2", "b")):
        operator.joins(machine)
        operator.puts(operator.pod(name, f"n-{machine}"))
    operator.puts(operator.pod("c"))
    return operator


def stuck() -> Operator:
    operator = crowded()
    operator.hears(*operator.sends(), machines=2)
    operator.passes(61)
    operator.hears(*operator.sends(), machines=2)
    operator.demand.turn(operator.at)
    return operator


def test_without_stuck_pods_a_roll_up_is_exactly_the_sum_of_requests() -> None:
    operator = Operator()
    operator.hears()
    operator.asks("a")
    operator.asks("b", cpu="1")
    (need,) = operator.sends()
    assert need.aggregate == Resources.parse({"cpu": "6", "memory": "2Gi"})
    assert need.min_unit == Resources.parse({"cpu": "5", "memory": "1Gi"})


def test_the_unit_has_the_overhead_of_the_machines_seen() -> None:
    operator = Operator()
    operator.hears()
    operator.asks("a")
    operator.joins("m-1")
    operator.daemon("m-1", "300m")
    (need,) = operator.sends()
    assert need.aggregate == Resources.parse({"cpu": "5", "memory": "1Gi"})
    assert need.min_unit == Resources.parse({"cpu": "5800m", "memory": "3Gi"})


def test_a_daemon_set_that_comes_changes_the_units_of_the_next_roll_up() -> None:
    operator = Operator()
    operator.hears()
    operator.asks("a")
    operator.joins("m-1")
    operator.sends()
    operator.daemon("m-1", "1")
    operator.passes(10)
    before = operator.demand.version
    (need,) = operator.sends()
    assert need.min_unit["cpu"] == 6500
    assert operator.demand.version > before


def test_a_stuck_pod_is_asked_for_after_the_own_rows_and_at_once() -> None:
    operator = stuck()
    urgent = [operator.demand.is_urgent]
    needs = operator.sends()
    urgent.append(operator.demand.is_urgent)
    assert urgent == [True, False]
    assert groups(needs) == ["", MARGIN]
    assert needs[0].aggregate["cpu"] == 15_000
    assert needs[1].aggregate == Resources.parse({"cpu": "5"})
    assert operator.demand.stuck_pods == 1
    assert {group for _, group in operator.demand.asks()} == {"", MARGIN}


def test_a_pod_the_scheduler_has_not_judged_is_not_stuck() -> None:
    operator = crowded()
    operator.puts(replace(operator.pod("c", verdict=""), unschedulable_since=None))
    operator.passes(61)
    operator.hears(*operator.sends(), machines=2)
    operator.demand.turn(operator.at)
    assert groups(operator.sends()) == [""]


def test_a_reply_about_other_rows_revises_nothing() -> None:
    operator = crowded()
    sent = operator.sends()
    operator.passes(61)
    operator.asks("d")
    operator.sends()
    operator.passes(61)
    operator.hears(*sent, machines=2)
    operator.demand.turn(operator.at)
    assert operator.demand.margin_totals() == {}


def test_nothing_is_sent_before_the_shard_has_told_of_margins_in_force() -> None:
    operator = Operator()
    operator.asks("a")
    assert operator.demand.wants_first_reply(operator.at)
    assert not operator.demand.is_trustworthy(operator.at)
    assert [group for _, group in operator.demand.asks()] == [MARGIN]
    operator.passes(9)
    assert not operator.demand.is_trustworthy(operator.at)
    operator.passes(1)
    assert operator.demand.is_trustworthy(operator.at), "a shard that is silent waits for demand"


def test_a_shard_without_reports_is_not_waited_for() -> None:
    operator = Operator()
    operator.asks("a")
    operator.demand.on_no_reply()
    assert operator.demand.is_trustworthy(operator.at)
    assert groups(operator.sends()) == [""]


def test_demand_that_is_not_known_yet_is_not_asked_about() -> None:
    operator = Operator(fresh=False)
    assert not operator.demand.wants_first_reply(operator.at)
    operator.passes(60)
    assert not operator.demand.is_trustworthy(operator.at)


def test_a_process_that_leads_anew_takes_the_margins_from_the_shard() -> None:
    operator = stuck()
    sent = operator.sends()
    operator.demand.restart()
    operator.demand.on_connected(operator.at)
    assert operator.demand.wants_first_reply(operator.at)
    operator.hears(*sent, machines=2, margin=1)
    needs = operator.sends()
    assert groups(needs) == ["", MARGIN]
    assert needs[1].aggregate["cpu"] == 8000, "what its row has"


def test_a_session_that_ends_keeps_the_margins() -> None:
    operator = stuck()
    operator.sends()
    operator.demand.on_disconnected()
    operator.demand.on_connected(operator.at)
    assert operator.demand.is_trustworthy(operator.at)
    assert groups(operator.sends()) == ["", MARGIN]


def test_pods_that_leave_take_their_margin_with_them() -> None:
    operator = stuck()
    operator.hears(*operator.sends(), machines=2, margin=1)
    for name in ("a", "b", "c"):
        operator.withdraws(name)
    assert operator.sends() == ()
