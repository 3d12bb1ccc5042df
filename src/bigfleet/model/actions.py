"""Actions: what one cycle asks the world to do, each with the rule that asked for it."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bigfleet.model.profiles import Profile


class ActionKind(IntEnum):
    BOOTSTRAP = 1
    PROVISION = 2
    RECLAIM = 3
    PREEMPT = 4
    DELETE = 5

    @property
    def label(self) -> str:
        return self.name.capitalize()


class Rule(StrEnum):
    IDLE = "phase1.idle"
    SPECULATIVE = "phase1.speculative"
    INVERSION = "phase2.inversion"
    EXCESS = "phase3.excess"
    RELEASE = "phase3.release"


@dataclass(frozen=True, slots=True)
class Action:
    kind: ActionKind
    machine: str
    #: Destination of Bootstrap and Provision, source of Reclaim and Preempt, empty for Delete.
    cluster: str
    rule: Rule
    grace_seconds: int = 0
    preemptor_priority: int = 0
    #: Position in the normalised demand of the Need that acquires or preempts.
    need: int | None = None
    source_profile: Profile | None = None
    source_group: str = ""
    #: A Preempt by which a gang takes a whole domain (U26): those of one Need go together or wait.
    whole_domain: bool = False


class UnmetReason(StrEnum):
    PRIORITY_STARVED = "PRIORITY_STARVED"
    NO_MATCHING_SUPPLY = "NO_MATCHING_SUPPLY"
    TOPOLOGY_UNSATISFIABLE = "TOPOLOGY_UNSATISFIABLE"
    PREEMPTION_EXHAUSTED = "PREEMPTION_EXHAUSTED"
