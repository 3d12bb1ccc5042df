"""Engine memory: the little that one cycle must remember for the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources


class ReservationKind(StrEnum):
    #: A victim that drains for the Need that preempted it.
    PREEMPTION = "preemption"
    #: Offered to another shard: no Need here may claim it.
    OFFER = "offer"
    #: Came from another shard for Needs of one fingerprint.
    TRANSFER_IN = "transfer-in"


@dataclass(frozen=True, slots=True)
class Reservation:
    machine: str
    kind: ReservationKind
    holder: NeedKey
    #: None: made without a clock, never expires.
    expires_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Shortfall:
    deficit: Resources
    age: int


@dataclass(frozen=True, slots=True)
class EngineMemory:
    #: By machine id; at most one reservation a machine.
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    #: Cycles in a row a gang acquired nothing in a domain that could not hold it.
    parking: Mapping[NeedKey, int] = field(default_factory=dict)
    #: What even preemption could not cover, with its age in cycles.
    shortfalls: Mapping[NeedKey, Shortfall] = field(default_factory=dict)
