"""What crosses the line between a shard and a provider, as records of our own.

Quantities stay text and metadata stays opaque here: a provider stores and echoes them, only the
shard reads them. An unknown state or capacity type reads as UNSPECIFIED.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bigfleet.model.machines import CapacityType, Host, MachineState


@dataclass(frozen=True, slots=True)
class Token:
    """The fencing token of a mutation: which shard speaks, in which life, in which order."""

    shard_id: str = ""
    epoch: int = 0
    sequence: int = 0

    @property
    def absent(self) -> bool:
        """Only the all-zero token is unfenced; an empty shard id alone is not enough."""
        return not self.shard_id and self.epoch == 0 and self.sequence == 0


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """A machine as a provider reports it."""

    id: str
    state: MachineState
    host: Host | None = None
    instance_type: str = ""
    zone: str = ""
    capacity_type: CapacityType = CapacityType.UNSPECIFIED
    price_per_hour: float = 0.0
    interruption_probability: float = 0.0
    resources: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    last_error: str = ""
    allocatable: Mapping[str, str] = field(default_factory=dict)
    cluster: str = ""
    shard_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateCall:
    machine_id: str
    token: Token = Token()


@dataclass(frozen=True, slots=True)
class ConfigureCall:
    machine_id: str
    cluster_id: str
    #: Opaque, and possibly full of secrets: never printed.
    bootstrap_blob: bytes = field(default=b"", repr=False)
    token: Token = Token()
    shard_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DrainCall:
    machine_id: str
    grace_period_seconds: int = 0
    token: Token = Token()


@dataclass(frozen=True, slots=True)
class DeleteCall:
    machine_id: str
    token: Token = Token()


@dataclass(frozen=True, slots=True)
class ListCall:
    #: Empty: machines of any state.
    states: tuple[MachineState, ...] = ()
    #: 0: no cap.
    max_results: int = 0
    #: Opaque; empty: the full list.
    since_revision: bytes = b""


Mutation = CreateCall | ConfigureCall | DrainCall | DeleteCall


@dataclass(frozen=True, slots=True)
class Ack:
    """A mutation was accepted; the machine is as it was at that moment."""

    operation_id: str
    machine: MachineRecord


class Code(StrEnum):
    """The status of a finished call; the names are gRPC's."""

    OK = "OK"
    CANCELLED = "CANCELLED"
    UNKNOWN = "UNKNOWN"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    ABORTED = "ABORTED"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    INTERNAL = "INTERNAL"
    UNAVAILABLE = "UNAVAILABLE"
    DATA_LOSS = "DATA_LOSS"
    UNAUTHENTICATED = "UNAUTHENTICATED"


#: The reason of a call that was refused since it could not be written down, as on a full disk.
STORE = "store"


class Rejected(Exception):
    """A call ended with a code other than OK; `reason` is the machine-readable why, if given."""

    def __init__(self, code: Code, text: str = "", reason: str = "") -> None:
        super().__init__(f"{code}: {text}" if text else str(code))
        self.code = code
        self.text = text
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Peer:
    """Who called: the one `bigfleet:` name in its certificate, or None without or with several."""

    identity: str | None = None
    #: Whether the line is mutually authenticated; without it identities are not checked at all.
    authenticated: bool = False
    #: Where it called from, for people to read; no part of who it is.
    address: str = field(default="", compare=False)
