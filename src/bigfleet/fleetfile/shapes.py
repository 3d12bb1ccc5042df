"""What many machines of a file share, read once: shapes and stamps.

Two machines share a shape when the raw values of its keys are the same bytes once encoded, so 1,
1.0 and true stay apart, as they must. What was complained about is read again each time, so that
every machine gets its own complaints.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from bigfleet.fleetfile.records import INT32, Record
from bigfleet.model.machines import Assigned, CapacityType
from bigfleet.model.quantities import LARGEST_OF_MACHINE
from bigfleet.model.resources import Resources
from bigfleet.model.syntax import why_not_label_value

CAPACITY_TYPES = {
    kind.label: kind for kind in (*(k for k in CapacityType if k), CapacityType.UNSPECIFIED)
}
_SHAPE_KEYS = (
    "capacityType",
    "instanceType",
    "zone",
    "labels",
    "resources",
    "allocatable",
    "pricePerHour",
    "interruptionProbability",
)
_ASSIGNED_KEYS = frozenset(
    "priority interruptionPenalty reclamationPenalty cluster needFingerprint group".split()
)
_ENCODE = msgspec.msgpack.Encoder().encode

Read = TypeVar("Read")


class MachineSpec(NamedTuple):
    """All of a machine that is not its life."""

    capacity_type: CapacityType
    instance_type: str
    zone: str
    labels: Mapping[str, str]
    resources: Resources
    allocatable: Resources
    price_per_hour: float
    interruption_probability: float


class Shapes:
    __slots__ = ("_assigned", "_shapes")

    def __init__(self) -> None:
        self._shapes: dict[bytes, MachineSpec] = {}
        self._assigned: dict[bytes, Assigned] = {}

    def shape_of(self, record: Record) -> MachineSpec:
        get = record.raw.get
        return _once(self._shapes, [get(key) for key in _SHAPE_KEYS], record, _read_shape)

    def assigned_of(self, record: Record) -> Assigned:
        return _once(self._assigned, record.raw["assigned"], record, _read_assigned)


def _once(
    seen: dict[bytes, Read], raw: Any, record: Record, read: Callable[[Record], Read]
) -> Read:
    try:
        key = _ENCODE(raw)
    except (TypeError, OverflowError, ValueError, RecursionError):
        return read(record)
    known = seen.get(key)
    if known is None:
        before = len(record.complaints)
        known = read(record)
        if len(record.complaints) == before:
            seen[key] = known
    return known


def _read_shape(record: Record) -> MachineSpec:
    return MachineSpec(
        record.choice(
            "capacityType",
            CAPACITY_TYPES,
            CapacityType.UNSPECIFIED,
            required=f"one of {', '.join(CAPACITY_TYPES)}",
        ),
        record.text("instanceType", why_not=why_not_label_value),
        record.text("zone", why_not=why_not_label_value),
        record.labels("labels"),
        record.resources("resources", most=LARGEST_OF_MACHINE),
        record.resources("allocatable", most=LARGEST_OF_MACHINE),
        record.number("pricePerHour", 0.0),
        record.number("interruptionProbability", 0.0),
    )


def _read_assigned(record: Record) -> Assigned:
    stamp = record.record("assigned")
    stamp.check_keys(_ASSIGNED_KEYS)
    return Assigned(
        priority=stamp.whole("priority", 0, *INT32),
        interruption_penalty=stamp.dollars("interruptionPenalty"),
        reclamation_penalty=stamp.dollars("reclamationPenalty"),
        cluster=stamp.text("cluster"),
        need_fingerprint=stamp.text("needFingerprint"),
        group=stamp.text("group"),
    )
