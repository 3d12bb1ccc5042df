"""The three CRDs on a real API server: established, selectable, and as strict as the contract."""

from typing import Any

import pytest

from bigfleet.kube.kinds import (
    AVAILABLE_CAPACITIES,
    CAPACITY_REQUESTS,
    PLURALS,
    UPCOMING_NODES,
    crd_documents,
)
from tests.e2e.rig.api import Refused
from tests.e2e.rig.cluster import Cluster

VERSION = "bigfleet.lucy.sh/v1alpha1"


def request(name: str, **fields: Any) -> dict[str, Any]:
    spec = {"priority": 0, "resources": {"cpu": "1", "memory": 1024}, **fields}
    return {
        "apiVersion": VERSION,
        "kind": "CapacityRequest",
        "metadata": {"name": name},
        "spec": spec,
    }


async def test_a_real_server_serves_all_three_kinds(east: Cluster) -> None:
    await east.apply_crds(crd_documents())
    for plural in PLURALS:
        found = await east.api.get(
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.bigfleet.lucy.sh"
        )
        conditions = {c["type"]: c for c in found["status"]["conditions"]}
        assert conditions["Established"]["status"] == "True"
        assert conditions["NamesAccepted"]["status"] == "True"
        assert "NonStructuralSchema" not in conditions
    words = (await east.kubectl("api-resources", "--categories=fleet", "-o", "name")).split()
    assert sorted(words) == sorted(f"{plural}.bigfleet.lucy.sh" for plural in PLURALS)


async def test_requests_are_selected_by_their_phase(east: Cluster) -> None:
    await east.apply_crds(crd_documents())
    odd = {"key": "cores", "operator": "Gt", "values": ["4"]}
    await east.apply(request("a"), request("b", requirements=[odd]))
    base = CAPACITY_REQUESTS.path(east.namespace)
    status = {
        "phase": "Acknowledged",
        "acknowledgedAt": "2026-01-01T00:00:00Z",
        "interruptionPenaltyBucket": "0.5",
        "reclamationPenaltyBucket": "unspecified",
    }
    patched = await east.api.patch(f"{base}/a/status", {"status": status})
    assert patched["status"] == status
    found = await east.api.list(base, fieldSelector="status.phase=Acknowledged")
    assert [item["metadata"]["name"] for item in found] == ["a"]
    table = await east.kubectl("get", "crs", "-n", east.namespace)
    assert table.split()[:4] == ["NAME", "PHASE", "PRIORITY", "AGE"]


@pytest.mark.parametrize(
    "fields",
    [
        {"resources": {"cpu": "a lot"}},
        {"interruptionPenalty": "$5"},
        {"priority": "high"},
        {"requirements": [{"key": "zone"}]},
        {"requirements": [{"key": "zone\nx", "operator": "Exists"}]},
        {"requirements": [{"key": "zone", "operator": "In", "values": ["a\nreboot"]}]},
        {"requirements": [{"key": "zone", "operator": "In", "values": ["v" * 64]}]},
        {"coLocation": {}},
        {"coLocation": {"topologyKey": "../rack"}},
        {"topologySpread": [{"maxSkew": 1, "topologyKey": "zone"}]},
    ],
    ids=[
        *("a quantity", "a penalty", "a priority", "a requirement"),
        *("a key", "a value with a line", "a long value", "a gang", "a path", "a spread"),
    ],
)
async def test_a_malformed_request_is_refused(east: Cluster, fields: dict[str, Any]) -> None:
    await east.apply_crds(crd_documents())
    with pytest.raises(Refused):
        await east.api.create(CAPACITY_REQUESTS.path(east.namespace), request("bad", **fields))


async def test_what_the_operator_writes_is_taken(east: Cluster) -> None:
    await east.apply_crds(crd_documents())
    node = {"apiVersion": VERSION, "kind": "UpcomingNode", "metadata": {"name": "un-m-1"}}
    await east.apply({**node, "spec": {"resources": {}}})
    status = {"phase": "Ready", "nodeRef": {"kind": "Node", "name": "n-1"}, "providerID": "sim://1"}
    path = f"{UPCOMING_NODES.path()}/un-m-1"
    assert (await east.api.patch(f"{path}/status", {"status": status}))["status"] == status
    with pytest.raises(Refused):
        await east.api.patch(f"{path}/status", {"status": {"phase": "Lost"}})
    offer = {"availability": "High", "availableCount": 3, "cost": "0.5", "resources": {}}
    available = {"apiVersion": VERSION, "kind": "AvailableCapacity", "metadata": {"name": "ac-1"}}
    await east.apply({**available, "spec": offer})
    assert len(await east.api.list(AVAILABLE_CAPACITIES.path())) == 1
