"""What crosses the line between an operator and its shard, as records of our own.

A roll-up stays bytes here: it is read off the receive path, and one that says what the last one
said is never read at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.taints import Taint

PROTOCOL = "v1alpha1"
RECLAIM_DONE = "reclaim-done"
#: Ids minted by this implementation: only these are acknowledged a second time.
INSTRUCTION_PREFIX = "bf1-"
DEFAULT_GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Hello:
    cluster_id: str
    protocol_version: str = PROTOCOL

    @property
    def features(self) -> frozenset[str]:
        """`v1alpha1+reclaim-done.other` announces two; unknown words do no harm."""
        _, _, words = self.protocol_version.partition("+")
        return frozenset(word for word in words.split(".") if word)


@dataclass(frozen=True, slots=True)
class RollupFrame:
    """A serialised ClusterCapacityNeeds."""

    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class BootstrapResponse:
    request_id: str
    #: Full of secrets: never printed, never stored.
    user_data: bytes = field(default=b"", repr=False)
    #: 0: no bound.
    ttl_seconds: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class ReclaimAck:
    instruction_id: str
    nodes_started: int


@dataclass(frozen=True, slots=True)
class UnknownFrame:
    """A payload of a later version; skipped and logged."""


OperatorFrame = Hello | RollupFrame | BootstrapResponse | ReclaimAck | UnknownFrame


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    #: `hello` or `rollup`.
    echo: str
    coordinator_term: int = 0
    shard_epoch: int = 0


@dataclass(frozen=True, slots=True)
class BootstrapRequest:
    request_id: str
    cluster_id: str
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class ReclaimInstruction:
    instruction_id: str
    nodes: tuple[str, ...]
    grace_period_seconds: int
    preemptor_priority: int = 0


@dataclass(frozen=True, slots=True)
class NodeStateUpdate:
    machine_id: str
    cluster_id: str
    state: MachineState
    node_name: str = ""
    provider_id: str = ""
    last_error: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Resources = Resources()
    #: Our shard knows none; another one may.
    taints: tuple[Taint, ...] = ()

    @property
    def supersedes_key(self) -> str:
        return f"node:{self.machine_id}"


class Confidence(IntEnum):
    UNSPECIFIED = 0
    NONE = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4


@dataclass(frozen=True, slots=True)
class AvailableCapacityUpdate:
    fingerprint: str
    requirements: tuple[Requirement, ...]
    available_count: int
    confidence: Confidence
    cost_per_hour: float
    #: Our shard leaves them unset; another one may not.
    resources: Resources = Resources()

    @property
    def supersedes_key(self) -> str:
        return f"available:{self.fingerprint}"


ShardFrame = (
    Acknowledgement
    | BootstrapRequest
    | ReclaimInstruction
    | NodeStateUpdate
    | AvailableCapacityUpdate
)


def supersedes_key_of(frame: ShardFrame) -> str:
    """Empty: never replaced and never dropped."""
    if isinstance(frame, NodeStateUpdate | AvailableCapacityUpdate):
        return frame.supersedes_key
    return ""
