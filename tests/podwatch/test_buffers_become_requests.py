"""CapacityBuffers: how many chunks of what, and what their status says of it."""

from typing import Any

import msgspec
import pytest

from bigfleet.kube.buffers import ACTIVE_CAPACITY, CapacityBuffer, PodTemplateSpec, Scalable
from bigfleet.kube.pod_requests import amounts_of
from bigfleet.podwatch.buffer_status import covered, status_patch
from bigfleet.podwatch.buffers import (
    MOST_CHUNKS,
    BufferPlan,
    BufferRefusal,
    BufferTarget,
    chunks_of,
    instructions_for,
    plan_of,
    why_refused,
)
from bigfleet.podwatch.pod_reconciler import Create, Delete, Owner, Patch
from bigfleet.podwatch.records import DemandSource
from bigfleet.podwatch.requests import requirements_in
from bigfleet.podwatch.taints import taints_of
from tests.podwatch.pods import Json, affinity, buffer, expression, own

OWNER = Owner("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", "spare", "uid-spare")
DEPLOYMENT = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
TEMPLATE = {"name": "chunk"}
NOW = "2026-01-01T00:00:00Z"


def template(annotations: Json | None = None, cpu: str = "2", **spec: Any) -> PodTemplateSpec:
    containers = [{"resources": {"requests": {"cpu": cpu, "memory": "4Gi"}}}]
    body = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"containers": containers, **spec},
    }
    return msgspec.convert(body, PodTemplateSpec)


def counted(scalable: int | None = None, **spec: Any) -> int | BufferRefusal:
    requests = amounts_of({"cpu": "2", "memory": "4Gi"})
    return chunks_of(buffer(**spec).spec, requests, scalable)


def test_a_chunk_asks_for_the_first_of_several_terms_as_nothing_says_when_to_try_the_next() -> None:
    terms = [{"matchExpressions": [expression("zone", "In", each)]} for each in ("a", "b")]
    plan = plan_of(buffer(replicas=1).spec, BufferTarget(template(affinity=affinity(*terms))), -10)
    assert isinstance(plan, BufferPlan)
    assert requirements_in(plan.spec) == (("zone", "In", ("a",)),)
    assert [note.reason for note in plan.notes] == ["OnlyFirstAffinityTermUsed"]


def test_a_buffer_that_requires_machines_whose_taint_it_does_not_tolerate_says_so() -> None:
    said = {"key": "gpu", "effect": "NoSchedule", "where": {"matchLabels": {"pool": "gpu"}}}
    wanted = template(nodeSelector={"pool": "gpu"})
    plan = plan_of(buffer(replicas=1).spec, BufferTarget(wanted), -10, taints_of([said]))
    assert isinstance(plan, BufferRefusal)
    assert plan.reason == "TaintNotTolerated"


@pytest.mark.parametrize(
    ("spec", "scalable", "chunks"),
    [
        pytest.param({"replicas": 3}, None, 3, id="a number"),
        pytest.param({"replicas": 0}, None, 0, id="none"),
        pytest.param({"percentage": 20}, 10, 2, id="a part of the scalable"),
        pytest.param({"percentage": 20}, 11, 3, id="a part is rounded up"),
        pytest.param({"percentage": 20}, 0, 0, id="a part of nothing is nothing"),
        pytest.param({"percentage": 250}, 2, 5, id="more than the whole"),
        pytest.param({"replicas": 3, "percentage": 20}, 100, 20, id="the larger of both"),
        pytest.param({"replicas": 30, "percentage": 20}, 100, 30, id="the larger, turned round"),
        pytest.param({"replicas": 9, "limits": {"cpu": "7"}}, None, 3, id="cut by a limit"),
        pytest.param(
            {"replicas": 9, "limits": {"cpu": "7", "memory": "8Gi"}}, None, 2, id="the least limit"
        ),
        pytest.param({"replicas": 2, "limits": {"cpu": "100"}}, None, 2, id="within the limits"),
        pytest.param({"replicas": 2, "limits": {"gpu": "1"}}, None, 2, id="a limit of nothing"),
        pytest.param({"limits": {"cpu": "9"}}, None, 4, id="as many as fit"),
        pytest.param({"limits": {"cpu": "1"}}, None, 0, id="none fits"),
        pytest.param(
            {"percentage": 50, "limits": {"cpu": "9"}}, None, 4, id="a part of no scalable"
        ),
    ],
)
def test_chunks_are_counted(spec: Json, scalable: int | None, chunks: int) -> None:
    assert counted(scalable, **spec) == chunks


