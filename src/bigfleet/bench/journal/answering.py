"""How soon a cycle answers: why, why not and what if, for the latest one and for a recorded one.

Every question is asked as if it were the first about its cycle: nothing is remembered from the one
before it. The way over a connection is not included.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter, process_time

import numpy as np

from bigfleet.bench.engine.catalog import ZONES, amounts
from bigfleet.bench.engine.workload import EngineWorkload, arrival_of, tier_of
from bigfleet.bench.journal.churning_fleet import SEED, ChurningFleet
from bigfleet.bench.journal.recording import EPOCH, SHARD, VERSION
from bigfleet.bench.measures import Measure, Say, percentile
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_trace import explain_need
from bigfleet.explain.why_not import why_not_assigned
from bigfleet.journal.history import cycle_at
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.journal.segments import segments_of
from bigfleet.model.batches import Offering
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.whatif.comparing import once
from bigfleet.whatif.overlay_text import edit_of

#: What-ifs and questions about the past run the engine: as many as a person would wait for.
FEW = 5
#: Of the Need that may take any free machine.
WIDE = "wide"
#: Other Needs claim some of them: 200,000 are left.
WIDE_CANDIDATES = 212_000


def with_a_wide_need(workload: EngineWorkload, candidates: int) -> EngineWorkload:
    """One Need more, which comes first and asks for nothing but a little CPU, and as many slots
    more as it takes until it has so many candidates."""
    acquirable = (MachineState.IDLE, MachineState.SPECULATIVE)
    states = [batch.state_of_machine for batch in workload.batches]
    missing = candidates - sum(int(np.isin(state, acquirable).sum()) for state in states)
    unit, free = amounts("100m"), bucket_of_dollars(0)
    offering = Offering(
        CapacityType.ON_DEMAND, "m6i.large", ZONES[0], (), amounts("2"), price_per_hour=9.0
    )
    slots = tier_of(
        [f"slot-{i}" for i in range(max(0, missing))], MachineState.SPECULATIVE, [offering]
    )
    need = Need(WIDE, Profile.of([], (), 2**31 - 1, free, free), amounts("4"), unit, arrival_of(0))
    return replace(
        workload, batches=(*workload.batches, slots), needs={**workload.needs, WIDE: [need]}
    )


def wide_answered(
    fleet: ChurningFleet, directory: Path, cycles: int, questions: int, say: Say
) -> list[Measure]:
    """The same questions about a Need with very many candidates."""
    given, decision = _recorded(fleet, directory, cycles, say)
    latest, past = [], []
    for number in range(questions):
        say(f"question {number + 1} of {questions} about a Need of many candidates asked")
        latest.append(_times(partial(_explain_wide, given, decision)))
    for number in range(FEW):
        say(f"question {number + 1} of {FEW} about it in the past asked")
        past.append(_times(partial(_explain_wide_past, directory, given.cycle)))
    many = f"why a Need with {_explain_wide(given, decision):,} candidates"
    found = []
    for name, times, unit, budget in (
        (f"{many}, latest cycle", latest, "ms", 300),
        (f"{many}, {cycles} cycles after a key frame", past, "s", 3),
    ):
        scale = 1e3 if unit == "ms" else 1.0
        clock, cpu = (scale * percentile(each, 0.95) for each in zip(*times, strict=True))
        found.append(Measure(f"{name}, p95", clock, unit, budget))
        found.append(Measure(f"{name}, CPU p95", cpu, unit, budget))
    return found


def _explain_wide(given: EngineInput, decision: Decision) -> int:
    cycle = DecidedCycle(given, decision, f"{EPOCH}:{given.cycle}")
    return explain_need(cycle, cycle.need_row(WIDE, "")).total_candidates


def _explain_wide_past(directory: Path, number: int) -> None:
    given = _read(directory, number)
    _explain_wide(given, given.decide())


def answered(fleet: ChurningFleet, questions: int, say: Say) -> list[Measure]:
    """Questions about the latest cycle, half of the Needs asked about short where some are."""
    given = fleet.next_input()
    decision = given.decide()
    chance = Random(SEED)
    rows = _rows(decision, questions, chance)
    why, why_not = [], []
    for number, row in enumerate(rows):
        say(f"question {number + 1} of {len(rows)} asked")
        why.append(_seconds(partial(_explain, given, decision, row)))
        machine = chance.randrange(len(given.snapshot))
        why_not.append(_seconds(partial(_why_not, given, decision, machine, row)))
    return [
        Measure("why a Need, latest cycle, p50", 1e3 * percentile(why, 0.5), "ms"),
        Measure("why a Need, latest cycle, p95", 1e3 * percentile(why, 0.95), "ms", 300),
        Measure("why not this machine, latest cycle, p95", 1e3 * percentile(why_not, 0.95), "ms"),
    ]


def zone_lost(fleet: ChurningFleet, say: Say) -> list[Measure]:
    given = fleet.next_input()
    zone = sorted({row.zone for row in given.snapshot.tables.offerings.table.rows})[0]
    overlay = (edit_of("zone-loss", zone),)
    seconds = []
    for number in range(FEW):
        say(f"zone {zone} lost, {number + 1} of {FEW}")
        seconds.append(_seconds(partial(once, given, overlay, str(given.cycle))))
    return [Measure("what if a zone is lost, p95", percentile(seconds, 0.95), "s", 1)]


def answered_from_the_past(
    fleet: ChurningFleet, directory: Path, cycles: int, say: Say
) -> list[Measure]:
    """Questions about the last of so many cycles after a key frame: it is read through them."""
    given, decision = _recorded(fleet, directory, cycles, say)
    chance = Random(SEED)
    seconds = []
    for number, row in enumerate(_rows(decision, FEW, chance)):
        say(f"question {number + 1} of {FEW} about a past cycle asked")
        seconds.append(_seconds(partial(_explain_past, directory, given.cycle, row)))
    name = f"why a Need, {cycles} cycles after a key frame, p95"
    return [Measure(name, percentile(seconds, 0.95), "s", 3)]


def _recorded(
    fleet: ChurningFleet, directory: Path, cycles: int, say: Say
) -> tuple[EngineInput, Decision]:
    """The last of so many cycles after a key frame, all of them in a journal."""
    file = JournalFile(directory, SHARD, EPOCH, VERSION, JournalLimits())
    file.prepare()
    given = fleet.next_input()
    decision = given.decide()
    file.record(FinishedCycle(given, decision), given.at)
    for number in range(cycles):
        say(f"cycle {number + 1} of {cycles} recorded")
        fleet.change()
        given = fleet.next_input()
        decision = given.decide()
        file.record(FinishedCycle(given, decision), given.at)
    file.close()
    return given, decision


def _read(directory: Path, number: int) -> EngineInput:
    found = cycle_at(segments_of(directory), (EPOCH, number))
    assert found is not None
    return found.recorded.given


def _explain_past(directory: Path, cycle: int, row: int) -> None:
    given = _read(directory, cycle)
    _explain(given, given.decide(), row)


def _explain(given: EngineInput, decision: Decision, row: int) -> None:
    cycle = DecidedCycle(given, decision, f"{EPOCH}:{given.cycle}")
    key = decision.outcome.key(row)
    explain_need(cycle, cycle.need_row(key.cluster, key.need_id))


def _why_not(given: EngineInput, decision: Decision, machine: int, row: int) -> None:
    why_not_assigned(DecidedCycle(given, decision), machine, row)


def _rows(decision: Decision, count: int, chance: Random) -> list[int]:
    short = decision.outcome.queue.tolist()
    rows = chance.sample(short, min(len(short), count // 2))
    return rows + [chance.randrange(len(decision.outcome)) for _ in range(count - len(rows))]


def _seconds(ask: Callable[[], object]) -> float:
    return _times(ask)[0]


def _times(ask: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of this process's CPU."""
    began, worked = perf_counter(), process_time()
    ask()
    return perf_counter() - began, process_time() - worked
