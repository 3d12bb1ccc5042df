"""A small journal in the repository: what today's engine must decide as it was decided.

Where a decision is meant to change: write a line under "Decisions" in CHANGELOG.md, then
`python -m tests.journal.stored_journal`, which records the journal again and refuses without one.
"""

import re
import sys
from pathlib import Path

from bigfleet.journal.journal_file import JournalFile, JournalLimits
from tests.journal.lives import START, LivingFleet

STORED = Path(__file__).parent / "stored"
_CHANGE_LOG = Path(__file__).parents[2] / "CHANGELOG.md"
_DECISIONS = STORED / "decisions.txt"
#: Between them they have every kind of action, gangs, spread and reservations.
_SEEDS = (2, 4, 6, 8, 10, 12, 14, 16)
_CYCLES = 25


def decisions_in(change_log: str) -> list[str]:
    """The entries under every heading "Decisions", each in one line."""
    entries: list[str] = []
    for section in re.findall(r"^### Decisions\n(.*?)(?=^##|\Z)", change_log, re.M | re.S):
        entries += [" ".join(entry.split()) for entry in re.split(r"^- ", section, flags=re.M)[1:]]
    return entries


def why_not_recorded(told: list[str], recorded: list[str]) -> str | None:
    if set(told) - set(recorded):
        return None
    return 'CHANGELOG.md has no new entry under "Decisions"; write what changes and why, first'


def told_decisions() -> list[str]:
    return decisions_in(_CHANGE_LOG.read_text())


def recorded_decisions() -> list[str]:
    return _DECISIONS.read_text().splitlines() if _DECISIONS.exists() else []


def record() -> None:
    STORED.mkdir(exist_ok=True)
    for path in STORED.iterdir():
        path.unlink()
    for epoch, seed in enumerate(_SEEDS, 1):
        file = JournalFile(STORED, "shard-0", epoch, "0.3.0", JournalLimits())
        file.prepare()
        life = LivingFleet(seed)
        life.simulator.cycle_seconds = 40
        for cycle in life.cycles(_CYCLES):
            file.record(cycle, START)
            if cycle.given.cycle % 10 == 0:
                life.run_out()
        file.close()
    _DECISIONS.write_text("".join(f"{entry}\n" for entry in told_decisions()))


if __name__ == "__main__":
    if (why := why_not_recorded(told_decisions(), recorded_decisions())) is not None:
        sys.exit(why)
    record()
