"""Collects instructions, metrics and story events of all parts.

One collector is shared by all parts, so that instructions keep the order in which they were asked
for; `taken` hands them to the driver.
"""

from typing import Any

from bigfleet.edge.counts import Counts
from bigfleet.shard.instructions import Instruction, Log, Persist, WakeCycle
from bigfleet.shard.stories import Stories


class Effects:
    def __init__(self) -> None:
        self.counts = Counts()
        self.stories = Stories()
        self._asked: list[Instruction] = []
        self._awake = False

    def ask(self, instruction: Instruction) -> None:
        self._asked.append(instruction)

    def wake(self) -> None:
        """Once is enough, however often it is asked."""
        if not self._awake:
            self._awake = True
            self._asked.append(WakeCycle())

    def log(self, level: str, event: str, text: str, **facts: Any) -> None:
        self._asked.append(Log(level, event, text, facts))

    def persist(self, table: str, key: str, value: bytes | None) -> None:
        self._asked.append(Persist(table, key, value))

    def taken(self) -> list[Instruction]:
        asked, self._asked, self._awake = self._asked, [], False
        return asked


#: The tables of `state.db`.
DRAINS, RESERVATIONS, PAUSES, FAILURES, LOST, MARKS, COORDINATION, ADMIN = (
    "drains",
    "reservations",
    "pauses",
    "failures",
    "lost",
    "marks",
    "coordination",
    "admin",
)
