"""The closed diff: two engines on the recorded demand, each with the machines it has made."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.answers import Answer
from bigfleet.journal.closed_diffs import ClosedEngine, compare_closed
from bigfleet.journal.comparison import DiffVerdict
from bigfleet.journal.history import RecordedCycle
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.measured_latencies import measured_latencies
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.fleet import Marks
from bigfleet.model.latencies import Latencies, latencies_of
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import NumberEdit, SetAttributes
from bigfleet.plan.cycle import engine_input_of
from bigfleet.whatif.applying import apply
from bigfleet.whatif.settling import settling_cycles
from tests.generated.fleets import fleet_of_seed
from tests.journal.lives import START, LivingFleet
from tests.journal.stored_journal import STORED
from tests.journal.test_recorded_cycles_replay import SEEDS, read, recorded
from tests.journal.test_the_diff_of_two_engines import LIMITS, NEED, diff, machine

QUICK = latencies_of({"create": "4s", "configure": "3s", "drain": "2s", "delete": "2s"})


def recorded_life(seed: int, cycles: int) -> list[RecordedCycle]:
    return read(recorded(list(LivingFleet(seed).cycles(cycles))))


def standing_still(first: EngineInput, cycles: int) -> Iterator[RecordedCycle]:
    """A record in which nothing ever happens."""
    for place in range(cycles):
        now = first.at + place * SECOND
        given_input = replace(first, cycle=first.cycle + place, now=now)
        yield RecordedCycle(given_input, None, keyframe=False, epoch=1)


class Recording:
    """Cycles of a small shard, a step of seconds apart."""

    def __init__(self, machines: list[Machine]) -> None:
        self.inventory, self.needs = Inventory(), NeedsTable()
        for each in machines:
            self.inventory.insert(each, Marks(idle_since=START))

    def cycles(self, seconds: list[int], demand: dict[int, list[Need]]) -> list[RecordedCycle]:
        """`demand` from a time on."""
        found = []
        for place, at in enumerate(seconds, 1):
            if at in demand:
                self.needs.replace("shop", demand[at])
            given_input = EngineInput(
                place,
                START + at * SECOND,
                self.inventory.snapshot(),
                self.needs.freeze(),
                EngineMemory(),
                EngineOptions(),
            )
            found.append(RecordedCycle(given_input, None, keyframe=place == 1, epoch=3))
        return found


# -- laws ------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(seed=SEEDS)
def test_the_engine_against_itself_is_identical(seed: int) -> None:
    cycles = recorded_life(seed, 12)
    found = compare_closed(cycles, ClosedEngine({}, QUICK), ClosedEngine({}, QUICK).answer)
    assert found.verdict(LIMITS) is DiffVerdict.IDENTICAL
    assert found.cycles == 12


@settings(max_examples=20)
@given(seed=SEEDS)
def test_where_nothing_is_recorded_an_engine_settles_as_in_a_what_if(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    first = engine_input_of(replace(fleet, now=fleet.now or START))
    engine = ClosedEngine({}, QUICK)
    expected = islice(settling_cycles(first, QUICK, every_cycle=True), 12)
    for cycle, settling in zip(standing_still(first, 12), expected, strict=False):
        decided = engine.decide(cycle).decision
        assert decided.actions == settling.decision.actions
        assert decided.memory == settling.decision.memory


@settings(max_examples=20)
@given(seed=SEEDS)
def test_machines_come_go_and_cost_as_recorded(seed: int) -> None:
    life, engine = LivingFleet(seed), ClosedEngine({}, QUICK)
    finished: list[FinishedCycle] = []
    for cycle in life.cycles(12):
        if cycle.given.cycle % 3 == 0:
            life.run_out()
        finished.append(cycle)
    for each in read(recorded(finished)):
        edit = SetAttributes(MachineSelector(), price=NumberEdit(1.0 + each.given.cycle % 2))
        each = replace(each, given=apply(each.given, (edit,)))
        there, here = each.given.snapshot, engine.decide(each).given.snapshot
        assert here.ids == there.ids
        assert [here.tables.offerings.table.rows[n] for n in here.columns.offering.tolist()] == [
            there.tables.offerings.table.rows[n] for n in there.columns.offering.tolist()
        ]


# -- worked cases ----------------------------------------------------------------------------------


class DearestFirst(ClosedEngine):
    """Takes Idle machines in the reverse order."""

    def decided(self, given: EngineInput) -> Decision:
        edits = tuple(
            SetAttributes(
                MachineSelector(ids=frozenset({f"m-{n}"})), price=NumberEdit(value=10.0 - n)
            )
            for n in (1, 2, 3)
        )
        return apply(given, edits).decide()


def billed(answer: Answer) -> Answer:
    """The other engine's own prices are not those of the bill."""
    sign = {"Provision": 1.0, "Delete": -1.0}
    actions = tuple(
        replace(each, dollars_per_hour=sign.get(each.kind, 0.0) * float(each.machine[-1]))
        for each in answer.actions or ()
    )
    return replace(answer, actions=actions)


