"""What was recorded decides the same again: every cycle, whatever happened in between."""

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.digests import action_line, output_digest
from bigfleet.journal.history import BrokenJournal, History, RecordedCycle
from bigfleet.journal.recorder import FinishedCycle, Recorder
from bigfleet.journal.replay import replayed
from bigfleet.model.journal import InputChange
from bigfleet.wire.journal_records import record_of
from tests.journal.lives import LivingFleet

SEEDS = st.integers(0, 2**40)
CYCLES = 25


def recorded(cycles: list[FinishedCycle]) -> list[bytes]:
    recorder = Recorder("shard-0", 3, "0.3.0")
    records = [record for cycle in cycles for record in recorder.record(cycle)]
    return [*records, *recorder.flush()]


def read(records: list[bytes]) -> list[RecordedCycle]:
    return list(History().cycles(map(record_of, records)))


@settings(max_examples=60)
@given(seed=SEEDS)
def test_every_cycle_of_a_living_fleet_replays_identically(seed: int) -> None:
    cycles = list(LivingFleet(seed).cycles(CYCLES))
    history = read(recorded(cycles))
    assert [each.given.cycle for each in history] == [each.given.cycle for each in cycles]
    different = [r.recorded.given.cycle for r in replayed(history) if not r.identical]
    assert different == []


@settings(max_examples=60)
@given(seed=SEEDS)
def test_the_digest_of_the_actions_is_that_of_their_lines(seed: int) -> None:
    for cycle in LivingFleet(seed).cycles(2):
        lines = [action_line(cycle.decision, action) for action in cycle.decision.actions]
        assert output_digest(cycle.decision) == hashlib.sha256(b"".join(lines)).digest()


@settings(max_examples=20)
@given(seed=SEEDS, lost=st.sets(st.integers(2, CYCLES)))
def test_cycles_that_are_lost_cost_nothing_else(seed: int, lost: set[int]) -> None:
    kept = [each for each in LivingFleet(seed).cycles(CYCLES) if each.given.cycle not in lost]
    history = read(recorded(kept))
    assert [each.given.cycle for each in history] == [each.given.cycle for each in kept]
    assert all(each.identical for each in replayed(history))


def test_another_decision_than_the_recorded_one_is_told() -> None:
    cycle = next(each for each in LivingFleet(7).cycles(CYCLES) if each.decision.action_count)
    nothing_wanted = replace(cycle.given, needs=NeedsTable().freeze())
    (only,) = replayed(read(recorded([replace(cycle, decision=nothing_wanted.decide())])))
    assert not only.same_actions
    assert not only.same_claims


def test_a_changed_input_does_not_pass_for_the_recorded_one() -> None:
    records = recorded(list(LivingFleet(7).cycles(CYCLES)))
    parsed = [record_of(record) for record in records]
    place, other = next(
        (place, record)
        for place, record in enumerate(parsed)
        if isinstance(record.body, InputChange) and record.body.machines
    )
    assert isinstance(other.body, InputChange)
    parsed[place] = replace(other, body=replace(other.body, machines=other.body.machines[1:]))
    with pytest.raises(
        BrokenJournal, match=rf"cycle {other.cycle}, record \d+: its digest differs"
    ):
        list(History().cycles(parsed))
