"""Machines that an overlay takes away, and those that both decisions treat differently."""

from bigfleet.engine.engine_input import EngineInput
from bigfleet.fleetfile import load_fleet
from bigfleet.model.latencies import Latencies
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import Fate, NeedSelector, RemoveMachines, ScaleDemand
from bigfleet.plan.cycle import engine_input_of
from bigfleet.whatif.applying import apply
from bigfleet.whatif.comparing import DecidedSide
from bigfleet.whatif.fates import fates_of
from bigfleet.whatif.questions import Questions
from tests.journal.lives import LivingFleet
from tests.whatif.test_whatif_answers import FLEET

LOSS = RemoveMachines(MachineSelector(zones=frozenset({"a"})))


def given_now() -> EngineInput:
    *_, cycle = LivingFleet(7).cycles(4)
    return cycle.given


def fates(given: EngineInput, latencies: Latencies | None = None) -> tuple[Fate, ...]:
    found = Questions(given, "3:4", latencies).answer((LOSS,), with_machines=True).fates
    assert found is not None
    return found


def test_nothing_is_different_without_an_edit() -> None:
    assert Questions(given_now(), "3:4").answer((), with_machines=True).fates == ()


def test_machines_are_named_only_where_they_are_asked_for() -> None:
    assert Questions(given_now(), "3:4").answer((LOSS,)).fates is None


def test_every_machine_that_goes_is_named_once_and_nothing_is_done_with_it() -> None:
    given = given_now()
    gone = [fate for fate in fates(given) if fate.removed]
    named = [name for fate in gone for name in fate.machine_ids]
    told = Questions(given, "3:4").answer((LOSS,))
    assert sum(fate.machines for fate in gone) == told.removed == len(named) == len(set(named))
    assert {(fate.after, fate.after_cluster) for fate in gone} == {("", "")}


def test_the_others_are_those_with_another_action() -> None:
    given = engine_input_of(load_fleet(FLEET.encode(), "fleet.yaml"))
    more = ScaleDemand(NeedSelector("shop"), 1.5)
    told = Questions(given, "3:4").answer((more,), with_machines=True)
    assert told.fates is not None
    counts = {(fate.before, fate.after): fate.machines for fate in told.fates}
    for before, after in counts:
        assert before != after
    assert counts["", "Preempt"] == told.changed.actions_by_kind["Preempt"] == 2


def test_groups_are_largest_first_and_small_ones_keep_their_names() -> None:
    given = given_now()
    edited = apply(given, (LOSS,))
    base, changed = (DecidedSide(each, each.decide()) for each in (given, edited))
    found = fates(given)
    assert [each.machines for each in found] == sorted(
        (each.machines for each in found), reverse=True
    )
    smallest = found[-1].machines
    cut = fates_of(base, changed, most=smallest)
    assert len(cut[-1].machine_ids) == smallest
    assert sum(len(each.machine_ids) for each in cut) == smallest
    assert sum(each.machines for each in cut) == sum(each.machines for each in found)


def test_where_the_fleet_settles_it_is_the_first_cycle_that_is_told() -> None:
    given = given_now()
    assert fates(given, Latencies()) == fates(given)
