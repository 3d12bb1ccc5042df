"""A journal that can be switched off and on while its shard runs.

Off, no cycle and no note reaches it, as in a shard without one; no gap is counted.
"""

from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.journal.writer import JournalWriter


class SwitchedJournal(JournalWriter):
    is_on = True

    def offer(self, cycle: FinishedCycle) -> None:
        if self.is_on:
            super().offer(cycle)

    def note(self, note: Note) -> bool:
        return super().note(note) if self.is_on else True
