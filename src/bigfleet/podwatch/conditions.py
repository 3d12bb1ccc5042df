"""Conditions in the status of objects that others own: ours change, those of others stay."""

from collections.abc import Iterable
from dataclasses import dataclass

from bigfleet.kube.objects import StatusCondition


@dataclass(frozen=True, slots=True)
class SaidCondition:
    """What one condition is to say."""

    type: str
    holds: bool
    reason: str
    text: str


def merged(
    before: tuple[StatusCondition, ...], ours: Iterable[SaidCondition], generation: int, at: str
) -> tuple[StatusCondition, ...]:
    """`at`: the time of those whose status changes."""
    old = {condition.type: condition for condition in before}
    new = {said.type: _timed(said, old.get(said.type), generation, at) for said in ours}
    kept = [new.pop(condition.type, condition) for condition in before]
    return (*kept, *new.values())


def condition_json(condition: StatusCondition) -> dict[str, object]:
    body: dict[str, object] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
    }
    if condition.observed_generation is not None:
        body["observedGeneration"] = condition.observed_generation
    return body


def _timed(
    said: SaidCondition, before: StatusCondition | None, generation: int, at: str
) -> StatusCondition:
    """A condition's time is when its status changed, not when its words did."""
    status = "True" if said.holds else "False"
    since = before.last_transition_time if before and before.status == status else None
    return StatusCondition(
        type=said.type,
        status=status,
        reason=said.reason,
        message=said.text,
        last_transition_time=since or at,
        observed_generation=generation or None,
    )
