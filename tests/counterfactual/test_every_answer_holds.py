"""Laws of counterfactuals on generated fleets: sound, smallest, with exactly those who lose."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.decision import Decision
from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.fleetfile import dump_fleet, load_fleet
from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet, FleetNeed
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import engine_input_of
from bigfleet.whatif.applying import apply
from bigfleet.whatif.changes import ChangeKind
from bigfleet.whatif.counterfactual import Counterfactual, counterfactuals
from bigfleet.whatif.overlay_text import edit_of, text_of
from bigfleet.whatif.overlays_of_changes import overlay_of
from bigfleet.whatif.subjects import are_met, is_met, row_of, rows_of
from tests.generated.fleets import fleet_of_seed

SEEDS = st.integers(0, 2**40)


def at_once() -> float:
    return 0.0


def unmet(fleet: Fleet, most: int = 2) -> Iterator[tuple[EngineInput, NeedKey]]:
    given = engine_input_of(fleet)
    base = given.decide()
    for row in fleet.needs:
        if most and not is_met(base, row_of(base, row.need.key)):
            most -= 1
            yield given, row.need.key


def as_file(given: EngineInput) -> Fleet:
    return Fleet(
        tuple(machine_at(given.snapshot, row) for row in range(len(given.snapshot))),
        tuple(FleetNeed(each) for each in given.needs.demand),
        given.now,
        given.options,
        memory=given.memory,
    )


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_every_change_satisfies_the_need_on_the_dumped_fleet(seed: int) -> None:
    for each_given, key in unmet(fleet_of_seed(seed)):
        for each in counterfactuals(each_given, key, clock=at_once).found:
            dumped = dump_fleet(as_file(each.given), "fleet.json")
            decision = engine_input_of(load_fleet(dumped, "fleet.json")).decide()
            assert are_met(decision, rows_of(decision, each.after.keys)), each.text


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_the_command_that_tries_a_change_satisfies_the_need_too(seed: int) -> None:
    """Its overlay is read back from its text, as a shell would give it."""
    for each_given, key in unmet(fleet_of_seed(seed)):
        answer = counterfactuals(each_given, key, clock=at_once)
        for each in answer.found:
            said = overlay_of(answer.before, each.after, each.changes)
            texts = [text_of(edit).partition(" ") for edit in said.overlay]
            again = tuple(edit_of(operation, text) for operation, _, text in texts)
            if again and said.is_exact:
                decision = apply(each_given, again).decide()
                assert are_met(decision, rows_of(decision, each.after.keys)), each.text


def worse_off(base: Decision, changed: Decision) -> dict[NeedKey, Resources]:
    """From verdicts and actions: what Needs are short of more, once the victims have gone."""
    before, after = _shortages(base), _shortages(changed)
    lost = {
        key: short.less(before.get(key, Resources())).positive() for key, short in after.items()
    }
    return {key: short for key, short in lost.items() if short.amounts}


def _shortages(decision: Decision) -> dict[NeedKey, Resources]:
    victims = {a.machine for a in decision.actions if a.kind is ActionKind.PREEMPT}
    found: dict[NeedKey, Resources] = {}
    snapshot = decision.outcome.scene.snapshot
    for row, verdict in enumerate(decision.verdicts):
        short = Resources() if verdict.satisfied else verdict.deficit
        wanted = verdict.need.aggregate
        for machine in victims.intersection(verdict.claimed):
            offered = machine_at(snapshot, snapshot.row_of(machine)).machine
            gone = offered.allocatable or offered.resources
            short = short.plus(Resources.of({n: gone[n] for n in wanted if wanted[n] > 0}))
        key = decision.outcome.key(row)
        found[key] = found.get(key, Resources()).plus(short)
    return found


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_the_losers_are_exactly_the_needs_whose_verdict_is_worse(seed: int) -> None:
    for each_given, key in unmet(fleet_of_seed(seed)):
        base = each_given.decide()
        answer = counterfactuals(each_given, key, clock=at_once)
        own = {key, *(base.outcome.key(row) for row in rows_of(base, (key,)).tolist())}
        for each in (*answer.found, *answer.unhelpful):
            worse = worse_off(base, each.given.decide())
            told = {loser.need: loser.lost for loser in each.losers}
            expected = {k: v for k, v in worse.items() if k not in own | {*each.after.keys}}
            assert told == expected, each.text


def one_less(fleet: Fleet, key: NeedKey, each: Counterfactual) -> tuple[Fleet, NeedKey] | None:
    """The fleet with the next smaller change; None: there is none."""
    place, row = next((p, row) for p, row in enumerate(fleet.needs) if row.need.key == key)
    wanted = row.need
    match each.kind:
        case ChangeKind.MACHINES if each.amount > 1:
            file = as_file(each.given)
            last = f"~new-{each.amount - 1:04d}"
            left = tuple(m for m in file.machines if m.machine.id != last)
            return replace(file, machines=left), key
        case ChangeKind.SMALLER if each.amount > 1:
            less = wanted.min_unit.times(each.amount - 1)
            wanted = replace(wanted, aggregate=wanted.aggregate.less(less))
        case ChangeKind.PRIORITY if each.amount - 1 > wanted.profile.priority:
            profile = replace(wanted.profile, priority=each.amount - 1)
            wanted = replace(wanted, profile=profile)
        case _:
            return None
    needs = list(fleet.needs)
    needs[place] = replace(row, need=wanted)
    is_unique = sum(row.need.key == wanted.key for row in needs) == 1
    return (replace(fleet, needs=tuple(needs)), wanted.key) if is_unique else None


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_the_next_smaller_change_does_not_help(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    for each_given, key in unmet(fleet):
        for each in counterfactuals(each_given, key, clock=at_once).found:
            if (smaller := one_less(fleet, key, each)) is not None:
                edited, wanted = smaller
                decision = engine_input_of(edited).decide()
                assert not is_met(decision, row_of(decision, wanted)), each.text


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_of_a_pair_neither_change_is_enough(seed: int) -> None:
    for each_given, key in unmet(fleet_of_seed(seed), 1):
        answer = counterfactuals(each_given, key, clock=at_once, depth=2, most_runs=60)
        for each in answer.found:
            if len(each.changes) == 2:
                for change in each.changes:
                    alone = change.apply(answer.before)
                    decision = alone.given.decide()
                    assert not are_met(decision, rows_of(decision, alone.keys)), each.text


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_no_change_touches_another_need(seed: int) -> None:
    """So none lowers the priority of another team."""
    for each_given, key in unmet(fleet_of_seed(seed), 1):
        others = {need.key: need for need in each_given.needs.demand if need.key != key}
        answer = counterfactuals(each_given, key, clock=at_once)
        for each in (*answer.found, *answer.unhelpful):
            after = {need.key: need for need in each.given.needs.demand if need.key != each.need}
            others_left = {k: v for k, v in others.items() if k != each.need}
            assert {k: v for k, v in after.items() if k != key} == others_left


class RunningClock:
    """Time that passes only while the engine decides: each run takes another time."""

    def __init__(self, seed: int, shortest: float, longest: float) -> None:
        self._chance = Random(seed)
        self._between = (shortest, longest)
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def decides(self) -> Callable[[EngineInput], Decision]:
        decide = EngineInput.decide

        def decided(given: EngineInput) -> Decision:
            self.now += self._chance.uniform(*self._between)
            return decide(given)

        return decided


@pytest.mark.parametrize("seed", range(12))
def test_the_time_box_is_kept_to_a_tenth(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one run takes a tenth of the budget at most."""
    clock = RunningClock(seed, 0.04, 0.1)
    monkeypatch.setattr(EngineInput, "decide", clock.decides())
    fleets = (fleet_of_seed(n) for n in range(1000 * seed, 1000 * seed + 200))
    asked = [each for fleet in fleets for each in unmet(fleet, 1)][:10]
    assert asked
    for each_given, key in asked:
        began = clock.now
        answer = counterfactuals(each_given, key, clock=clock, budget_seconds=1.0, depth=2)
        assert clock.now - began <= 1.1
        if not answer.exhaustive:
            assert clock.now - began >= 0.7, "the time is used"
