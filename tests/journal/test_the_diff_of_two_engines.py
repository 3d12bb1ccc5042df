"""What another engine or other options would have decided, told in numbers and sentences."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from bigfleet.cli.main import cli
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.explain.need_facts import need_name
from bigfleet.journal.answers import Answer, answer_of, answer_of_line, line_of
from bigfleet.journal.comparison import DEFAULT_LIMITS, DiffVerdict, limits_of
from bigfleet.journal.diffs import Candidate, compare, this_engine
from bigfleet.journal.history import RecordedCycle
from bigfleet.journal.journal_file import JournalFile, JournalLimits, RealDisk
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.fleet import Marks
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from tests.journal.lives import START, LivingFleet
from tests.journal.test_recorded_cycles_replay import CYCLES, SEEDS, read, recorded
from tests.journal.test_the_files_of_a_journal import written
from tests.questions.recorded_night import NIGHT

LIMITS = limits_of(DEFAULT_LIMITS)
CPU = Resources.of({"cpu": 8000})
NEED = Need("shop", Profile.of(priority=100), CPU, CPU)


def machine(name: str, state: MachineState, price: float) -> Machine:
    host = Host("sim", name) if state is MachineState.IDLE else Host()
    kind = CapacityType.ON_DEMAND
    return Machine(name, state, kind, host, resources=CPU, price_per_hour=price)


def input_of(cycle: int, machines: list[Machine], needs: list[Need]) -> EngineInput:
    inventory, table = Inventory(), NeedsTable()
    now = START + cycle * SECOND
    for each in machines:
        inventory.insert(each, Marks(idle_since=now))
    table.replace("shop", needs)
    return EngineInput(
        cycle, now, inventory.snapshot(), table.freeze(), EngineMemory(), EngineOptions()
    )


def recorded_inputs(inputs: list[EngineInput]) -> list[RecordedCycle]:
    return read(recorded([FinishedCycle(each, each.decide()) for each in inputs]))


def dearest_first(machines: list[Machine], needs: list[Need]) -> Candidate:
    """An engine that prefers what this one takes last."""

    def answer(cycle: RecordedCycle) -> Answer:
        mirrored = [replace(each, price_per_hour=10 - each.price_per_hour) for each in machines]
        wanted = needs if cycle.given.cycle > 1 else []
        chosen = input_of(cycle.given.cycle, mirrored, wanted).decide()
        other = answer_of(cycle.epoch, cycle.given, chosen)
        prices = {each.id: each.price_per_hour for each in machines}
        assert other.actions is not None
        billed = tuple(
            replace(each, dollars_per_hour=prices[each.machine] if each.kind == "Provision" else 0)
            for each in other.actions
        )
        return replace(other, actions=billed)

    return answer


def test_an_engine_with_the_order_reversed_is_told_with_cycle_machines_and_cost() -> None:
    machines = [machine(f"m-{n}", MachineState.SPECULATIVE, float(n)) for n in (1, 2, 3)]
    cycles = recorded_inputs([input_of(1, machines, []), input_of(2, machines, [NEED])])
    found = compare(cycles, dearest_first(machines, [NEED]))
    assert (found.cycles, found.changed, found.first_changed) == (2, 1, "3:2")
    assert found.dollars_per_hour == 2.0
    assert found.added == found.removed == {("Provision", "shop"): 1}
    (change,) = found.changes
    assert change.subject == need_name(NEED.key)
    assert [each.machine for each in change.removed] == ["m-1"]
    assert [each.machine for each in change.added] == ["m-3"]
    assert all(each.sentence for each in (*change.removed, *change.added))
    assert found.verdict(LIMITS) is DiffVerdict.BEYOND
    assert found.beyond(LIMITS) == ["cost>1%: 200.0%"]
    assert found.verdict(limits_of("cost>2,preempts>0")) is DiffVerdict.WITHIN


def test_idle_machines_in_reverse_order_change_machines_and_no_cost() -> None:
    machines = [machine(f"m-{n}", MachineState.IDLE, float(n)) for n in (1, 2, 3)]
    cycles = recorded_inputs([input_of(1, machines, []), input_of(2, machines, [NEED])])
    found = compare(cycles, dearest_first(machines, [NEED]))
    assert found.first_changed == "3:2"
    assert [each.machine for each in found.changes[0].removed] == ["m-1"]
    assert [each.machine for each in found.changes[0].added] == ["m-3"]
    assert found.dollars_per_hour == 0.0
    assert found.verdict(LIMITS) is DiffVerdict.WITHIN


@settings(max_examples=30)
@given(seed=SEEDS)
def test_the_engine_against_its_own_journal_is_identical(seed: int) -> None:
    cycles = read(recorded(list(LivingFleet(seed).cycles(CYCLES))))
    found = compare(cycles, this_engine({}))
    assert found.verdict(LIMITS) is DiffVerdict.IDENTICAL
    assert found.cycles == CYCLES
    assert found.changes == []


def test_a_longer_hold_is_a_delete_less() -> None:
    machines = [machine("m-1", MachineState.IDLE, 2.5)]
    later = input_of(1, machines, [])
    later = replace(later, cycle=2, now=START + 700 * SECOND)
    cycles = recorded_inputs([later])
    found = compare(cycles, this_engine({"releaseHold.OnDemand": "900"}))
    assert found.removed == {("Delete", ""): 1}
    assert found.dollars_per_hour == 2.5
    assert found.verdict(LIMITS) is DiffVerdict.BEYOND


@settings(max_examples=10)
@given(seed=SEEDS)
def test_an_answer_is_the_same_after_a_pipe(seed: int) -> None:
    for cycle in LivingFleet(seed).cycles(3):
        answer = answer_of(3, cycle.given, cycle.decision)
        assert answer_of_line(line_of(answer)) == answer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("preempts", "is not a limit"),
        ("luck>1", "is not a limit"),
        ("preempts>1%", "only cost is compared in percent"),
    ],
)
def test_a_limit_that_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        limits_of(text)


def diff(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["replay", *arguments])
    return done.exit_code, done.output


def test_the_verb_says_identical_also_of_an_engine_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, 20, JournalLimits(segment_bytes=2000), RealDisk())
    expected = (0, "IDENTICAL: 0 of 20 cycles changed\n")
    assert diff(str(tmp_path), "--diff") == expected
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert diff(str(tmp_path), "--diff", "--engine", sys.executable) == expected
    code, text = diff(str(tmp_path), "--diff", "--engine", sys.executable, "--from", "18")
    assert (code, text) == (0, "IDENTICAL: 0 of 3 cycles changed\n")


def test_the_verb_tells_a_change_as_text_and_as_a_document(tmp_path: Path) -> None:
    file = JournalFile(tmp_path, "shard-0", 3, "0.3.0", JournalLimits())
    file.prepare()
    late = replace(
        input_of(1, [machine("m-1", MachineState.IDLE, 2.5)], []), now=START + 700 * SECOND
    )
    file.record(FinishedCycle(late, late.decide()), START)
    file.close()
    arguments = (str(tmp_path), "--diff", "--set", "releaseHold.OnDemand=900")
    code, text = diff(*arguments)
    assert code == 1
    assert text.startswith("BEYOND: 1 of 1 cycles changed\n")
    assert "removed 1 Delete" in text
    assert "planned: +$2.50/h" in text
    code, text = diff(*arguments, "--fail-on", "preempts>0", "-o", "json")
    assert code == 0
    document = orjson.loads(text)
    assert document["verdict"] == "WITHIN"
    assert document["largestChanges"][0]["then"][0]["machine"] == "m-1"
    assert document["largestChanges"][0]["then"][0]["sentence"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--diff", "--set", "speed=9"), "'speed' is not an option of the engine"),
        (("--diff", "--set", "fold"), "write NAME=VALUE"),
        (("--diff", "--set", "parking.after=soon"), "could not convert"),
        (("--diff", "--fail-on", "luck>1"), "is not a limit"),
        (("--diff", "--engine", "/no/such/python"), "cannot be run"),
        (("--diff", "--engine", "false"), "ended before cycle 3:1"),
        (("--set", "fold=false"), "add --diff"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(
    arguments: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    written(tmp_path, 2, JournalLimits(), RealDisk())
    code, text = diff(str(tmp_path), *arguments)
    assert code == 2
    assert why in text


def test_a_change_that_lasts_is_told_once_with_the_reasons_of_both_sides() -> None:
    told = CliRunner().invoke(
        cli, ["replay", str(NIGHT), "--diff", "--set", "releaseHold.OnDemand=60", "-o", "json"]
    )
    document = orjson.loads(told.stdout)
    assert document["changed"] > 50
    (change,) = document["largestChanges"]
    assert (change["cycle"], change["subject"]) == ("1:209", "machine/arm-a-1")
    told = CliRunner().invoke(
        cli, ["replay", str(NIGHT), "--diff", "--set", "victimWeight.priority=0", "-o", "json"]
    )
    (change,) = orjson.loads(told.stdout)["largestChanges"]
    assert all(each["sentence"] for each in (*change["then"], *change["now"]))