@pytest.mark.parametrize("spec", [{}, {"limits": {}}, {"limits": {"gpu": "1"}}, {"percentage": 5}])
def test_a_buffer_without_a_size_is_refused(spec: Json) -> None:
    found = counted(**spec)
    assert isinstance(found, BufferRefusal)
    assert found.reason == "NoSize"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"podTemplateRef": TEMPLATE, "provisioningStrategy": "x/lazy"}, "UnsupportedStrategy"),
        ({"replicas": 1}, "NoTemplate"),
        ({"podTemplateRef": TEMPLATE, "scalableRef": DEPLOYMENT}, "NoTemplate"),
        (
            {"scalableRef": {"apiGroup": "x.io", "kind": "Fleet", "name": "f"}},
            "UnsupportedScalable",
        ),
        ({"scalableRef": {"kind": "Deployment", "name": "f"}}, "UnsupportedScalable"),
    ],
)
def test_what_cannot_be_meant_is_refused(spec: Json, reason: str) -> None:
    found = why_refused(buffer(**spec).spec)
    assert found is not None
    assert found.reason == reason


@pytest.mark.parametrize("strategy", [None, "", ACTIVE_CAPACITY])
def test_the_strategy_we_have_is_also_the_default(strategy: str | None) -> None:
    spec = buffer(podTemplateRef=TEMPLATE, provisioningStrategy=strategy).spec
    assert why_refused(spec) is None


def planned(found: BufferTarget, **spec: Any) -> BufferPlan:
    plan = plan_of(buffer(**spec).spec, found, -10)
    assert isinstance(plan, BufferPlan)
    return plan


def test_a_chunk_is_low_demand_without_penalties() -> None:
    spec = msgspec.json.decode(planned(BufferTarget(template()), replicas=1).spec)
    assert spec == {
        "requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "Exists"}],
        "resources": {"cpu": "2", "memory": "4Gi"},
        "priority": -10,
        "interruptionPenalty": "0",
        "reclamationPenalty": "0",
    }


def test_the_template_may_say_its_own_priority_and_penalties() -> None:
    annotations = {"bigfleet.lucy.sh/interruption-penalty": "3"}
    plan = planned(BufferTarget(template(annotations), priority=0), replicas=1)
    spec = msgspec.json.decode(plan.spec)
    assert (spec["priority"], spec["interruptionPenalty"]) == (0, "3")
    assert spec["reclamationPenalty"] == "0"


def test_a_flood_of_chunks_is_refused() -> None:
    plan = plan_of(buffer(replicas=MOST_CHUNKS + 1).spec, BufferTarget(template()), -10)
    assert isinstance(plan, BufferRefusal)
    assert plan.reason == "TooManyChunks"


def test_limits_that_are_no_quantities_are_refused() -> None:
    plan = plan_of(buffer(replicas=1, limits={"cpu": "lots"}).spec, BufferTarget(template()), -10)
    assert isinstance(plan, BufferRefusal)
    assert plan.reason == "InvalidQuantity"


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [({}, 1), ({"replicas": 0}, 0), ({"replicas": 4}, 4), ({"parallelism": 6}, 6)],
)
def test_a_scalable_has_the_replicas_it_asks_for(spec: Json, replicas: int) -> None:
    body = {"metadata": {"name": "web"}, "spec": spec}
    assert msgspec.convert(body, Scalable).replicas == replicas


# -- from chunks to calls ------------------------------------------------------------------------


def made(plan: BufferPlan | None, *have: Any) -> tuple[Any, ...]:
    return instructions_for("shop", OWNER, plan, have)


def chunk_objects(plan: BufferPlan, **words: Any) -> list[Any]:
    return [
        own(each.key.name, owner="uid-spare", spec=plan.spec, source=DemandSource.BUFFER, **words)
        for each in made(plan)
        if isinstance(each, Create)
    ]


def test_each_chunk_becomes_one_request_owned_by_the_buffer() -> None:
    creates = made(planned(BufferTarget(template()), replicas=3))
    assert len({each.key for each in creates}) == 3
    meta = creates[0].body()["metadata"]
    assert meta["generateName"] == "cr-buffer-spare-"
    assert meta["labels"] == {"bigfleet.lucy.sh/owned-by-buffer": "uid-spare"}
    assert meta["ownerReferences"][0]["kind"] == "CapacityBuffer"


def test_a_second_look_finds_nothing_to_do() -> None:
    plan = planned(BufferTarget(template()), replicas=3)
    assert made(plan, *chunk_objects(plan)) == ()


def test_fewer_chunks_delete_and_more_create_the_difference() -> None:
    three, five = (planned(BufferTarget(template()), replicas=n) for n in (3, 5))
    assert [type(each) for each in made(five, *chunk_objects(three))] == [Create, Create]
    assert [type(each) for each in made(three, *chunk_objects(five))] == [Delete, Delete]


