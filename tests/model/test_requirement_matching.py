"""Which machines meet a requirement: the table of operators, and where attributes come from."""

import pytest

from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.requirements import (
    INSTANCE_TYPE_KEY,
    RACK_KEY,
    ZONE_KEY,
    Operator,
    Requirement,
    canonical,
)

ABSENT = None
EMPTY = ""

TABLE = {
    "In, listed": (Operator.IN, ["a", "b"], "a", True),
    "In, not listed": (Operator.IN, ["a", "b"], "c", False),
    "In, absent": (Operator.IN, ["a"], ABSENT, False),
    "In nothing": (Operator.IN, [], "a", False),
    "In, empty value listed": (Operator.IN, [""], EMPTY, True),
    "NotIn, listed": (Operator.NOT_IN, ["a"], "a", False),
    "NotIn, not listed": (Operator.NOT_IN, ["a"], "b", True),
    "NotIn, absent": (Operator.NOT_IN, ["a"], ABSENT, True),
    "NotIn, empty value": (Operator.NOT_IN, ["a"], EMPTY, True),
    "NotIn nothing": (Operator.NOT_IN, [], "a", True),
    "Exists, present": (Operator.EXISTS, [], "a", True),
    "Exists, empty value": (Operator.EXISTS, [], EMPTY, True),
    "Exists, absent": (Operator.EXISTS, [], ABSENT, False),
    "DoesNotExist, present": (Operator.DOES_NOT_EXIST, [], "a", False),
    "DoesNotExist, empty value": (Operator.DOES_NOT_EXIST, [], EMPTY, False),
    "DoesNotExist, absent": (Operator.DOES_NOT_EXIST, [], ABSENT, True),
    "Same, present": (Operator.SAME, [], "a", True),
    "Same, listed": (Operator.SAME, ["a"], "a", True),
    "Same, not listed": (Operator.SAME, ["a"], "b", False),
    "Same, absent": (Operator.SAME, [], ABSENT, False),
    "Same among values, absent": (Operator.SAME, ["a"], ABSENT, False),
    "unspecified, present": (Operator.UNSPECIFIED, ["a"], "a", False),
    "unspecified, absent": (Operator.UNSPECIFIED, [], ABSENT, False),
}


@pytest.mark.parametrize(("operator", "values", "value", "met"), TABLE.values(), ids=TABLE)
def test_an_operator_judges_an_attribute(
    operator: Operator, values: list[str], value: str | None, met: bool
) -> None:
    assert Requirement.of("key", operator, values).met_by(value) is met


def machine(
    instance_type: str = "", zone: str = "", labels: dict[str, str] | None = None
) -> Machine:
    return Machine(
        "m", MachineState.SPECULATIVE, instance_type=instance_type, zone=zone, labels=labels or {}
    )


@pytest.mark.parametrize("key", [INSTANCE_TYPE_KEY, ZONE_KEY], ids=["type", "zone"])
def test_type_and_zone_come_from_their_fields_before_the_labels(key: str) -> None:
    fields = machine(instance_type="from-field", zone="from-field", labels={key: "from-label"})
    assert fields.attribute(key) == "from-field"
    assert machine(labels={key: "from-label"}).attribute(key) == "from-label"
    assert machine().attribute(key) is None


def test_a_label_of_another_key_comes_from_the_labels_alone() -> None:
    rack = machine(instance_type="m5", zone="a", labels={RACK_KEY: "r-1", "empty": ""})
    assert rack.attribute(RACK_KEY) == "r-1"
    assert rack.attribute("empty") == ""


@pytest.mark.parametrize(
    "key",
    [
        "karpenter.sh/capacity-type",
        "topology.kubernetes.io/region",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
    ],
)
def test_nothing_but_type_and_zone_is_projected(key: str) -> None:
    assert machine(instance_type="m5", zone="a").attribute(key) is None


def test_values_are_sorted_and_said_once() -> None:
    assert Requirement.of("k", Operator.IN, ["b", "a", "b"]).values == ("a", "b")


def test_requirements_are_ordered_by_key_then_operator_then_values_and_said_once() -> None:
    exists = Requirement.of("k", Operator.EXISTS)
    in_a = Requirement.of("k", Operator.IN, ["a"])
    in_b = Requirement.of("k", Operator.IN, ["b"])
    other = Requirement.of("j", Operator.SAME)
    assert canonical([exists, in_b, other, in_a, in_b]) == (other, in_a, in_b, exists)
