"""How long an upgrade diff of a day takes: `bigfleet replay --diff`, as people run it, on a journal
that a fleet of some five thousand machines has lived (`lived_journal.py`): a day, or a slice of it.

From a slice a day is the slice as many times as it takes; the start of the command is counted as
often, so the real one is a little shorter. The candidate is this engine with one option changed, so
that some of what it decides differs, which costs more than two that agree.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.journal.lived_journal import live
from bigfleet.bench.measures import Measure, Say
from bigfleet.bench.processes import LoadTestFailed

SHAPE = "uber-5k"
#: Of the shape: 4,586 machines and 904 Needs.
SCALE = 0.2
CYCLES_A_DAY = 86_400
#: A budget of 30 minutes.
MOST_SECONDS = 1800
#: Machines are released after a minute instead of the engine's default.
CANDIDATE = "releaseHold.OnDemand=60"
_PROGRAM = "from bigfleet.cli.main import main; main()"
#: Identical or within the limits, and beyond them.
_COMPARED = (0, 1)


async def diffed(cycles: int, scale: float, say: Say) -> list[Measure]:
    with tempfile.TemporaryDirectory() as kept:
        journal = Path(kept, "journal")
        lived = live(SHAPES[SHAPE].build(scale), journal, cycles, say)
        found = [
            Measure("machines of the lived journal", lived.machines, ""),
            Measure("Needs of the lived journal", lived.needs, ""),
            Measure("cycles of the lived journal", lived.cycles, ""),
            Measure("of these with actions", lived.deciding_cycles, ""),
            Measure("actions in it", lived.actions, ""),
            Measure("bytes a cycle in it", lived.written_bytes / lived.cycles, "bytes"),
        ]
        for mode in ("open", "closed"):
            say(f"{mode} diff of {cycles} cycles")
            found += await _diff_rows(journal, mode, cycles)
    return found


async def _diff_rows(journal: Path, mode: str, cycles: int) -> list[Measure]:
    before, began = os.times(), perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _PROGRAM, "replay", str(journal), "--diff"),
        *("--mode", mode, "--set", CANDIDATE, "-o", "json"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    seconds, after = perf_counter() - began, os.times()
    if process.returncode not in _COMPARED:
        text = said.decode(errors="replace").strip()
        raise LoadTestFailed(f"the {mode} diff ended with {process.returncode}: {text}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    times = CYCLES_A_DAY / cycles
    name = f"{mode} diff of {cycles:,} cycles"
    is_whole = cycles >= CYCLES_A_DAY
    day = f"{mode} diff of a day" + ("" if is_whole else ", extrapolated from them")
    return [
        Measure(f"{name}, CPU", cpu, "s"),
        Measure(f"{name}, by the clock", seconds, "s"),
        Measure(f"{day}, CPU", times * cpu / 60, "min", MOST_SECONDS / 60),
        Measure(f"{day}, by the clock", times * seconds / 60, "min", MOST_SECONDS / 60),
    ]