def test_another_template_changes_the_chunks_in_place() -> None:
    before = planned(BufferTarget(template(cpu="2")), replicas=2)
    after = planned(BufferTarget(template(cpu="3")), replicas=2)
    steps = made(after, *chunk_objects(before))
    assert [each.patch for each in steps if isinstance(each, Patch)] == [
        {"spec": {"resources": {"cpu": "3"}}}
    ] * 2


def test_a_refused_buffer_asks_for_nothing() -> None:
    chunks = chunk_objects(planned(BufferTarget(template()), replicas=2))
    assert made(None, *chunks) == tuple(Delete(each) for each in chunks)


def test_a_chunk_on_its_way_out_is_replaced_only_when_it_is_gone() -> None:
    plan = planned(BufferTarget(template()), replicas=1)
    assert made(plan, *chunk_objects(plan, deleting=True)) == ()


# -- status --------------------------------------------------------------------------------------


def with_status(before: CapacityBuffer, patch: Json) -> CapacityBuffer:
    whole = msgspec.to_builtins(before) | patch
    return msgspec.convert(whole, CapacityBuffer)


def conditions(patch: Json) -> dict[str, tuple[str, str]]:
    found = patch["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def test_acknowledged_chunks_are_what_is_covered() -> None:
    plan = planned(BufferTarget(template(), name="chunk", generation=4), replicas=2)
    waiting, done = chunk_objects(plan), chunk_objects(plan, acknowledged=True)
    patch: Any = status_patch(buffer(), plan, covered(plan, [waiting[0], done[1]]), NOW)
    assert patch["status"]["replicas"] == 1
    assert patch["status"]["podTemplateRef"] == {"name": "chunk"}
    assert patch["status"]["podTemplateGeneration"] == 4
    assert patch["status"]["provisioningStrategy"] == ACTIVE_CAPACITY
    assert conditions(patch) == {
        "ReadyForProvisioning": ("True", "ChunksRequested"),
        "Provisioning": ("False", "WaitingForAcknowledgement"),
    }
    patch = status_patch(buffer(), plan, covered(plan, done), NOW)
    assert conditions(patch)["Provisioning"] == ("True", "ChunksAcknowledged")


def test_chunks_of_an_older_template_are_not_covered() -> None:
    before = planned(BufferTarget(template(cpu="2")), replicas=2)
    after = planned(BufferTarget(template(cpu="3")), replicas=2)
    assert covered(after, chunk_objects(before, acknowledged=True)) == 0


def test_a_refusal_is_told_in_the_status() -> None:
    patch: Any = status_patch(buffer(), BufferRefusal("UnsupportedStrategy", "why"), 0, NOW)
    assert conditions(patch) == {
        "ReadyForProvisioning": ("False", "UnsupportedStrategy"),
        "Provisioning": ("False", "UnsupportedStrategy"),
    }
    assert {each["message"] for each in patch["status"]["conditions"]} == {"why"}


def test_a_status_that_says_it_already_is_not_written_again() -> None:
    plan = planned(BufferTarget(template()), replicas=2)
    patch: Any = status_patch(buffer(), plan, 1, NOW)
    seen = with_status(buffer(), patch)
    assert status_patch(seen, plan, 1, "2027-01-01T00:00:00Z") is None


def test_the_time_of_a_condition_is_when_its_status_changed() -> None:
    plan = planned(BufferTarget(template()), replicas=2)
    first: Any = status_patch(buffer(), plan, 0, NOW)
    second: Any = status_patch(with_status(buffer(), first), plan, 1, "2027-01-01T00:00:00Z")
    assert {each["lastTransitionTime"] for each in second["status"]["conditions"]} == {NOW}
    third: Any = status_patch(with_status(buffer(), second), plan, 2, "2027-01-01T00:00:00Z")
    times = {each["type"]: each["lastTransitionTime"] for each in third["status"]["conditions"]}
    assert times == {"ReadyForProvisioning": NOW, "Provisioning": "2027-01-01T00:00:00Z"}


def test_conditions_of_others_stay() -> None:
    theirs = {"type": "LimitedByQuotas", "status": "True", "reason": "Q", "message": "m"}
    theirs["lastTransitionTime"] = NOW
    seen = with_status(buffer(), {"status": {"conditions": [theirs]}})
    patch: Any = status_patch(seen, planned(BufferTarget(template()), replicas=1), 0, NOW)
    assert patch["status"]["conditions"][0] == theirs
    assert len(patch["status"]["conditions"]) == 3
