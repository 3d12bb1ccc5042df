"""Taints that machines of the fleet join with, and the machines a pod must not ask for.

The bootstrap template gives some machines a taint, told apart by a label of theirs. A pod that does
not tolerate it asks for machines without that label. The label must be one alone: requirements are
all to be met, so "not (a and b)" cannot be said with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.taints import Taint, Toleration
from bigfleet.podwatch.requirements import Requirement

#: Those that keep a pod away; PreferNoSchedule does not.
_EFFECTS = ("NoSchedule", "NoExecute")
_KEYS = ("key", "value", "effect", "where")
_NEGATED = {"In": "NotIn", "NotIn": "In", "Exists": "DoesNotExist", "DoesNotExist": "Exists"}
_EXAMPLE = "{key: dedicated, value: gpu, effect: NoSchedule, where: {matchLabels: {pool: gpu}}}"


@dataclass(frozen=True, slots=True)
class FleetTaint:
    taint: Taint
    #: What machines without the taint meet.
    elsewhere: Requirement

    def __str__(self) -> str:
        return str(self.taint)


def not_tolerated(
    taints: Iterable[FleetTaint], tolerations: Sequence[Toleration]
) -> tuple[FleetTaint, ...]:
    return tuple(each for each in taints if not any(t.tolerates(each.taint) for t in tolerations))


def taints_of(said: Sequence[Mapping[str, Any]]) -> tuple[FleetTaint, ...]:
    """The setting `taints`; raises BadInput with the field of everything that is wrong."""
    problems: list[Problem] = []
    found = [_taint(each, f"taints[{number}]", problems) for number, each in enumerate(said)]
    if problems:
        raise BadInput(problems)
    return tuple(taint for taint in found if taint is not None)


def _taint(said: Mapping[str, Any], path: str, problems: list[Problem]) -> FleetTaint | None:
    before = len(problems)
    for key in said:
        if key not in _KEYS:
            problems.append(Problem(f"{path}.{key}", f"no such key; there are {', '.join(_KEYS)}"))
    for key in ("key", "effect"):
        if not isinstance(said.get(key), str) or not said[key]:
            problems.append(Problem(f"{path}.{key}", f"is missing; write it like {_EXAMPLE}"))
    effect = said.get("effect")
    if isinstance(effect, str) and effect and effect not in _EFFECTS:
        text = f"{effect!r} keeps no pod away; declare taints of {' and '.join(_EFFECTS)} only"
        problems.append(Problem(f"{path}.effect", text))
    value = said.get("value", "")
    if not isinstance(value, str):
        problems.append(Problem(f"{path}.value", f"{value!r} is not text; put it in quotes"))
    where = _where(said.get("where"), f"{path}.where", problems)
    if len(problems) > before or where is None:
        return None
    key_, operator, values = where
    taint = Taint(said["key"], said["effect"], value)
    return FleetTaint(taint, (key_, _NEGATED[operator], values))


def _where(said: Any, path: str, problems: list[Problem]) -> Requirement | None:
    """A label selector of one requirement."""
    if not isinstance(said, Mapping) or not said:
        text = f"is missing; name the label of the machines that have the taint, like {_EXAMPLE}"
        problems.append(Problem(path, text))
        return None
    unknown = [key for key in said if key not in ("matchLabels", "matchExpressions")]
    labels, expressions = said.get("matchLabels") or {}, said.get("matchExpressions") or []
    if unknown or not isinstance(labels, Mapping) or not isinstance(expressions, list):
        text = "is not a label selector; write matchLabels or matchExpressions with one label"
        problems.append(Problem(path, text))
        return None
    if len(labels) + len(expressions) != 1:
        text = (
            f"selects by {len(labels) + len(expressions)} labels; requirements cannot say "
            '"not all of these", so give the tainted machines one label of their own and name it'
        )
        problems.append(Problem(path, text))
        return None
    if labels:
        ((key, value),) = labels.items()
        return str(key), "In", (str(value),)
    return _expression(expressions[0], f"{path}.matchExpressions[0]", problems)


def _expression(said: Any, path: str, problems: list[Problem]) -> Requirement | None:
    key, operator = (said.get("key"), said.get("operator")) if isinstance(said, Mapping) else (0, 0)
    values = said.get("values") or [] if isinstance(said, Mapping) else []
    if not isinstance(key, str) or not key or operator not in _NEGATED:
        text = f"needs a key, and an operator of {', '.join(_NEGATED)}"
        problems.append(Problem(path, text))
        return None
    if not isinstance(values, list) or (operator in ("In", "NotIn")) != bool(values):
        text = f"values belong to In and NotIn, at least one, and not to {operator}"
        problems.append(Problem(f"{path}.values", text))
        return None
    return key, operator, tuple(sorted({str(value) for value in values}))
