"""The three CRDs: the stored goldens, and every row of the wire contract's section 8."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bigfleet.kube.kinds import (
    AVAILABLE_CAPACITIES,
    CAPACITY_REQUESTS,
    PLURALS,
    UPCOMING_NODES,
    crd_document,
    crd_documents,
)
from tests.crds.schemas import fields_of

GOLDEN = Path(__file__).parent / "golden"
DOCUMENTS: dict[str, dict[str, Any]] = {p: yaml.safe_load(crd_document(p)) for p in PLURALS}

PHASE = ("Phase", ".status.phase", "string")
AGE = ("Age", ".metadata.creationTimestamp", "date")
NAMES = {
    "capacityrequests": ("capacityrequest", "CapacityRequest", ["cr", "crs"], "Namespaced"),
    "upcomingnodes": ("upcomingnode", "UpcomingNode", ["upn"], "Cluster"),
    "availablecapacities": ("availablecapacity", "AvailableCapacity", ["avc"], "Cluster"),
}
COLUMNS = {
    "capacityrequests": [PHASE, ("Priority", ".spec.priority", "integer"), AGE],
    "upcomingnodes": [PHASE, ("Node", ".status.nodeRef.name", "string"), AGE],
    "availablecapacities": [
        ("Availability", ".spec.availability", "string"),
        ("Available", ".spec.availableCount", "integer"),
        ("Cost", ".spec.cost", "string"),
    ],
}
SELECTABLE = {"capacityrequests": [".status.phase"]}
REQUIREMENTS = {
    "spec.requirements": "array of object",
    "spec.requirements[].key": "string label-key !",
    "spec.requirements[].operator": "string !",
    "spec.requirements[].values": "array atomic of string label-value",
}
TOP = {
    "apiVersion": "string",
    "kind": "string",
    "metadata": "object",
    "spec": "object !",
    "status": "object",
}
FIELDS = {
    "capacityrequests": TOP
    | REQUIREMENTS
    | {
        "spec.resources": "map of Q !",
        "spec.priority": "integer int32 !",
        "spec.interruptionPenalty": "Q",
        "spec.reclamationPenalty": "Q",
        "spec.topologySpread": "array of object",
        "spec.topologySpread[].maxSkew": "integer int32 !",
        "spec.topologySpread[].topologyKey": "string label-key !",
        "spec.topologySpread[].whenUnsatisfiable": "string !",
        "spec.coLocation": "object",
        "spec.coLocation.topologyKey": "string label-key !",
        "spec.coLocation.labelSelector": "object atomic",
        "spec.coLocation.labelSelector.matchLabels": "map of string",
        "spec.coLocation.labelSelector.matchExpressions": "array atomic of object",
        "spec.coLocation.labelSelector.matchExpressions[].key": "string !",
        "spec.coLocation.labelSelector.matchExpressions[].operator": "string !",
        "spec.coLocation.labelSelector.matchExpressions[].values": "array atomic of string",
        "status.phase": "string enum Pending Acknowledged !",
        "status.acknowledgedAt": "string date-time",
        "status.interruptionPenaltyBucket": "string",
        "status.reclamationPenaltyBucket": "string",
    },
    "upcomingnodes": TOP
    | {
        "spec.labels": "map of string",
        "spec.resources": "map of Q !",
        "spec.taints": "array of object",
        "spec.taints[].key": "string !",
        "spec.taints[].effect": "string !",
        "spec.taints[].value": "string",
        "spec.taints[].timeAdded": "string date-time",
        "status.phase": (
            "string enum Provisioning Launched Registered Ready Draining Drained Failed !"
        ),
        "status.nodeRef": "object atomic",
        "status.nodeRef.apiVersion": "string",
        "status.nodeRef.fieldPath": "string",
        "status.nodeRef.kind": "string",
        "status.nodeRef.name": "string",
        "status.nodeRef.namespace": "string",
        "status.nodeRef.resourceVersion": "string",
        "status.nodeRef.uid": "string",
        "status.providerID": "string",
        "status.provisioningStartTime": "string date-time",
        "status.lastError": "string",
    },
    "availablecapacities": TOP
    | REQUIREMENTS
    | {
        "spec.availability": "string enum None Low Medium High !",
        "spec.availableCount": "integer int32 !",
        "spec.cost": "Q !",
        "spec.resources": "map of Q !",
    },
}


@pytest.mark.parametrize("plural", PLURALS)
def test_a_custom_resource_equals_its_golden(plural: str) -> None:
    assert crd_document(plural) == (GOLDEN / f"{plural}.yaml").read_text()


def test_all_three_come_as_one_stream() -> None:
    assert list(yaml.safe_load_all(crd_documents())) == list(DOCUMENTS.values())
    kinds = (CAPACITY_REQUESTS, UPCOMING_NODES, AVAILABLE_CAPACITIES)
    assert tuple(kind.plural for kind in kinds) == PLURALS


@pytest.mark.parametrize("plural", PLURALS)
def test_a_custom_resource_has_the_names_of_the_contract(plural: str) -> None:
    document = DOCUMENTS[plural]
    singular, kind, short_names, scope = NAMES[plural]
    assert document["apiVersion"] == "apiextensions.k8s.io/v1"
    assert document["kind"] == "CustomResourceDefinition"
    assert document["metadata"] == {"name": f"{plural}.bigfleet.lucy.sh"}
    spec = document["spec"]
    assert (spec["group"], spec["scope"]) == ("bigfleet.lucy.sh", scope)
    assert spec["names"] == {
        "plural": plural,
        "singular": singular,
        "kind": kind,
        "listKind": f"{kind}List",
        "shortNames": short_names,
        "categories": ["fleet"],
    }
    assert set(spec) == {"group", "scope", "names", "versions"}, "no conversion"


@pytest.mark.parametrize("plural", PLURALS)
def test_one_version_is_served_and_stored_with_a_status_of_its_own(plural: str) -> None:
    (version,) = DOCUMENTS[plural]["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert version["subresources"] == {"status": {}}
    columns = version["additionalPrinterColumns"]
    assert [(c["name"], c["jsonPath"], c["type"]) for c in columns] == COLUMNS[plural]
    selectable = [field["jsonPath"] for field in version.get("selectableFields", [])]
    assert selectable == SELECTABLE.get(plural, [])


@pytest.mark.parametrize("plural", PLURALS)
def test_every_field_is_the_one_of_the_contract_and_there_is_no_other(plural: str) -> None:
    (version,) = DOCUMENTS[plural]["spec"]["versions"]
    assert dict(fields_of(version["schema"]["openAPIV3Schema"])) == FIELDS[plural]


@pytest.mark.parametrize("value", ["a3\nreboot", "a3\n", "$(id)", "a b", "v" * 64])
def test_the_schema_refuses_a_requirement_that_is_not_a_label(value: str) -> None:
    (version,) = DOCUMENTS["capacityrequests"]["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    term = spec["requirements"]["items"]["properties"]
    for field in (
        term["key"],
        term["values"]["items"],
        spec["coLocation"]["properties"]["topologyKey"],
    ):
        # Go's `$` is the end of the text, which Python writes \\Z.
        pattern = field["pattern"].removesuffix("$") + r"\Z"
        assert re.match(pattern, value) is None or len(value) > field["maxLength"]
