"""Which actions go first when not all may: what serves or preempts for a Need by that Need's
priority, then Reclaims, then Deletes.
"""

from collections.abc import Iterable, Sequence

from bigfleet.model.actions import Action, ActionKind

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
