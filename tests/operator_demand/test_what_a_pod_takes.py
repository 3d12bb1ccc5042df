"""What a pod takes of a Node, and which pods it cannot share one with."""

from typing import Any

import msgspec

from bigfleet.kube.objects import Pod
from bigfleet.model.requirements import HOSTNAME_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.taints import Toleration
from bigfleet.operator.pod_shapes import PodShape, shape_of
from bigfleet.placement.records import (
    PodGroupTerm,
)


def shape(spec: dict[str, Any], **labels: str) -> PodShape:
    meta = {"name": "p", "namespace": "ns", "labels": labels}
    return shape_of(msgspec.convert({"metadata": meta, "spec": spec}, Pod))


def container(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def test_requests_are_counted_as_the_scheduler_counts_them() -> None:
    found = shape(
        {
            "containers": [container(cpu="500m", memory="1Gi"), container(cpu="1", memory="1Gi")],
            "initContainers": [
                {**container(cpu="250m", memory="128Mi"), "restartPolicy": "Always"},
                container(cpu="4", memory="64Mi"),
            ],
            "overhead": {"cpu": "100m"},
        }
    )
    assert found.requests == Resources.parse({"cpu": "4350m", "memory": "2176Mi"})


def test_a_container_without_requests_counts_as_the_scheduler_s_default() -> None:
    limited = {"resources": {"limits": {"cpu": "2"}}}
    assert shape({"containers": [{}]}).requests == Resources.parse(
        {"cpu": "100m", "memory": "200Mi"}
    )
    assert shape({"containers": [limited]}).requests["cpu"] == 2000


def test_a_pod_that_comes_with_its_node_takes_what_it_asks_for_and_no_default() -> None:
    owner = {"kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
    meta = {"name": "p", "namespace": "ns", "ownerReferences": [owner]}
    silent = {"metadata": meta, "spec": {"containers": [{}]}}
    asking = {"metadata": meta, "spec": {"containers": [container(cpu="200m")]}}
    assert shape_of(msgspec.convert(silent, Pod)).requests == Resources()
    assert shape_of(msgspec.convert(asking, Pod)).requests == Resources.parse({"cpu": "200m"})


def test_a_pod_that_shrinks_keeps_its_room_until_the_kubelet_has_taken_it() -> None:
    running = {"name": "c", "resources": {"requests": {"cpu": "3"}}}
    pod = {
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {"containers": [{"name": "c", **container(cpu="1")}]},
        "status": {"containerStatuses": [running]},
    }
    assert shape_of(msgspec.convert(pod, Pod)).requests["cpu"] == 3000


def test_pods_of_one_template_share_one_shape() -> None:
    spec = {"containers": [container(cpu="1")], "nodeSelector": {"pool": "a"}}
    assert shape(spec) is shape(spec)
    assert shape(spec).requirements == (Requirement.of("pool", Operator.IN, ["a"]),)


def anti(key: str = HOSTNAME_KEY, **term: Any) -> dict[str, Any]:
    whole = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "db"}}} | term
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [whole]}
    return {"containers": [], "affinity": {"podAntiAffinity": required}}


def test_replicas_that_exclude_each_other_are_of_one_group() -> None:
    found = shape(anti(), app="db")
    (term,) = found.apart
    assert term == PodGroupTerm(HOSTNAME_KEY, "ns/app=db,;")
    assert found.groups == {term.group}


def test_terms_about_other_pods_are_left_to_the_scheduler() -> None:
    assert shape(anti(), app="web").apart == ()
    assert shape(anti(namespaces=["other"]), app="db").apart == ()
    assert shape(anti(namespaceSelector={}), app="db").apart == ()
    assert shape(anti(namespaces=["ns"]), app="db").apart != ()


def test_host_ports_exclude_each_other() -> None:
    one = shape({"containers": [{"ports": [{"hostPort": 80}]}]})
    other = shape({"containers": [{"ports": [{"hostPort": 80, "protocol": "UDP"}]}]})
    assert {term.group for term in one.apart} & one.groups
    assert not {term.group for term in one.apart} & other.groups


def test_tolerations_are_read() -> None:
    said = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, {"operator": "Exists"}]
    assert shape({"containers": [], "tolerations": said}).tolerations == (
        Toleration("dedicated", "Equal", "gpu", "NoSchedule"),
        Toleration("", "Exists"),
    )
