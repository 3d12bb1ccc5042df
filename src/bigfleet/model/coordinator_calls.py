"""What crosses the line between a shard and the coordinator, as records of our own."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import ShardSummary, ShortfallRow


class AckOutcome(IntEnum):
    UNSPECIFIED = 0
    ACCEPTED = 1
    REJECTED_STALE = 2
    REJECTED_INVALID = 3
    FAILED = 4

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class InstructionAck:
    instruction_id: str
    outcome: AckOutcome
    reason: str = ""


class InstructionKind(StrEnum):
    ASSIGN_DOMAIN = "assign_domain"
    UNASSIGN_DOMAIN = "unassign_domain"
    REASSIGN_SPECULATIVE = "reassign_speculative"
    CROSS_SHARD_DRAIN = "cross_shard_drain"
    TRANSFER_OWNERSHIP = "transfer_ownership"
    #: Of a later version.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CoordinatorInstruction:
    """One order of the coordinator; fields that its kind does not use are empty."""

    id: str
    kind: InstructionKind
    term: int = 0
    sequence: int = 0
    topology_key: str = ""
    topology_value: str = ""
    machine_ids: tuple[str, ...] = ()
    preemptor_priority: int = 0
    from_shard: str = ""
    to_shard: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The instruction was carried out, or had been."""

    #: What came of it, for the reader of the acknowledgement.
    note: str = ""


@dataclass(frozen=True, slots=True)
class NotYet:
    """It is being carried out: no acknowledgement, it comes again with the next report."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """It cannot be carried out, and nothing of it was."""

    why: str


#: What became of an instruction. Done means that the work has been done.
Obeyed = Done | NotYet | Refused


@dataclass(frozen=True, slots=True)
class ShardReport:
    shard_id: str
    cycle: int
    at: Instant
    epoch: int
    #: Where others reach this shard.
    address: str
    summary: ShardSummary
    shortfalls: tuple[ShortfallRow, ...] = ()
    acks: tuple[InstructionAck, ...] = ()
    #: Shortfalls that the coordinator did not keep, because they are too large.
    rows_left_off: int = 0


@dataclass(frozen=True, slots=True)
class ReportReply:
    term: int
    #: False: the coordinator has a newer report of this shard id.
    acknowledged: bool
    instructions: tuple[CoordinatorInstruction, ...] = ()


#: Reasons beside UNAVAILABLE: the store takes nothing; it is unknown whether it took something;
#: a replica answered, and none leads. Without a reason, no replica answered.
STORE_DOWN, UNCLEAR, NO_LEADER = "store-down", "unclear", "nobody-leads"


class NotLeader(Rejected):
    """The replica that was asked does not lead."""

    def __init__(self, text: str, leader: str) -> None:
        super().__init__(Code.FAILED_PRECONDITION, text)
        #: host:port of the leader.
        self.leader = leader
