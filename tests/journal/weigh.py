"""What a journal weighs and costs on a benchmark shape: `python -m tests.journal.weigh [SHAPE]`.

Every cycle 2 % a minute of the machines and of the Needs change, spread evenly, and as many actions
are recorded as machines change, with the notes these make: a line of its story for each machine, an
outcome for each action, and a roll-up for each Need. Bytes are those of the frames. A day is 86,400
cycles of a second: the bytes of a cycle times that, and a key frame every 600 cycles, or as often
as the changes weigh half of one. Time is the p50 of cycles with the journal on and off, in blocks
that take turns: what writing a cycle costs the next one belongs to it. The writer is done before
the next cycle begins, as it is between cycles of a second.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from threading import Event
from time import perf_counter, process_time, time_ns
from typing import BinaryIO

from bigfleet.bench.engine.exercises import loaded_inventory
from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.engine.workload import NOW
from bigfleet.cli.progress import compile_all
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.frames import frame_of
from bigfleet.journal.journal_file import JournalFile, JournalLimits, RealDisk
from bigfleet.journal.recorder import KEYFRAME_CYCLES, FinishedCycle, Note, Recorder
from bigfleet.journal.writer import JournalWriter
from bigfleet.model.fleet import Marks
from bigfleet.model.journal import JournalEvent, JournalNote
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent, StorySource

CYCLES_A_DAY = 86_400
CHURN_A_MINUTE = 0.02
MEASURED = 12
#: With the journal on every cycle follows the writing of one: the first of a block is left out.
BLOCKS, BLOCK = 5, 5


class ChurningFleet:
    def __init__(self, shape: str) -> None:
        workload = SHAPES[shape].build(1.0)
        self._chance = Random(1)
        self._inventory: Inventory = loaded_inventory(workload.batches)
        self._ids = [name for batch in workload.batches for name in batch.ids]
        self._needs = NeedsTable()
        self._demand: dict[str, list[Need]] = {c: [*n] for c, n in workload.needs.items()}
        for cluster, needs in self._demand.items():
            self._needs.replace(cluster, needs)
        self._cycle = 0
        self.machines_a_cycle = round(workload.machine_count * CHURN_A_MINUTE / 60)
        self.needs_a_cycle = round(workload.need_count * CHURN_A_MINUTE / 60)

    def next_input(self) -> EngineInput:
        self._cycle += 1
        now = NOW + self._cycle * SECOND
        for name in self._chance.sample(self._ids, self.machines_a_cycle):
            machine = self._inventory.machine_of(name)
            if machine.state is MachineState.SPECULATIVE:
                price = round(machine.price_per_hour * self._chance.choice((0.9, 1.1)), 4)
                self._inventory.apply(replace(machine, price_per_hour=price), adopted=True)
            else:
                self._inventory.mark(name, Marks(idle_since=now, overdue=True))
        for cluster in self._chance.sample(sorted(self._demand), self.needs_a_cycle):
            needs = self._demand[cluster]
            place = self._chance.randrange(len(needs))
            grown = needs[place].aggregate.plus(needs[place].min_unit)
            needs[place] = replace(needs[place], aggregate=grown)
            self._needs.replace(cluster, needs)
        return EngineInput(
            self._cycle,
            now,
            self._inventory.snapshot(),
            self._needs.freeze(),
            EngineMemory(),
            EngineOptions(),
        )

    def finished(self, given: EngineInput) -> FinishedCycle:
        decision = given.decide()
        few = decision.actions[: self.machines_a_cycle]
        views = tuple(
            ActionView(
                given.cycle,
                place,
                action.kind,
                action.machine,
                action.cluster,
                None if action.need is None else decision.outcome.key(action.need),
                grace_seconds=action.grace_seconds,
                disposition=Disposition.ENQUEUED,
                at=given.at,
            )
            for place, action in enumerate(few)
        )
        return FinishedCycle(given, decision, views)

    def notes(self, cycle: FinishedCycle) -> list[Note]:
        """As the execution of these actions makes them; operation ids are random."""
        at, bodies = cycle.given.at, list[JournalNote]()
        for view in cycle.actions:
            operation = f"{self._chance.getrandbits(64):016x}"
            text, state = self._chance.choice(
                (
                    ("asked to create it", MachineState.CREATING),
                    ("its provider reports it Idle", MachineState.IDLE),
                    ("asked to configure it", MachineState.CONFIGURING),
                )
            )
            bodies.append(
                StoryEvent(
                    at + self._chance.randrange(SECOND),
                    StorySource.EXECUTOR,
                    text,
                    cycle.given.cycle,
                    MachineState.SPECULATIVE,
                    state,
                    view.cluster,
                    operation,
                    sequence=cycle.given.cycle,
                    machine=view.machine,
                )
            )
            ended = replace(
                view, need=None, outcome="success", at=at + self._chance.randrange(SECOND)
            )
            bodies.append(ended)
        for cluster in self._chance.sample(sorted(self._demand), self.needs_a_cycle):
            text = f"took a roll-up of cluster {cluster}: 46 rows, 46 before"
            facts = {"rows": "46", "baseline": "46"}
            bodies.append(JournalEvent("rollup_accepted", cluster, text, facts))
        return [Note(cycle.given.cycle, getattr(body, "at", at), body) for body in bodies]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def weigh(fleet: ChurningFleet) -> None:
    recorder = Recorder("shard-0", 1, "0.3.0")
    first = recorder.record(fleet.finished(fleet.next_input()))
    keyframe, plain = len(frame_of(first[1])), len(first[1])
    sizes, changes, seconds, notes = [], [], [], []
    noted: list[Note] = []
    for _ in range(MEASURED):
        cycle = fleet.finished(fleet.next_input())
        noted = fleet.notes(cycle)
        began = process_time()
        records = recorder.record(cycle)
        together = frame_of(recorder.notes(noted))
        frames = sum(len(frame_of(record)) for record in records)
        seconds.append(process_time() - began)
        sizes.append(frames + len(together))
        notes.append(len(together))
        changes.append(len(records[0]))
    each, change = median(sizes), median(changes)
    interval = min(KEYFRAME_CYCLES, max(1, int(plain / 2 / change)))
    day = CYCLES_A_DAY * each + CYCLES_A_DAY / interval * keyframe
    say(f"{fleet.machines_a_cycle} machines and {fleet.needs_a_cycle} Needs change a cycle")
    say(f"a cycle {each:,.0f} bytes (change {change:,.0f} plain), {median(seconds):.3f} s CPU")
    noted_bytes = median(notes)
    say(f"of that {len(noted)} notes {noted_bytes:,.0f} bytes, {noted_bytes / len(noted):.1f} each")
    say(f"a key frame {keyframe:,} bytes ({plain:,} plain), every {interval} cycles")
    say(f"a day {day / 2**30:.2f} GiB")


class NoticedDisk(RealDisk):
    """Says when something was written."""

    def __init__(self) -> None:
        self.written = Event()

    def write(self, file: BinaryIO, content: bytes) -> None:
        super().write(file, content)
        self.written.set()


def time_on_and_off(fleet: ChurningFleet, directory: Path) -> None:
    disk = NoticedDisk()
    file = JournalFile(directory, "shard-0", 1, "0.3.0", JournalLimits(), disk)
    writer = JournalWriter(file, time_ns, perf_counter)
    writer.start()
    taken: dict[str, list[float]] = {"off": [], "on": []}
    for block in range(2 * BLOCKS):
        is_on = block % 2 == 1
        for place in range(BLOCK):
            disk.written.clear()
            given = fleet.next_input()
            began = perf_counter()
            decision = given.decide()
            if is_on:
                writer.offer(FinishedCycle(given, decision))
            seconds = perf_counter() - began
            if is_on:
                disk.written.wait()
            if place:
                taken["on" if is_on else "off"].append(seconds)
    writer.close()
    on, off = (median(taken[name]) for name in ("on", "off"))
    say(f"p50 on {on * 1000:.0f} ms, off {off * 1000:.0f} ms: {100 * (on / off - 1):+.1f} %")


if __name__ == "__main__":
    compile_all()
    churning = ChurningFleet(sys.argv[1] if len(sys.argv) > 1 else "uber-50k")
    weigh(churning)
    with tempfile.TemporaryDirectory() as kept:
        time_on_and_off(churning, Path(kept))
