"""What recording weighs: bytes of a cycle and of a day, and CPU time beside the cycles.

Bytes are those of the frames on disk. A day is 86,400 cycles of a second: the bytes of one times
that, and a key frame every 600 cycles, or as often as the changes weigh half of one.
"""

from statistics import median
from time import process_time

from bigfleet.bench.journal.churning_fleet import ChurningFleet
from bigfleet.bench.measures import Measure, Say
from bigfleet.journal.frames import frame_of
from bigfleet.journal.recorder import KEYFRAME_CYCLES, FinishedCycle, Recorder

CYCLES_A_DAY = 86_400
GIB = 2**30
SHARD, EPOCH, VERSION = "shard-0", 1, "bench"


def weighed(fleet: ChurningFleet, cycles: int, say: Say) -> list[Measure]:
    recorder = Recorder(SHARD, EPOCH, VERSION)
    first = recorder.record(_next(fleet))
    keyframe, plain = len(frame_of(first[1])), len(first[1])
    sizes, changes, seconds, notes = [], [], [], []
    for number in range(cycles):
        say(f"cycle {number + 1} of {cycles} weighed")
        fleet.change()
        cycle = _next(fleet)
        noted = fleet.notes(cycle)
        began = process_time()
        records = recorder.record(cycle)
        together = frame_of(recorder.notes(noted))
        frames = [len(frame_of(record)) for record in records]
        seconds.append(process_time() - began)
        sizes.append(sum(frames) + len(together))
        notes.append(len(together))
        changes.append(len(records[0]))
    each, change = median(sizes), median(changes)
    interval = min(KEYFRAME_CYCLES, max(1, int(plain / 2 / change)))
    day = CYCLES_A_DAY * each + CYCLES_A_DAY / interval * keyframe
    return [
        Measure("machines that change a cycle", fleet.machines_a_cycle, ""),
        Measure("Needs that change a cycle", fleet.needs_a_cycle, ""),
        Measure("a cycle in the journal", each, "bytes"),
        Measure("of that what became of actions and roll-ups", median(notes), "bytes"),
        Measure("a key frame in the journal", keyframe, "bytes"),
        Measure("cycles from key frame to key frame", interval, ""),
        Measure("a day in the journal", day / GIB, "GiB", 4),
        Measure("recording a cycle, CPU beside the cycles", 1e3 * median(seconds), "ms"),
    ]


def _next(fleet: ChurningFleet) -> FinishedCycle:
    given = fleet.next_input()
    return fleet.finished(given, given.decide())
