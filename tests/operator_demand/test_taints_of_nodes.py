"""Taints of real Nodes and tolerations of real pods reach the check for a place."""

from dataclasses import replace

from bigfleet.kube.objects import NodeTaint
from bigfleet.model.taints import Toleration
from bigfleet.operator.pod_shapes import PodShape
from tests.operator_demand.demand import Operator
from tests.operator_nodes.nodes import node

DEDICATED = NodeTaint(key="dedicated", value="batch", effect="NoSchedule")


def beside_a_tainted_node(shape: PodShape) -> Operator:
    """A pod on `n-m-1`; the other Node has a taint that was added later."""
    operator = Operator()
    for machine in ("m-1", "m-2"):
        operator.joins(machine)
    operator.asks("a")
    operator.puts(operator.pod("a", "n-m-1", shape=shape))
    assert operator.admissions.why_not_drained("n-m-1", operator.at) is None
    operator.nodes.put(
        node("m-2", taints=[DEDICATED], allocatable={"cpu": "8", "memory": "32Gi", "pods": "110"})
    )
    operator.machines.refresh("m-2", operator.at)
    operator.view.on_machine("m-2", operator.at)
    return operator


def test_a_drain_is_refused_when_the_only_other_node_gets_a_taint() -> None:
    operator = beside_a_tainted_node(PodShape())
    refused = operator.admissions.why_not_drained("n-m-1", operator.at)
    assert refused is not None
    assert "the taint dedicated=batch:NoSchedule, which it does not tolerate" in refused.sentence


def test_a_pod_that_tolerates_the_taint_has_a_place() -> None:
    shape = replace(PodShape(), tolerations=(Toleration("dedicated", "Exists"),))
    operator = beside_a_tainted_node(shape)
    assert operator.admissions.why_not_drained("n-m-1", operator.at) is None
