"""Actions: what one cycle asks the world to do, each with the rule that asked for it.

Which actions go first when not all may: what serves or preempts for a Need by that Need's
priority, then Reclaims, then Deletes.
"""

from collections.abc import Iterable, Sequence
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
    #: An Idle machine is bound to the cluster of a Need.
    IDLE = "phase1.idle"
    #: A machine is bought for a Need.
    SPECULATIVE = "phase1.speculative"
    #: A machine in use is taken from a Need of lower priority.
    INVERSION = "phase2.inversion"
    #: A machine that no Need of its cluster claims is drained.
    EXCESS = "phase3.excess"
    #: An Idle machine that was kept long enough is given back to its provider.
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
    #: Machines fit, and Needs of equal or higher precedence have them, or victims are on their way.
    PRIORITY_STARVED = "PRIORITY_STARVED"
    #: No machine fits, or those that fit are held.
    NO_MATCHING_SUPPLY = "NO_MATCHING_SUPPLY"
    #: No domain holds the whole gang, or a strict spread forbids what is free.
    TOPOLOGY_UNSATISFIABLE = "TOPOLOGY_UNSATISFIABLE"
    #: Victims were taken, and all of them together are not enough.
    PREEMPTION_EXHAUSTED = "PREEMPTION_EXHAUSTED"


_RANK_OF_KIND = {
    ActionKind.PREEMPT: (0, 0),
    ActionKind.BOOTSTRAP: (0, 1),
    ActionKind.PROVISION: (0, 2),
    ActionKind.RECLAIM: (1, 0),
    ActionKind.DELETE: (2, 0),
}


def most_urgent(
    actions: Sequence[Action], positions: Iterable[int], budget: int
) -> tuple[int, ...]:
    """Of `positions`, those the budget keeps, ascending: what is kept stays in its order."""

    def urgency(position: int) -> tuple[int, int, int, int]:
        action = actions[position]
        group, kind = _RANK_OF_KIND[action.kind]
        return (group, -_priority_served(action), kind, position)

    return tuple(sorted(sorted(positions, key=urgency)[:budget]))


def _priority_served(action: Action) -> int:
    """Of the Need behind it; Reclaims and Deletes serve none."""
    if action.kind is ActionKind.PREEMPT:
        return action.preemptor_priority
    return action.source_profile.priority if action.source_profile else 0
