"""Proves that the suite can fail: every mutant of the reference provider against its row.

Each row is first run against the sound provider at the same pace; a row that fails there proves
nothing about its mutant.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bigfleet.conformance.catalogue import ROWS
from bigfleet.conformance.embedded import EmbeddedLauncher
from bigfleet.conformance.pace import Clock, Pace
from bigfleet.conformance.reference.mutants.catalogue import mutant_names
from bigfleet.conformance.rows import Row, RowOutcome
from bigfleet.conformance.runner import Run, run_rows
from bigfleet.conformance.trial import Settings

SEEDS = (1, 2, 3)
RACES = frozenset(f"B40{number}" for number in range(1, 10))
RACE_RUNS = 20
#: One run in twenty of a race may miss.
RACE_MISSES = 1
#: Small fleets and short soaks: the reference provider needs milliseconds for a step.
SETTINGS = Settings(seed_count=64, scale_seed=1000, soak=2.5, failed_hold=0.3, effort=0.05)
PARALLEL = 6


@dataclass(frozen=True, slots=True)
class Kill:
    """How one mutant fared against the row that names it."""

    mutant: str
    expected: str
    runs: int
    #: The reason of the row in each run that caught it.
    failed: tuple[str, ...]
    sound: bool

    @property
    def killed(self) -> bool:
        allowed = RACE_MISSES if self.runs == RACE_RUNS else 0
        return self.sound and len(self.failed) >= self.runs - allowed

    def entry(self) -> dict[str, object]:
        return {
            "mutant": self.mutant,
            "expected": self.expected,
            "failed": [self.expected] if self.failed else [],
            "killed": self.killed,
            "runs": self.runs,
            "caught": len(self.failed),
            "sound": self.sound,
            "reason": self.failed[0] if self.failed else "",
        }


def unpaired(rows: Sequence[Row] = ROWS) -> list[str]:
    """Rows without a mutant, mutants without a row, and mutants named twice."""
    named = [row.mutant for row in rows if row.suite != "baseline"]
    lacking = [row.id for row in rows if row.suite != "baseline" and not row.mutant]
    unknown = sorted(set(named) - mutant_names() - {""})
    unnamed = sorted(mutant_names() - set(named))
    twice = sorted({name for name in named if name and named.count(name) > 1})
    return [*lacking, *unknown, *unnamed, *twice]


def runs_of(row: Row, seeds: Sequence[int]) -> list[int]:
    """The seeds a mutant is run with: races need many tries, the rest three."""
    if row.id in RACES and len(seeds) > 1:
        return list(range(1, RACE_RUNS + 1))
    return list(seeds)


async def tried(row: Row, mutant: str, seed: int, clock: Clock, scratch: Path) -> RowOutcome:
    """The row alone against the reference provider with this switch."""
    settings = replace(SETTINGS, seed=seed, scratch=scratch, steps=None)
    launcher = EmbeddedLauncher(clock, mutant=mutant)
    # A failure is all that is asked for: shortening it would cost half a minute.
    plain = replace(row, generated=False)
    run = Run(launcher, clock, settings, Pace().brisk(), parallel=1)
    try:
        return (await run_rows(run, [plain])).outcomes[0]
    finally:
        await launcher.close()


async def is_sound(row: Row, seed: int, clock: Clock, scratch: Path) -> bool:
    """Whether the row passes without its mutant; a busy machine gets a second chance."""
    for _ in range(2):
        if (await tried(row, "", seed, clock, scratch)).status == "passed":
            return True
    return False


async def self_test(
    rows: Sequence[Row],
    clock: Clock,
    scratch: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    parallel: int = PARALLEL,
    on_kill: Callable[[Kill], None] = lambda kill: None,
) -> list[Kill]:
    room = asyncio.Semaphore(parallel)

    async def one(row: Row) -> Kill:
        async with room:
            kill = await hunted(row, seeds, clock, scratch)
        if kill.killed:
            on_kill(kill)
        return kill

    paired = [row for row in rows if row.mutant]
    kills = list(await asyncio.gather(*map(one, paired)))
    for place, row in enumerate(paired):
        if not kills[place].killed:
            # Some mutants show for milliseconds only: a survivor is hunted once more, alone.
            kills[place] = await hunted(row, seeds, clock, scratch)
            on_kill(kills[place])
    return kills


async def hunted(row: Row, seeds: Sequence[int], clock: Clock, scratch: Path) -> Kill:
    sound = await is_sound(row, seeds[0], clock, scratch)
    numbers = runs_of(row, seeds)
    outcomes = [await tried(row, row.mutant, seed, clock, scratch) for seed in numbers]
    caught = tuple(outcome.reason for outcome in outcomes if outcome.status == "failed")
    return Kill(row.mutant, row.id, len(numbers), caught, sound)


def score(kills: Sequence[Kill]) -> float:
    return sum(kill.killed for kill in kills) / len(kills) if kills else 0.0


def self_test_document(kills: Sequence[Kill]) -> dict[str, object]:
    return {"score": score(kills), "mutants": [kill.entry() for kill in kills]}
