"""What the settings say of Nodes: when one counts as usable, as broken, as gone."""

from collections.abc import Iterable
from dataclasses import dataclass

from bigfleet.model.durations import seconds_of
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

READY = "Ready"
_READY_TIME = 1800 * SECOND


class BadCondition(ValueError):
    """The sentence says what would be one."""


@dataclass(frozen=True, slots=True)
class RepairCondition:
    """A Node with this condition for so long is broken."""

    type: str
    #: Empty: every status but True.
    status: str
    after: Instant


@dataclass(frozen=True, slots=True)
class UsableRules:
    join_timeout: Instant = 900 * SECOND
    #: Keys of further taints that go when a Node is ready for pods.
    startup_taints: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeRules:
    usable: UsableRules = UsableRules()
    #: Empty: repair is off.
    repair: tuple[RepairCondition, ...] = (RepairCondition(READY, "", _READY_TIME),)
    gone_after: Instant = 120 * SECOND


def repair_conditions(texts: Iterable[str]) -> tuple[RepairCondition, ...]:
    """`Ready=30m` unless they say otherwise; raises BadCondition."""
    found = {READY: RepairCondition(READY, "", _READY_TIME)}
    for text in texts:
        rule = _repair_condition(text)
        found[rule.type] = rule
    return tuple(found.values())


def _repair_condition(text: str) -> RepairCondition:
    condition, _, duration = text.partition("=")
    kind, colon, status = condition.partition(":")
    seconds = seconds_of(duration)
    if not kind or seconds is None or (colon and not status):
        example = "KernelDeadlock=10m or GpuHealthy:False=5m"
        raise BadCondition(f"{text!r} is not a condition and a duration; write it like {example}")
    if not status:
        status = "" if kind == READY else "True"
    return RepairCondition(kind, status, round(seconds * SECOND))
