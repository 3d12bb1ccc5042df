"""Schedulers that are silent or two, pods beyond help, a restart: what demand makes of it."""

from dataclasses import replace
from typing import Any

import msgspec

from bigfleet.kube.objects import Pod
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources
from bigfleet.operator.pods_on_nodes import PodOnNode, pod_on_node
from bigfleet.placement.margin_notes import MarginNote, NoteKind
from tests.operator_demand.demand import Operator

MARGIN = "margin"
WORDS = "0/2 nodes are available: 2 node(s) didn't match the moon phase."


def crowded() -> Operator:
    """Two machines with a pod of five cpus each and one that is too small for another; requests of
    further pods `c` and `d`.
    """
    operator = Operator()
    operator.hears()
    for name in ("a", "b", "c", "d"):
        operator.asks(name)
    for machine, name in (("m-1", "a"), ("m-2", "b")):
        operator.joins(machine)
        operator.puts(operator.pod(name, f"n-{machine}"))
    operator.joins("m-0", Resources.parse({"cpu": "5", "memory": "32Gi"}))
    return operator


def looks(operator: Operator, margin: int = 0) -> tuple[MarginNote, ...]:
    operator.hears(*operator.sends(), machines=3, margin=margin)
    return operator.demand.turn(operator.at)


def margins(operator: Operator) -> list[Need]:
    return [need for need in operator.sends() if need.group == MARGIN]


# -- the scheduler -------------------------------------------------------------------------------


def test_with_a_scheduler_that_is_down_nothing_is_revised_however_long_pods_wait() -> None:
    operator = crowded()
    for name in ("c", "d"):
        pod = operator.pod(name, verdict="")
        operator.puts(replace(pod, unschedulable_since=None))
    for _ in range(60):
        operator.passes(60)
        looks(operator)
    assert margins(operator) == []
    assert operator.demand.stuck_pods == 0


def test_a_slow_scheduler_has_a_minute_to_judge_anew_what_a_new_node_takes() -> None:
    operator = crowded()
    operator.puts(operator.pod("c"))
    operator.passes(30)
    operator.joins("m-3")
    for _ in range(5):
        operator.passes(10)
        looks(operator)
    assert margins(operator) == []
    operator.passes(11)
    looks(operator)
    assert len(margins(operator)) == 1, "then its first word stands"


def judged(name: str, at: str, *conditions: dict[str, str], **spec: Any) -> PodOnNode:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}
    body = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "ownerReferences": [owner | {"controller": True}],
        },
        "spec": {"containers": []} | spec,
        "status": {"conditions": [each | {"lastTransitionTime": at} for each in conditions]},
    }
    return pod_on_node(msgspec.convert(body, Pod))


REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": WORDS}
AT = "2023-11-14T22:13:20Z"


def test_the_word_of_either_of_two_schedulers_counts() -> None:
    operator = crowded()
    operator.puts(judged("c", AT, REFUSED, schedulerName="default-scheduler"))
    operator.puts(judged("d", AT, REFUSED | {"message": "no rack"}, schedulerName="volcano"))
    operator.passes(61)
    looks(operator)
    assert operator.demand.stuck_pods == 2
    (margin,) = margins(operator)
    assert margin.aggregate["cpu"] == 13_000, "a machine, and the smaller pod on the second"


def test_only_the_condition_pod_scheduled_is_a_scheduler_s_word() -> None:
    other = {"type": "volcano.sh/Scheduled", "status": "False", "reason": "Unschedulable"}
    gated = REFUSED | {"reason": "SchedulingGated"}
    failed = REFUSED | {"reason": "SchedulerError"}
    for condition in (other, gated, failed):
        assert judged("c", AT, condition, schedulerName="volcano").unschedulable_since is None
    assert judged("c", AT, other, REFUSED).unschedulable_since is not None


# -- a pod that no machine can take --------------------------------------------------------------


def test_a_pod_no_machine_can_take_is_told_so_after_three_rounds_and_the_machines_go_back() -> None:
    operator = crowded()
    operator.puts(operator.pod("c", verdict=WORDS))
    operator.passes(61)
    looks(operator)
    told: list[MarginNote] = []
    asked = []
    for number in (1, 2, 3):
        asked.append(len(margins(operator)))
        operator.joins(f"m-{number + 2}")
        operator.passes(61)
        told += looks(operator, margin=number)
    assert asked == [1, 1, 1]
    assert margins(operator) == [], "nothing keeps the machines any more"
    assert operator.demand.figures.fruitless == 3
    (note,) = [each for each in told if each.kind is NoteKind.GIVEN_UP]
    assert note.kind.value == "MoreMachinesDoNotHelp"
    assert [pod.key for pod in note.pods] == ["ns/c"]
    assert note.sentence.endswith(WORDS)


# -- a restart -----------------------------------------------------------------------------------


def machines_of(operator: Operator) -> list[tuple[str, int]]:
    """By row: what a shard with machines of 8 cpu claims for it."""
    return [(need.group, -(-need.aggregate["cpu"] // 8000)) for need in operator.sends()]


def test_restarts_with_margins_in_force_ask_for_the_same_machines_again() -> None:
    operator = crowded()
    operator.puts(operator.pod("c"))
    operator.passes(61)
    looks(operator)
    operator.joins("m-3")
    operator.puts(operator.pod("c", "n-m-3"))
    looks(operator, margin=1)
    before, rows = machines_of(operator), operator.sends()
    assert before == [("", 3), (MARGIN, 1)]
    for _ in range(3):
        operator.demand.restart()
        operator.demand.on_connected(operator.at)
        assert not operator.demand.is_trustworthy(operator.at), "nothing is sent without them"
        operator.hears(*rows, machines=3, margin=1)
        assert operator.demand.is_trustworthy(operator.at)
        rows = operator.sends()
        assert machines_of(operator) == before
        for _ in range(5):
            operator.passes(20)
            looks(operator, margin=1)
        assert machines_of(operator) == before
