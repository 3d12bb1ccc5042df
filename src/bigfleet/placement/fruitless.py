"""Pods that more machines do not help: three rounds in vain, then a rest that doubles.

Counted per controller and size, so that a pod that is deleted and started again is not a new case.
After a rest there is one more try.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.placement.records import OwnerShape

MOST_ROUNDS = 3
FIRST_REST = 600 * SECOND
LONGEST_REST = 7200 * SECOND
#: Not seen for so long: another time it is a new case.
FORGOTTEN_AFTER = 2 * LONGEST_REST


@dataclass(slots=True)
class _Case:
    #: The margin before the first round in vain.
    before: int
    seen_at: Instant
    rounds: int = 0
    rest: Instant = FIRST_REST
    rests_until: Instant | None = None


class FruitlessRounds:
    def __init__(self) -> None:
        self._cases: dict[OwnerShape, _Case] = {}

    def __len__(self) -> int:
        return len(self._cases)

    def rests(self, shape: OwnerShape, at: Instant) -> bool:
        """Whether machines for such pods are not asked for now."""
        case = self._cases.get(shape)
        if case is None:
            return False
        case.seen_at = at
        return case.rests_until is not None and at < case.rests_until

    def count(self, shape: OwnerShape, before: int, at: Instant) -> int | None:
        """One more round in vain; the margin to go back to if it was one too many."""
        case = self._cases.get(shape)
        if case is None:
            case = self._cases[shape] = _Case(before, at)
        elif not case.rounds or case.rests_until is not None:
            case.before = before
        case.rounds += 1
        case.seen_at, case.rests_until = at, None
        if case.rounds < MOST_ROUNDS:
            return None
        case.rests_until = at + case.rest
        case.rest = min(2 * case.rest, LONGEST_REST)
        # One try after the rest.
        case.rounds = MOST_ROUNDS - 1
        return case.before

    def helped(self, shapes: Iterable[OwnerShape]) -> None:
        for shape in shapes:
            self._cases.pop(shape, None)

    def rest_of(self, shape: OwnerShape, at: Instant) -> Instant | None:
        """How long it still rests."""
        case = self._cases.get(shape)
        if case is None or case.rests_until is None or case.rests_until <= at:
            return None
        return case.rests_until - at

    def next_end(self, at: Instant) -> Instant | None:
        ends = (c.rests_until for c in self._cases.values() if c.rests_until is not None)
        return min((end for end in ends if end > at), default=None)

    def forget(self, at: Instant) -> None:
        """Drops cases that were not asked about for long."""
        old = [s for s, c in self._cases.items() if at - c.seen_at >= FORGOTTEN_AFTER]
        for shape in old:
            del self._cases[shape]
