"""The rig itself: resources of other projects are served as a cluster of theirs would."""

import pytest

from tests.e2e.assets import require
from tests.e2e.pins import DEFINITIONS
from tests.e2e.rig.api import Refused
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.workloads import CAPACITY_BUFFERS

BUFFER = {
    "apiVersion": "autoscaling.x-k8s.io/v1beta1",
    "kind": "CapacityBuffer",
    "metadata": {"name": "spare"},
    "spec": {"podTemplateRef": {"name": "web"}, "replicas": 3},
}


@pytest.mark.parametrize("name", DEFINITIONS)
async def test_a_definition_of_another_project_is_served(name: str, east: Cluster) -> None:
    await east.apply_crds(require(name).read_text())


async def test_a_capacity_buffer_is_served_in_both_versions(east: Cluster) -> None:
    await east.apply_crds(CAPACITY_BUFFERS.read_text())
    await east.apply(BUFFER)
    path = f"/apis/autoscaling.x-k8s.io/v1alpha1/namespaces/{east.namespace}/capacitybuffers/spare"
    spec = (await east.api.get(path))["spec"]
    assert spec["provisioningStrategy"] == "buffer.x-k8s.io/active-capacity"


async def test_a_capacity_buffer_without_a_size_is_refused(east: Cluster) -> None:
    await east.apply_crds(CAPACITY_BUFFERS.read_text())
    with pytest.raises(Refused, match="needs replicas or limits") as refused:
        await east.apply({**BUFFER, "spec": {"podTemplateRef": {"name": "web"}}})
    assert refused.value.status == 422
