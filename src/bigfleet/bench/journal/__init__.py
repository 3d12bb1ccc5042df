"""`bigfleet bench journal`: what recording costs a shard, and how soon its cycles answer."""

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.engine.workload import EngineWorkload, Shape, scaled
from bigfleet.bench.journal.answering import (
    WIDE_CANDIDATES,
    answered,
    answered_from_the_past,
    wide_answered,
    with_a_wide_need,
    zone_lost,
)
from bigfleet.bench.journal.churning_fleet import ChurningFleet
from bigfleet.bench.journal.cost_day import SHAPE as COST_SHAPE
from bigfleet.bench.journal.cost_day import day_told
from bigfleet.bench.journal.diffing import SCALE as DIFF_SCALE
from bigfleet.bench.journal.diffing import diffed
from bigfleet.bench.journal.living import lived
from bigfleet.bench.journal.recording import weighed
from bigfleet.bench.measures import Measure, Say

BUDGETED = "uber-50k"
STATED_FOR = (
    f"Budgets are stated for {BUDGETED} at scale 1 on two idle cores with a machine-speed unit of "
    "about 65 ms. In a minute 2 % of the machines and of the Needs change. What is on beside off "
    "is the median of rounds of four blocks each, with the range in which 95 % of drawn sets of "
    "rounds lie; it is open where the budget lies within. CPU is that of the threads that work on "
    "a cycle: a busy machine does not decide it."
)
QUESTIONS = 40
#: Cycles after a key frame: about as many as there are at 2 % a minute.
MOST_PAST = 40
PARTS = ("recording", "questions", "living", "diff", "costs")
#: Of the fleet whose day is told.
COST_SCALE = 1.0


@dataclass(frozen=True, slots=True)
class JournalScale:
    shape: Shape
    scale: float
    cycles: int
    #: Of the journal that is compared.
    diff_cycles: int


async def measured(given: JournalScale, parts: Collection[str], say: Say) -> list[Measure]:
    """The parts that are named, in their order."""
    found: list[Measure] = []
    if not {"recording", "questions"}.isdisjoint(parts):
        say(f"{given.shape.name} is built")
        workload = given.shape.build(given.scale)
        fleet = ChurningFleet(workload)
        if "recording" in parts:
            found += weighed(fleet, given.cycles, say)
        if "questions" in parts:
            found += _questions(fleet, given.cycles, say)
            found += _wide_questions(workload, given, say)
    if "living" in parts:
        found += await lived(given.shape, given.scale, given.cycles, QUESTIONS, say)
    if "diff" in parts:
        found += await diffed(given.diff_cycles, DIFF_SCALE, say)
    if "costs" in parts:
        say(f"{COST_SHAPE} is built")
        found += day_told(SHAPES[COST_SHAPE].build(COST_SCALE), say)
    return found


def _questions(fleet: ChurningFleet, cycles: int, say: Say) -> list[Measure]:
    """In this process, so without the way over a connection."""
    with tempfile.TemporaryDirectory() as kept:
        return [
            *answered(fleet, QUESTIONS, say),
            *zone_lost(fleet, say),
            *answered_from_the_past(fleet, Path(kept, "past"), min(cycles, MOST_PAST), say),
        ]


def _wide_questions(workload: EngineWorkload, given: JournalScale, say: Say) -> list[Measure]:
    wide = with_a_wide_need(workload, scaled(WIDE_CANDIDATES, given.scale))
    with tempfile.TemporaryDirectory() as kept:
        cycles = min(given.cycles, MOST_PAST)
        return wide_answered(ChurningFleet(wide), Path(kept, "wide"), cycles, QUESTIONS, say)
