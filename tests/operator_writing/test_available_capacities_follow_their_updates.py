"""One AvailableCapacity per profile, and none that is not refreshed."""

import json
from typing import Any

import msgspec
import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.kube.kinds import AVAILABLE_CAPACITIES
from bigfleet.kube.names import available_capacity_name
from bigfleet.model.machines import Instant
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import AvailableCapacityUpdate, Confidence
from bigfleet.operator.available import AvailableCapacities, cost_text
from bigfleet.operator.writes import Create, Delete, PatchSpec

START: Instant = 1_700_000_000 * SECOND
NAME = available_capacity_name("available:p=1")


def update(**fields: Any) -> AvailableCapacityUpdate:
    defaults: dict[str, Any] = {
        "fingerprint": "p=1",
        "requirements": (Requirement.of("zone", Operator.IN, ["a", "b"]),),
        "available_count": 3,
        "confidence": Confidence.HIGH,
        "cost_per_hour": 1.25,
    }
    return AvailableCapacityUpdate(**(defaults | fields))


def connected() -> AvailableCapacities:
    plans = AvailableCapacities()
    plans.on_connected(START)
    return plans


def shown(plans: AvailableCapacities, spec: dict[str, Any], name: str = NAME) -> None:
    body = {"metadata": {"name": name, "uid": "u-1", "resourceVersion": "7"}, "spec": spec}
    plans.seen.on_cached(
        name, msgspec.json.decode(json.dumps(body), type=AVAILABLE_CAPACITIES.record)
    )


SPEC = {
    "availability": "High",
    "availableCount": 3,
    "cost": "1.25",
    "resources": {},
    "requirements": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
}


def test_a_new_profile_is_one_create_of_everything() -> None:
    plans = connected()
    assert plans.on_update(update(), START) == NAME
    assert plans.next_write(NAME, START) == Create(NAME, {"metadata": {"name": NAME}, "spec": SPEC})


def test_the_same_again_writes_nothing_also_after_a_restart() -> None:
    plans = connected()
    shown(plans, SPEC)
    plans.on_update(update(), START)
    assert plans.next_write(NAME, START) is None


def test_what_changed_is_patched_and_what_is_gone_removed() -> None:
    plans = connected()
    shown(plans, {**SPEC, "resources": {"cpu": "2", "memory": "1Gi"}})
    changed = update(
        available_count=0,
        confidence=Confidence.NONE,
        requirements=(),
        cost_per_hour=0.0,
        resources=Resources.parse({"cpu": "4"}),
    )
    plans.on_update(changed, START)
    assert plans.next_write(NAME, START) == PatchSpec(
        NAME,
        {
            "spec": {
                "availability": "None",
                "availableCount": 0,
                "cost": "0",
                "requirements": None,
                "resources": {"cpu": "4", "memory": None},
            }
        },
    )


@pytest.mark.parametrize(
    ("confidence", "word"),
    [
        (Confidence.UNSPECIFIED, "None"),
        (Confidence.NONE, "None"),
        (Confidence.LOW, "Low"),
        (Confidence.MEDIUM, "Medium"),
        (Confidence.HIGH, "High"),
    ],
)
def test_a_confidence_is_a_word_of_the_schema(confidence: Confidence, word: str) -> None:
    plans = connected()
    plans.on_update(update(confidence=confidence), START)
    write = plans.next_write(NAME, START)
    assert isinstance(write, Create)
    assert msgspec.convert(write.body["spec"], dict[str, Any])["availability"] == word


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (0.0, "0"),
        (-1.0, "0"),
        (float("nan"), "0"),
        (float("inf"), "0"),
        (3.0, "3"),
        (0.1, "0.1"),
        (1e-07, "0.0000001"),
        (1e22, "10000000000000000000000"),
        (10.05, "10.05"),
    ],
)
def test_a_cost_is_decimal_digits(cost: float, text: str) -> None:
    assert cost_text(cost) == text


def test_same_is_written_as_what_it_asks_of_one_machine() -> None:
    plans = connected()
    requirements = (
        Requirement("rack", Operator.SAME),
        Requirement("zone", Operator.SAME, ("a",)),
        Requirement("gpu", Operator.DOES_NOT_EXIST),
        Requirement("odd", Operator.UNSPECIFIED),
    )
    plans.on_update(update(requirements=requirements), START)
    write = plans.next_write(NAME, START)
    assert isinstance(write, Create)
    assert msgspec.convert(write.body["spec"], dict[str, Any])["requirements"] == [
        {"key": "rack", "operator": "Exists"},
        {"key": "zone", "operator": "In", "values": ["a"]},
        {"key": "gpu", "operator": "DoesNotExist"},
    ]


def test_an_object_not_refreshed_for_ten_minutes_goes() -> None:
    plans = connected()
    shown(plans, SPEC)
    plans.on_update(update(), START + 60 * SECOND)
    assert plans.tick(START + 659 * SECOND) == []
    assert plans.tick(START + 660 * SECOND) == [NAME]
    assert plans.next_write(NAME, START + 660 * SECOND) == Delete(NAME, "u-1")


def test_an_object_that_was_never_refreshed_gets_ten_minutes_of_a_session() -> None:
    plans = connected()
    shown(plans, SPEC)
    assert plans.tick(START + 599 * SECOND) == []
    assert plans.tick(START + 600 * SECOND) == [NAME]


def test_time_without_a_session_does_not_count() -> None:
    plans = connected()
    shown(plans, SPEC)
    plans.on_update(update(), START)
    plans.on_disconnected()
    later = START + 3600 * SECOND
    assert plans.tick(later) == []
    assert plans.next_write(NAME, later) is None
    plans.on_connected(later)
    assert plans.tick(later + 599 * SECOND) == []
    assert plans.tick(later + 600 * SECOND) == [NAME]


def test_a_deleted_object_comes_back_with_the_next_update() -> None:
    plans = connected()
    shown(plans, SPEC)
    late = START + 600 * SECOND
    plans.next_write(NAME, late)
    plans.on_gone(NAME)
    assert plans.next_write(NAME, late) is None
    plans.on_update(update(), late)
    assert isinstance(plans.next_write(NAME, late), Create)
