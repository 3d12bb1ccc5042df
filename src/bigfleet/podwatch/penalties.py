"""What an interruption and a reclamation of a pod cost, in dollars: who says it, and what if not.

Each penalty on its own: the pod's annotation, else what the file of defaults says of its
PriorityClass, else none. Text that is not a quantity is ignored, and an event says so.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from bigfleet.fleetfile.yaml_dialect import decode_yaml, lines_of
from bigfleet.kube.names import INTERRUPTION_PENALTY, RECLAMATION_PENALTY
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.quantities import BadQuantity, exactly
from bigfleet.podwatch.notes import PodNote

#: What the CapacityRequest's schema takes (wire.md 1), so that no object is refused for it.
_QUANTITY = re.compile(
    r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?"
)
_WRITE = "write dollars like 2.50, 500m or 10k"


@dataclass(frozen=True, slots=True)
class Penalties:
    """Quantities as they were written; None: not set."""

    interruption: str | None = None
    reclamation: str | None = None

    def otherwise(self, other: "Penalties") -> "Penalties":
        """Each that is missing here, from there."""
        return Penalties(
            other.interruption if self.interruption is None else self.interruption,
            other.reclamation if self.reclamation is None else self.reclamation,
        )


NO_PENALTIES = Penalties()
#: By the name of a PriorityClass.
Defaults = Mapping[str, Penalties]


def annotated(annotations: Mapping[str, str]) -> tuple[Penalties, tuple[PodNote, ...]]:
    notes: list[PodNote] = []
    interruption = _annotation(annotations, INTERRUPTION_PENALTY, notes)
    reclamation = _annotation(annotations, RECLAMATION_PENALTY, notes)
    if interruption is None and reclamation is None:
        return NO_PENALTIES, tuple(notes)
    return Penalties(interruption, reclamation), tuple(notes)


def is_quantity(text: str) -> bool:
    """The schema takes a few that are not numbers; the operator would refuse the whole request."""
    if _QUANTITY.fullmatch(text) is None:
        return False
    try:
        exactly(text)
    except BadQuantity:
        return False
    return True


def defaults_of(text: str, where: str) -> Defaults:
    """The file's content; raises BadInput with the line of everything that is wrong."""
    try:
        content = decode_yaml(text)
    except (yaml.YAMLError, RecursionError) as problem:
        raise BadInput([Problem(where, f"is not YAML: {' '.join(str(problem).split())}")]) from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        text_ = "belongs a mapping from names of PriorityClasses to their penalties"
        raise BadInput([Problem(where, f"here {text_}")])
    reading = _Reading(text, where)
    defaults = {str(name): reading.penalties(str(name), said) for name, said in content.items()}
    if reading.problems:
        raise BadInput(reading.problems)
    return defaults


class _Reading:
    _FIELDS = ("interruptionPenalty", "reclamationPenalty")

    def __init__(self, text: str, where: str) -> None:
        self._line_of = lines_of(text)
        self._where = where
        self.problems: list[Problem] = []

    def penalties(self, name: str, said: Any) -> Penalties:
        if not isinstance(said, dict):
            self._complain((name,), f"here belongs a mapping of {' and '.join(self._FIELDS)}")
            return NO_PENALTIES
        for key in said:
            if key not in self._FIELDS:
                self._complain((name, str(key)), f"no such key; there are {self._FIELDS}")
        return Penalties(*(self._penalty(name, key, said.get(key)) for key in self._FIELDS))

    def _penalty(self, name: str, key: str, said: Any) -> str | None:
        if said is None:
            return None
        text = str(said)
        if isinstance(said, bool) or not is_quantity(text):
            self._complain((name, key), f"{text!r} is not a quantity; {_WRITE}")
            return None
        return text

    def _complain(self, path: tuple[str, ...], text: str) -> None:
        line = self._line_of(path)
        place = f"{self._where}:{line}" if line else self._where
        self.problems.append(Problem(f"{place}: {'.'.join(path)}", text))


def _annotation(annotations: Mapping[str, str], name: str, notes: list[PodNote]) -> str | None:
    text = annotations.get(name, "").strip()
    if name not in annotations:
        return None
    if is_quantity(text):
        return text
    said = f"annotation {name}: {text[:60]!r} is not a quantity and is ignored; {_WRITE}"
    notes.append(PodNote("InvalidPenalty", said))
    return None