def test_idle_machines_in_reverse_order_end_in_another_bill() -> None:
    """It takes m-3 where this engine takes m-1; ten minutes later others are given back."""
    machines = [machine(f"m-{n}", MachineState.IDLE, float(n)) for n in (1, 2, 3)]
    cycles = Recording(machines).cycles([0, 1, 2, 601], {1: [NEED]})
    candidate = DearestFirst({}, Latencies())
    found = compare_closed(
        cycles,
        ClosedEngine({}, Latencies()),
        lambda cycle, other: billed(candidate.answer(cycle, other)),
    )
    assert (found.cycles, found.changed, found.first_changed) == (4, 2, "3:2")
    assert found.added == {("Bootstrap", "shop"): 1, ("Delete", ""): 1}
    assert found.removed == {("Bootstrap", "shop"): 1, ("Delete", ""): 1}
    assert found.dollars_per_hour == 2.0
    deletes = {c.subject: c for c in found.changes if c.subject.startswith("machine/")}
    assert set(deletes) == {"machine/m-1", "machine/m-3"}
    assert [each.kind for each in deletes["machine/m-3"].removed] == ["Delete"]
    assert [each.kind for each in deletes["machine/m-1"].added] == ["Delete"]
    assert found.verdict(LIMITS) is DiffVerdict.BEYOND


def test_a_difference_has_consequences() -> None:
    """With a longer hold the machine is still there when demand comes, and none is bought."""
    recording = Recording([machine("m-1", MachineState.IDLE, 2.5)])
    cycles = recording.cycles([0, 700, 720, 721], {720: [NEED]})
    candidate = ClosedEngine({"releaseHold.OnDemand": "900"}, Latencies())
    found = compare_closed(cycles, ClosedEngine({}, Latencies()), candidate.answer)
    assert found.removed == {("Delete", ""): 1, ("Provision", "shop"): 1}
    assert found.added == {("Bootstrap", "shop"): 1}
    assert (found.first_changed, found.changed) == ("3:2", 2)
    assert found.dollars_per_hour == 0.0


def test_a_machine_that_fails_in_the_record_fails_here() -> None:
    recording = Recording([machine(f"m-{n}", MachineState.IDLE, float(n)) for n in (1, 2)])
    first = recording.cycles([0, 1], {0: [NEED]})
    taken = recording.inventory.machine_of("m-1")
    broken = replace(taken, state=MachineState.FAILED, last_error="its disk is gone")
    recording.inventory.apply(broken, adopted=True)
    engine = ClosedEngine({}, latencies_of({"configure": "1s"}))
    decided = [engine.decide(each) for each in (*first, *recording.cycles([5], {}))]
    assert [[a.machine for a in each.decision.actions] for each in decided] == [
        ["m-1"],
        [],
        ["m-2"],
    ]


def test_latencies_are_the_medians_a_journal_shows() -> None:
    machines = [machine(f"m-{n}", MachineState.SPECULATIVE, 1.0) for n in (1, 2, 3)]
    recording = Recording(machines)
    cycles = recording.cycles([0], {})
    for at, name, state in (
        (10, "m-1", MachineState.CREATING),
        (10, "m-2", MachineState.CREATING),
        (12, "m-3", MachineState.CREATING),
        (20, "m-1", MachineState.IDLE),
        (41, "m-3", MachineState.IDLE),
        (70, "m-2", MachineState.IDLE),
        (80, "m-2", MachineState.DELETING),
    ):
        now = replace(machine(name, MachineState.IDLE, 1.0), state=state)
        hosted = now.host if state is not MachineState.CREATING else machines[0].host
        recording.inventory.apply(replace(now, host=hosted), adopted=True)
        cycles += recording.cycles([at], {})
    measured = measured_latencies(cycles)
    assert measured.given == {"create.OnDemand": 29.0}
    assert "create" in measured.assumed, "of other capacity types"
    assert "delete" in measured.assumed, "none has ended"


# -- the verb --------------------------------------------------------------------------------------


def test_the_verb_says_identical_and_how_long_steps_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in LivingFleet(11).cycles(20):
        file.record(cycle, START)
    file.close()
    code, text = diff(str(tmp_path), "--diff", "--mode", "closed", "--from", "5")
    assert code == 0, text
    lines = text.splitlines()
    assert lines[0] == "Each engine lives with what it decides; demand is the recorded one."
    assert lines[-1] == "IDENTICAL: 0 of 16 cycles changed"
    assert any(line.startswith("Measured in the journal: ") for line in lines)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    other = ("--engine", sys.executable, "--from", "5")
    assert diff(str(tmp_path), "--diff", "--mode", "closed", *other) == (0, text)


def test_the_verb_tells_a_change_with_the_fields_of_the_open_mode() -> None:
    arguments = (str(STORED), "--diff", "--set", "fold=false", "--fail-on", "changed>100000")
    _, opened = diff(*arguments, "-ojson")
    code, text = diff(*arguments, "--mode", "closed", "-ojson")
    assert code == 0, text
    document = orjson.loads(text)
    assert document["mode"] == "closed"
    assert document["measuredLatencies"]
    assert document["latencySamples"].keys() == document["measuredLatencies"].keys()
    added = {"mode", "measuredLatencies", "latencySamples", "assumedLatencies"}
    assert document.keys() - added == orjson.loads(opened).keys()


def test_a_mode_without_a_diff_is_refused() -> None:
    code, text = diff(str(STORED), "--mode", "closed")
    assert code == 2
    assert "add --diff" in text
