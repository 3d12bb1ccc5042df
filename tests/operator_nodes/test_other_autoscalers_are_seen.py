"""How another autoscaler is known: by its pods, or by what it writes on Nodes."""

import pytest

from bigfleet.kube.objects import Container, Meta, Pod, PodSpec, PodStatus
from bigfleet.operator.other_autoscalers import autoscaler_of_node, autoscaler_of_pod
from tests.operator_nodes.nodes import node, taint


def pod(image: str = "", phase: str = "Running", **labels: str) -> Pod:
    return Pod(
        metadata=Meta(name="p", labels={key.replace("_", "-"): v for key, v in labels.items()}),
        spec=PodSpec(containers=(Container(name="main", image=image),)),
        status=PodStatus(phase=phase),
    )


PODS = {
    "by the image of the cluster autoscaler": (
        pod("registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"),
        "cluster-autoscaler",
    ),
    "by karpenter's image": (pod("public.ecr.aws/karpenter/controller@sha256:1"), "karpenter"),
    "by a label": (pod("mirror.example/ca:1", k8s_app="cluster-autoscaler"), "cluster-autoscaler"),
    "not when it has ended": (pod("a/cluster-autoscaler:1", "Succeeded"), ""),
    "not another program": (pod("example.com/horizontal-autoscaler:1"), ""),
    "not by its tag": (pod("example.com/app:karpenter"), ""),
}


@pytest.mark.parametrize(("found", "name"), PODS.values(), ids=PODS)
def test_a_pod_of_an_autoscaler_is_known(found: Pod, name: str) -> None:
    assert autoscaler_of_pod(found) == name


def test_a_node_is_known_by_what_an_autoscaler_wrote_on_it() -> None:
    assert autoscaler_of_node(node(labels={"karpenter.sh/nodepool": "default"})) == "karpenter"
    marked = node(taints=[taint("ToBeDeletedByClusterAutoscaler")])
    assert autoscaler_of_node(marked) == "cluster-autoscaler"
    assert autoscaler_of_node(node(taints=[taint("dedicated")])) == ""
