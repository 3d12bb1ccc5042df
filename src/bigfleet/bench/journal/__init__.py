"""`bigfleet bench journal`: what recording costs a shard, and how soon its cycles answer."""

import os
import tempfile
from pathlib import Path

from bigfleet.bench.engine.workload import Shape
from bigfleet.bench.journal.answering import answered, answered_from_the_past, zone_lost
from bigfleet.bench.journal.churning_fleet import ChurningFleet
from bigfleet.bench.journal.recording import timed, weighed
from bigfleet.bench.measures import Measure, Say
from bigfleet.bench.timing import unit_ms

BUDGETED = "uber-50k"
STATED_FOR = (
    f"Budgets are stated for {BUDGETED} at scale 1 on two idle cores with a machine-speed unit of "
    "about 65 ms. In a minute 2 % of the machines and of the Needs change; a cycle is both "
    "snapshots and the decision; questions do not include the way over a connection."
)
QUESTIONS = 40


def measured(shape: Shape, scale: float, cycles: int, say: Say) -> list[Measure]:
    before, unit = os.getloadavg()[0], unit_ms()
    say(f"{shape.name} is built")
    fleet = ChurningFleet(shape.build(scale))
    with tempfile.TemporaryDirectory() as kept:
        recorded, past = Path(kept, "recorded"), Path(kept, "past")
        measures = [
            *weighed(fleet, cycles, say),
            *timed(fleet, recorded, cycles, say),
            *answered(fleet, QUESTIONS, say),
            *zone_lost(fleet, say),
            *answered_from_the_past(fleet, past, cycles, say),
        ]
    return [
        Measure("load of the machine before", before, ""),
        Measure("load of the machine after", os.getloadavg()[0], ""),
        Measure("machine-speed unit", unit, "ms"),
        *measures,
    ]
