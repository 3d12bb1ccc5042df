"""A Node takes pods when it is Ready, past its start-up, and shows the devices asked for."""

import pytest

from bigfleet.kube.objects import NodeTaint
from bigfleet.model.options import SECOND
from bigfleet.operator.node_health import why_not_usable
from bigfleet.operator.node_rules import UsableRules
from tests.operator_nodes.nodes import GPU, MINUTE, START, Fleet, node, taint, told

RULES = UsableRules()


@pytest.mark.parametrize(
    ("ready", "reason"),
    [
        ("True", ""),
        ("False", "it is not Ready: False"),
        ("Unknown", "it is not Ready: Unknown"),
        ("", "its kubelet has not reported yet"),
    ],
)
def test_a_node_is_usable_only_while_it_is_ready(ready: str, reason: str) -> None:
    assert why_not_usable(node(ready=ready), (), START, RULES) == reason


STARTING = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/network-unavailable",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cilium.io/agent-not-ready",
    "ebs.csi.aws.com/agent-not-ready",
    "startup-taint.cluster-autoscaler.kubernetes.io/warm",
    "example.com/uninitialized",
    "example.com/warming",
)


@pytest.mark.parametrize("key", STARTING)
def test_a_taint_of_its_start_up_makes_it_unusable(key: str) -> None:
    rules = UsableRules(startup_taints=frozenset({"example.com/warming"}))
    found = why_not_usable(node(taints=[taint(key)]), (), START, rules)
    assert found == f"it has the start-up taint {key}"


@pytest.mark.parametrize(
    "lasting",
    [
        taint("node.kubernetes.io/unschedulable"),
        taint("node.kubernetes.io/disk-pressure"),
        taint("dedicated"),
        taint("node.cilium.io/agent-not-ready", "PreferNoSchedule"),
    ],
    ids=["a cordon", "pressure", "of its own", "a wish"],
)
def test_other_taints_leave_it_usable(lasting: NodeTaint) -> None:
    assert why_not_usable(node(taints=[lasting]), (), START, RULES) == ""


def test_a_node_must_show_the_devices_a_pod_asks_for() -> None:
    fleet = Fleet(devices={GPU})
    fleet.say(told("m-1", gpus=4), told("m-2"))
    fleet.joins(node("m-1"), node("m-2"))
    assert fleet.machines.unusable() == ("m-1",), "the other machine has no such device"
    fleet.joins(node("m-1", allocatable={GPU: "0"}))
    assert fleet.machines.unusable() == ("m-1",)
    fleet.joins(node("m-1", allocatable={GPU: "4"}))
    assert fleet.machines.unusable() == ()


def test_devices_no_pod_asks_for_are_not_waited_for() -> None:
    fleet = Fleet()
    fleet.say(told("m-1", gpus=4))
    fleet.joins(node("m-1"))
    assert fleet.machines.is_usable("m-1")


def test_devices_that_never_come_are_not_waited_for_for_ever() -> None:
    fleet = Fleet(devices={GPU})
    fleet.say(told("m-1", gpus=4))
    fleet.joins(node("m-1"))
    fleet.passes(14 * 60)
    assert not fleet.machines.is_usable("m-1")
    fleet.passes(60)
    assert fleet.machines.is_usable("m-1")


def test_since_when_is_the_moment_it_changed_and_not_that_of_the_last_look() -> None:
    fleet = Fleet()
    fleet.say(told("m-1"))
    fleet.passes(20)
    fleet.joins(node("m-1"))
    fleet.passes(40)
    (_, health), *_ = fleet.machines.here()
    assert (health.is_usable, health.since) == (True, START + 20 * SECOND)
    fleet.joins(node("m-1", "Unknown"))
    (_, health), *_ = fleet.machines.here()
    assert (health.is_usable, health.since) == (False, START + MINUTE)


def test_a_refresh_tells_which_machines_changed() -> None:
    fleet = Fleet()
    fleet.say(told("m-1"), told("m-2"))
    fleet.map.put(node("m-1"))
    assert fleet.machines.refresh_all(fleet.at) == ["m-1"]
    assert fleet.machines.refresh_all(fleet.at) == []
