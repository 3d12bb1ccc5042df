"""What recording costs: bytes of a cycle and of a day, and time of the cycles that are recorded.

Bytes are those of the frames on disk. A day is 86,400 cycles of a second: the bytes of one times
that, and a key frame every 600 cycles, or as often as the changes weigh half of one.
"""

from pathlib import Path
from statistics import median
from threading import Event
from time import perf_counter, process_time, sleep, time_ns
from typing import BinaryIO

import numpy as np

from bigfleet.bench.journal.churning_fleet import ChurningFleet
from bigfleet.bench.measures import Measure, Say
from bigfleet.journal.frames import frame_of
from bigfleet.journal.journal_file import JournalFile, JournalLimits, RealDisk
from bigfleet.journal.recorder import KEYFRAME_CYCLES, FinishedCycle, Recorder
from bigfleet.journal.writer import JournalWriter

CYCLES_A_DAY = 86_400
GIB = 2**30
SHARD, EPOCH, VERSION = "shard-0", 1, "bench"
#: Cycles of a block with the journal on, or off. What writing a cycle costs the next one belongs to
#: it, so the first of a block is left out.
BLOCK = 5
#: Between two cycles, on or off: the writer ends.
PAUSE_SECONDS = 0.2
#: More than caches hold; walked before every cycle, as the other work of a second would.
OTHER_BYTES = 128 * 2**20


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


def timed(fleet: ChurningFleet, directory: Path, cycles: int, say: Say) -> list[Measure]:
    """Cycles with the journal on and off, in blocks that take turns.

    A cycle is both snapshots and the decision. As in a shard, the writer is done before the next
    one begins, the last one is kept while the next is decided, and caches are cold.
    """
    disk = _NoticedDisk()
    file = JournalFile(directory, SHARD, EPOCH, VERSION, JournalLimits(), disk)
    writer = JournalWriter(file, time_ns, perf_counter)
    writer.start()
    other_memory = np.zeros(OTHER_BYTES, np.uint8)
    kept: list[FinishedCycle] = []
    taken: dict[bool, list[float]] = {False: [], True: []}
    blocks = max(1, cycles // BLOCK)
    for block in range(2 * blocks):
        is_on = block % 2 == 1
        for place in range(BLOCK):
            say(f"cycle {block * BLOCK + place + 1} of {2 * blocks * BLOCK} timed")
            fleet.change()
            disk.written.clear()
            other_memory += 1
            began = perf_counter()
            given = fleet.next_input()
            finished = FinishedCycle(given, given.decide())
            if is_on:
                writer.offer(finished)
            seconds = perf_counter() - began
            kept[:] = [finished]
            if is_on:
                disk.written.wait()
            sleep(PAUSE_SECONDS)
            if place:
                taken[is_on].append(seconds)
    writer.close()
    on, off = median(taken[True]), median(taken[False])
    return [
        Measure("cycle p50, journal off", 1e3 * off, "ms"),
        Measure("cycle p50, journal on", 1e3 * on, "ms"),
        Measure("on beside off", 100 * (on / off - 1), "%", 3),
    ]


class _NoticedDisk(RealDisk):
    """Says when something was written."""

    def __init__(self) -> None:
        self.written = Event()

    def write(self, file: BinaryIO, content: bytes) -> None:
        super().write(file, content)
        self.written.set()


def _next(fleet: ChurningFleet) -> FinishedCycle:
    given = fleet.next_input()
    return fleet.finished(given, given.decide())
