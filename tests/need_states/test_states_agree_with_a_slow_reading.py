"""On generated fleets the columns say what a slow reading of the verdicts says, Need by Need."""

from collections import defaultdict

from hypothesis import Phase, given, settings

from bigfleet.engine.decision import Decision, Verdict
from bigfleet.engine.need_progress import progress_of
from bigfleet.explain.need_states import Holds, judged
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.ledgers.needs import NeedsLedger
from tests.generated.fleets import fleets
from tests.oracle.matching import serves

FREE = (MachineState.IDLE, MachineState.SPECULATIVE)


def slow_state(fleet: Fleet, decision: Decision, verdict: Verdict) -> NeedState:
    by_id = {each.machine.id: each for each in fleet.machines}
    if not verdict.unresolved.is_zero():
        held = _lifted_holds_cover(fleet, decision, verdict)
        return NeedState.BLOCKED if held else NeedState.SHORT
    there = (by_id[name].machine.state is MachineState.CONFIGURED for name in verdict.claimed)
    return NeedState.MET if verdict.satisfied and all(there) else NeedState.ARRIVING


def _lifted_holds_cover(fleet: Fleet, decision: Decision, verdict: Verdict) -> bool:
    need = verdict.need
    free = [m for m in fleet.machines if m.machine.state in FREE and serves(need, m)]
    held = [m for m in free if m.marks.held is not None]
    if not held or not _total(held).covers(verdict.unresolved):
        return False
    if need.profile.same is None:
        return True
    taken = {name for each in decision.verdicts for name in each.claimed}
    own = [m for m in fleet.machines if m.machine.id in verdict.claimed and serves(need, m)]
    obtainable = [m for m in free if m.machine.id not in taken]
    return any(_total(each).covers(need.aggregate) for each in _domains(need, obtainable + own))


def _domains(need: Need, machines: list[FleetMachine]) -> list[list[FleetMachine]]:
    assert need.profile.same is not None
    found: dict[str, list[FleetMachine]] = defaultdict(list)
    for each in machines:
        if domain := each.machine.attribute(need.profile.same.key):
            found[domain].append(each)
    return list(found.values())


def _total(machines: list[FleetMachine]) -> Resources:
    total = Resources()
    for each in machines:
        total = total.plus(each.machine.effective_allocatable)
    return total


@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate), max_examples=200, deadline=None)
@given(fleets())
def test_every_need_is_in_the_state_a_slow_reading_gives_it(fleet: Fleet) -> None:
    decision = cycle_input(fleet).decide()
    states = judged(decision, progress_of(decision), Holds(at=7), None)
    found = [NeedState(int(state)) for state in states.state]
    assert found == [slow_state(fleet, decision, verdict) for verdict in decision.verdicts]


@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate), max_examples=100, deadline=None)
@given(fleets())
def test_every_need_has_a_sentence_and_what_is_held_back_has_a_remedy(fleet: Fleet) -> None:
    decision = cycle_input(fleet).decide()
    first = judged(decision, progress_of(decision), Holds(at=7), None)
    again = judged(decision, progress_of(decision), Holds(at=9), first)
    ledger = NeedsLedger(decision, 3, 9, again)
    for row in ledger.listing().rows:
        assert row.reason.text not in ("", row.reason.code), "made from facts"
        assert bool(row.remedy) is (row.state in (NeedState.BLOCKED, NeedState.SHORT))
        assert row.since == 7, "nothing changed between the two cycles"
