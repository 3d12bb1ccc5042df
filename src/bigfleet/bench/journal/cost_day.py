"""A day of a fleet in the ledger of costs: what a look and an hour take, and how soon the day is
told by every axis and as rows for a cost tool.

Two in a hundred machines and Needs change in a minute, as the other parts have it; what is decided
is done by the next look. Looks are as far apart as a ledger lets them be, so that a day is lived in
minutes: the ledger has as many rows of it as with a look every ten seconds.
"""

import tempfile
from pathlib import Path
from time import perf_counter

from bigfleet.bench.engine.exercises import loaded_inventory
from bigfleet.bench.engine.workload import NOW, EngineWorkload
from bigfleet.bench.journal.churning_fleet import ChurningFleet
from bigfleet.bench.journal.settled_shard import carry_out
from bigfleet.bench.measures import Measure, Say, percentile
from bigfleet.costs.focus import focus_csv
from bigfleet.costs.meter import HOUR, Meter
from bigfleet.costs.rates import CostSheet
from bigfleet.model.costs import CostCall
from bigfleet.model.figures import CostAxis
from bigfleet.model.fleet import Costs
from bigfleet.model.options import SECOND
from bigfleet.shard.cost_file import KEPT_HOURS, CostFile

SHAPE = "uber-5k"
HOURS = 24
LOOKS_AN_HOUR = 12
MOST_SECONDS = 10.0
_BEGIN = NOW - NOW % HOUR


def day_told(workload: EngineWorkload, say: Say) -> list[Measure]:
    with tempfile.TemporaryDirectory() as kept:
        path = Path(kept, "costs.db")
        file = CostFile(path)
        looks, writes = _lived(workload, file, say)
        say("the day is told")
        began = perf_counter()
        for axis in CostAxis:
            file.rows(CostCall(axis, _BEGIN, _BEGIN + HOURS * HOUR), {})
        file.period(_BEGIN, _BEGIN + HOURS * HOUR, _BEGIN + HOURS * HOUR)
        axes = perf_counter() - began
        charges = file.charges(_BEGIN, _BEGIN + HOURS * HOUR)
        text = focus_csv({"shard": charges})
        whole = perf_counter() - began
        file.close()
        size = path.stat().st_size
    of = f"{SHAPE} ({workload.machine_count:,} machines)"
    return [
        Measure(f"a look at what a cycle of {of} costs, p50", 1e3 * percentile(looks, 0.5), "ms"),
        Measure(f"a look at what a cycle of {of} costs, p95", 1e3 * percentile(looks, 0.95), "ms"),
        Measure("an hour written to the ledger, p50", 1e3 * percentile(writes, 0.5), "ms"),
        Measure("a day in the ledger", size / 2**20, "MB"),
        Measure("400 days in the ledger, extrapolated", size * KEPT_HOURS / HOURS / 2**30, "GB"),
        Measure("a day of it told by every axis", axes, "s"),
        Measure("rows of that day for a cost tool", text.count("\n") - 1, ""),
        Measure("a day told by every axis and for a cost tool", whole, "s", MOST_SECONDS),
    ]


def _lived(workload: EngineWorkload, file: CostFile, say: Say) -> tuple[list[float], list[float]]:
    """Seconds of looks and of writes."""
    inventory = loaded_inventory(workload.batches)
    fleet, meter = ChurningFleet(workload, inventory), Meter()
    seconds = 3_600 // LOOKS_AN_HOUR
    looks, writes = [], []
    for number in range(HOURS * LOOKS_AN_HOUR + 1):
        given = fleet.next_input()
        decision = given.decide()
        began = perf_counter()
        sheet = CostSheet(decision.outcome, Costs())
        meter.observe(sheet, _BEGIN + number * seconds * SECOND, [])
        looks.append(perf_counter() - began)
        carry_out(inventory, decision.actions)
        for _ in range(seconds):
            fleet.change()
        if number % LOOKS_AN_HOUR == 0:
            say(f"hour {number // LOOKS_AN_HOUR} of {HOURS}")
            began = perf_counter()
            file.add(meter.taken())
            writes.append(perf_counter() - began)
    return looks, writes[1:]
