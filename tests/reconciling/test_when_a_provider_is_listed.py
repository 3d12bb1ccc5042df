"""Whole Lists of small providers, lists of changes of big ones, and a whole one now and then."""

from dataclasses import replace

from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.shard.reconciling.list_schedule import ListPlan
from bigfleet.shard.settings import ReconcileSettings, ShardSettings
from tests.reconciling.rig import Rig, record

MACHINES = [record(f"m-{i}") for i in range(5)]


def rig_of(**settings: object) -> Rig:
    reconcile = ReconcileSettings(incremental_from=5, **settings)  # type: ignore[arg-type]
    return Rig(settings=ShardSettings(reconcile=reconcile))


def plan(rig: Rig) -> ListPlan:
    return rig.reconciler.next_list("acme", rig.now)


def after(rig: Rig, seconds: float) -> ListPlan:
    rig.wait(seconds)
    return plan(rig)


def test_the_first_list_is_whole_and_due_at_once() -> None:
    rig = Rig()
    assert plan(rig) == ListPlan(True, b"", rig.now)
    assert not rig.reconciler.listed_once()


def test_the_next_one_is_due_after_the_pause() -> None:
    rig = Rig()
    rig.lists(*MACHINES)
    assert plan(rig) == ListPlan(True, b"", rig.now + SECOND)
    assert after(rig, 7).due == rig.now
    assert rig.reconciler.listed_once()


def test_a_later_list_that_is_half_taken_over_takes_nothing_back() -> None:
    rig = Rig()
    rig.lists(*MACHINES)
    rig.wait(1)
    moved = [replace(machine, state=MachineState.CONFIGURING, cluster="c") for machine in MACHINES]
    assert rig.begins(rig.read(moved), rig.now - 1), "there is more to be taken over"
    assert rig.reconciler.listed_once()


def test_a_small_provider_is_listed_whole_every_time() -> None:
    rig = rig_of()
    rig.lists(*MACHINES[:4])
    assert plan(rig).whole


def test_a_big_provider_is_asked_for_changes() -> None:
    rig = rig_of()
    rig.lists(*MACHINES)
    assert plan(rig) == ListPlan(False, b"r-1", rig.now + SECOND)
    assert rig.reconciler.status("acme").incremental


def test_a_provider_without_revisions_is_listed_whole() -> None:
    rig = rig_of()
    rig.wait(1)
    bare = rig.read(MACHINES)
    rig.arrived(replace(bare, revision=b""), rig.now)
    assert plan(rig).whole


def test_the_whole_list_comes_round_again() -> None:
    rig = rig_of()
    rig.lists(*MACHINES)
    rig.wait(290)
    rig.lists(MACHINES[0], whole=False)
    assert not plan(rig).whole
    assert after(rig, 9) == ListPlan(True, b"", rig.now)
    rig.lists(*MACHINES)
    assert not plan(rig).whole


def test_while_machines_are_missing_it_comes_round_sooner() -> None:
    rig = rig_of()
    rig.lists(*MACHINES, record("m-5"))
    rig.lists(*MACHINES)
    assert not after(rig, 8).whole
    assert after(rig, 2) == ListPlan(True, b"", rig.now)
    rig.lists(*MACHINES)
    assert not after(rig, 60).whole


def test_either_way_can_be_forced() -> None:
    full, changes = rig_of(mode="full"), rig_of(mode="incremental")
    full.lists(*MACHINES)
    changes.lists(*MACHINES[:1])
    assert plan(full).whole
    assert not plan(changes).whole


def test_a_failed_list_keeps_the_cursor() -> None:
    rig = rig_of()
    rig.lists(*MACHINES)
    rig.fails()
    assert plan(rig) == ListPlan(False, b"r-1", rig.now + SECOND)
    assert rig.reconciler.status("acme").last_error == "UNAVAILABLE: no"
    rig.lists(whole=False)
    assert rig.reconciler.status("acme").last_error == ""


def test_the_size_and_the_age_of_the_last_good_list_are_shown() -> None:
    rig = rig_of()
    rig.lists(*MACHINES)
    rig.lists(MACHINES[0], whole=False)
    rig.wait(4)
    rig.fails()
    rig.reconciler.tick(rig.now)
    assert rig.count("provider_list_machines", provider="acme") == 5
    assert rig.count("provider_list_age_seconds", provider="acme") == 5
    assert rig.reconciler.status("acme", "acme:1").machines == 5
