"""Which of a pod's alternative node affinity terms its request asks for.

The first one with supply, as far as AvailableCapacities hint at it, else the first. A pod that has
no Node 60 s after its request was acknowledged, or last changed, asks for the next, in a ring. The
choice is an annotation of the request, so it survives a restart; the clock starts anew. A pod that
has a Node asks for what that Node is: for the term it had if the Node meets it, else for the first
that the Node meets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bigfleet.kube.objects import AvailableCapacity
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.podwatch.records import OwnRequest
from bigfleet.podwatch.requests import requirements_in
from bigfleet.podwatch.requirements import (
    Requirement,
    contradiction_in,
    met_by,
    requirement_of,
)

#: How long one alternative is waited for.
TRIED_FOR_SECONDS = 60.0
_TRIED_FOR = round(TRIED_FOR_SECONDS * SECOND)

_requirements_in = lru_cache(maxsize=4096)(requirements_in)


@dataclass(frozen=True, slots=True)
class TermSupply:
    """Of an AvailableCapacity."""

    requirements: frozenset[Requirement]
    is_there: bool


def supply_of(capacity: AvailableCapacity) -> TermSupply:
    spec = capacity.spec
    asked = frozenset(requirement_of(each) for each in spec.requirements)
    return TermSupply(asked, spec.availability != "None")


def has_supply(spec: bytes, hints: Iterable[TermSupply]) -> bool:
    """By the hint about exactly these requirements, else by any that does not contradict them."""
    asked = frozenset(_requirements_in(spec))
    found = False
    for hint in hints:
        if hint.requirements == asked:
            return hint.is_there
        if hint.is_there and not found:
            found = contradiction_in({*hint.requirements, *asked}) is None
    return found


@dataclass(frozen=True, slots=True)
class Choice:
    number: int
    #: When the next one is tried; None: not by time.
    until: Instant | None = None


class AffinityTerms:
    def __init__(self) -> None:
        #: Of pods that wait with several alternatives: which one was chosen, and when.
        self._tried: dict[str, tuple[int, Instant]] = {}

    def __len__(self) -> int:
        return len(self._tried)

    def forget(self, uid: str) -> None:
        self._tried.pop(uid, None)

    def choose(
        self,
        uid: str,
        specs: Sequence[bytes | None],
        request: OwnRequest | None,
        hints: Iterable[TermSupply],
        at: Instant,
    ) -> Choice:
        """Of a pod that waits. None in `specs`: its volumes rule that alternative out."""
        usable = [number for number, spec in enumerate(specs) if spec is not None]
        current = current_term(request, specs)
        if request is None or current is None or current not in usable:
            self.forget(uid)
            return Choice(_first(specs, usable, hints))
        tried, since = self._tried.get(uid, (current, at))
        if tried != current:
            if tried in usable and at - since < _TRIED_FOR:
                # The change was refused, or the cache has not shown it yet.
                return Choice(tried, since + _TRIED_FOR)
            since = at
        if not request.acknowledged or len(usable) == 1:
            self.forget(uid)
            return Choice(current)
        if at - since < _TRIED_FOR:
            self._tried[uid] = (current, since)
            return Choice(current, since + _TRIED_FOR)
        following = usable[(usable.index(current) + 1) % len(usable)]
        self._tried[uid] = (following, at)
        return Choice(following, at + _TRIED_FOR)


def term_of_node(
    specs: Sequence[bytes | None], request: OwnRequest | None, labels: Mapping[str, str] | None
) -> int:
    """Of a pod that has a Node; `labels` None: the Node is not known."""
    current = current_term(request, specs)
    met = [
        number
        for number, spec in enumerate(specs)
        if spec is not None and labels is not None and met_by(_requirements_in(spec), labels)
    ]
    if current is not None and (current in met or not met):
        return current
    return met[0] if met else 0


def current_term(request: OwnRequest | None, specs: Sequence[bytes | None]) -> int | None:
    """By its annotation, else by what it asks for; None: neither says."""
    if request is None:
        return None
    number, _, of = request.term.partition("/")
    if number.isdecimal() and of == str(len(specs)) and 1 <= int(number) <= len(specs):
        return int(number) - 1
    asked = _requirements_in(request.body.spec)
    for place, spec in enumerate(specs):
        if spec is not None and _requirements_in(spec) == asked:
            return place
    return None


def term_text(number: int, count: int) -> str:
    """Counted from one, as people do; empty where there is no choice."""
    return f"{number + 1}/{count}" if count > 1 else ""


def _first(
    specs: Sequence[bytes | None], usable: Sequence[int], hints: Iterable[TermSupply]
) -> int:
    hints = tuple(hints)
    for number in usable:
        spec = specs[number]
        if spec is not None and has_supply(spec, hints):
            return number
    return usable[0] if usable else 0
