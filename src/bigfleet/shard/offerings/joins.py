"""Joins: how many of the machines of an offering became nodes of their cluster lately."""

from collections import deque
from dataclasses import dataclass, field

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: Machines that did not join, and their part of all attempts, from which it is the offering.
MACHINES = 3
SHARE = 0.5
#: Attempts that are remembered, and for how long.
ATTEMPTS = 64
WINDOW = 3600 * SECOND


@dataclass(slots=True)
class Joins:
    #: (machine, whether it joined, when), oldest first.
    attempts: deque[tuple[str, bool, Instant]] = field(
        default_factory=lambda: deque(maxlen=ATTEMPTS)
    )

    def never_joined(self, machine: str, at: Instant) -> bool:
        """Its provider took it for one that joined; whether too many did not."""
        well = [attempt for attempt in self.attempts if attempt[:2] != (machine, True)]
        self.attempts = deque(well, maxlen=ATTEMPTS)
        return self.add(machine, False, at)

    def add(self, machine: str, joined: bool, at: Instant) -> bool:
        """Whether too many did not join."""
        while self.attempts and at - self.attempts[0][2] >= WINDOW:
            self.attempts.popleft()
        self.attempts.append((machine, joined, at))
        lost = [name for name, well, _ in self.attempts if not well]
        return not joined and len(set(lost)) >= MACHINES and len(lost) >= SHARE * len(self.attempts)
