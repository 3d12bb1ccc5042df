"""Searches schedules for one that breaks a law, and says how to play it again.

    python -m tests.coordination_laws.searching transfers 4711

plays what seed 4711 of the kind `transfers` comes to, and cuts it down if it breaks a law.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from tests.coordination_laws.schedules import (
    KINDS,
    PASTS,
    PlayedSchedule,
    Schedule,
    ScheduleStart,
    Weights,
    rig,
    schedule_of,
    shortened,
)
from tests.nightly import IS_NIGHTLY

#: Of every kind, and how many a test plays.
SCHEDULES, AT_A_TIME = (10_000, 50) if IS_NIGHTLY else (60, 30)
BLOCKS = range(SCHEDULES // AT_A_TIME)
STEPS = 50 if IS_NIGHTLY else 22
#: Where the faults stop, everything must end; that takes as long as the schedule itself.
SETTLES = 1 if IS_NIGHTLY else 4


def seeds_of(block: int) -> range:
    return range(block * AT_A_TIME, (block + 1) * AT_A_TIME)


def seen_in(kind: str, seeds: Iterable[int]) -> Counter[str]:
    """How often each thing happened; raises AssertionError with the schedule that breaks a law."""
    seen: Counter[str] = Counter()
    with rig() as play_it:
        for seed in seeds:
            schedule = schedule_of(seed, KINDS[kind], STEPS)
            played = play_it(schedule, seed % SETTLES == 0)
            seen += played.seen
            if played.broken is not None:
                again = f"python -m tests.coordination_laws.searching '{kind}' {seed}"
                raise AssertionError(f"seed {seed} of '{kind}': {played.broken}\nagain: {again}")
    return seen


def first_broken(
    weights: Weights, pasts: Sequence[ScheduleStart], seeds: Iterable[int]
) -> PlayedSchedule | None:
    """Of the first of these schedules that breaks a law."""
    with rig() as play_it:
        for seed in seeds:
            played = play_it(schedule_of(seed, weights, STEPS, pasts), seed % SETTLES == 0)
            if played.broken is not None:
                return played
    return None


@cache
def play_pasts() -> None:
    """Once, with every guard in its place."""
    with rig() as play_it:
        for past in PASTS:
            broken = play_it(Schedule(past, ()), False).broken
            assert broken is None, f"{past}: {broken}"


def replay(kind: str, seed: int) -> str:
    """What becomes of a seed, as text."""
    schedule = schedule_of(seed, KINDS[kind], STEPS)
    with rig() as play_it:
        played = play_it(schedule, True)
        if played.broken is None:
            return f"every law holds: {dict(played.seen)}"
        short = shortened(schedule, played.broken.law, play_it)
        broken = play_it(short, True).broken
    steps = "\n".join(f"    {step}," for step in short.steps)
    return f"{played.broken}\n\n{short.past}\n{steps}\n\n{broken}"


if __name__ == "__main__":
    sys.stdout.write(replay(sys.argv[1], int(sys.argv[2])) + "\n")
