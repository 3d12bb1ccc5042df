"""One List without a machine makes it unseen; only Lists in a row make it gone."""

from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.settings import ReconcileSettings, ShardSettings
from tests.reconciling.rig import (
    CONFIGURED,
    CREATING,
    FAILED,
    IDLE,
    SPECULATIVE,
    Rig,
    record,
)

FREE = [record("idle", IDLE), record("slot", SPECULATIVE)]
BOUND = record("bound", CONFIGURED)
UNSEEN = Held(HeldBy.UNSEEN)


def held(rig: Rig, name: str) -> Held | None:
    return rig.machines.inventory.marks_of(name).held


def listed(*absent: str) -> Rig:
    """Three machines listed once, then without the absent ones."""
    rig = Rig()
    every = (*FREE, BOUND)
    rig.lists(*every)
    rig.effects.taken()
    rig.lists(*(each for each in every if each.id not in absent))
    return rig


def test_an_unseen_machine_may_not_be_taken() -> None:
    rig = listed("idle", "slot", "bound")
    assert held(rig, "idle") == UNSEEN
    assert held(rig, "slot") == UNSEEN
    assert held(rig, "bound") is None
    assert rig.state("bound") is CONFIGURED
    assert [rig.reconciler.unseen_lists(name) for name in rig.ids()] == [1, 1, 1]
    assert rig.count("machines_unseen", provider="acme") == 3
    assert rig.is_awake()


def test_a_machine_that_is_seen_again_is_as_it_was() -> None:
    rig = listed("idle", "bound")
    rig.effects.taken()
    rig.lists(*FREE, BOUND)
    assert held(rig, "idle") is None
    assert [rig.reconciler.unseen_lists(name) for name in rig.ids()] == [0, 0, 0]
    assert rig.count("machines_unseen", provider="acme") == 0
    assert rig.is_awake()


def test_a_list_of_changes_that_names_it_has_seen_it() -> None:
    rig = listed("idle")
    rig.lists(FREE[0], whole=False)
    assert rig.reconciler.unseen_lists("idle") == 0
    assert held(rig, "idle") is None


def test_a_bad_record_shows_that_the_machine_is_there() -> None:
    rig = listed("idle")
    rig.lists(record("idle", IDLE, price_per_hour=-1.0), FREE[1], BOUND)
    assert rig.reconciler.unseen_lists("idle") == 0
    rig.lists(FREE[1], BOUND)
    assert "idle" in rig.ids()


def test_the_second_list_in_a_row_without_it_removes_it() -> None:
    rig = listed("idle", "bound")
    rig.sent.clear()
    rig.lists(FREE[1])
    assert rig.ids() == ["slot"]
    assert [(u.cluster_id, u.machine_id, u.state, u.last_error) for u in rig.sent] == [
        ("shop", "bound", FAILED, "machine vanished from provider")
    ]
    assert rig.count("machine_failures_total", cause="vanished") == 2
    assert rig.count("machines_unseen", provider="acme") == 0


def test_lists_without_it_must_follow_each_other() -> None:
    rig = listed("idle")
    rig.lists(*FREE, BOUND)
    rig.lists(FREE[1], BOUND)
    assert rig.ids() == ["bound", "idle", "slot"]


def test_lists_of_changes_and_failures_do_not_count() -> None:
    rig = listed("idle")
    for _ in range(5):
        rig.lists(whole=False)
        rig.fails()
    assert rig.ids() == ["bound", "idle", "slot"]
    assert rig.reconciler.unseen_lists("idle") == 1


def test_a_machine_with_a_pending_action_is_never_removed() -> None:
    rig = Rig()
    rig.lists(record("m", CREATING))
    rig.pending.add("m")
    for _ in range(5):
        rig.lists()
    assert rig.ids() == ["m"]
    rig.pending.clear()
    rig.lists()
    assert rig.ids() == []


def test_a_machine_the_shard_changed_after_the_list_began_is_not_removed() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.lists()
    rig.wait(1)
    started = rig.now
    reading = rig.read([])
    rig.wait(1)
    rig.local(rig.machine("m"))
    rig.arrived(reading, started)
    assert rig.ids() == ["m"]
    rig.lists()
    assert rig.ids() == []


def test_how_many_lists_it_takes_is_a_setting() -> None:
    rig = Rig(settings=ShardSettings(reconcile=ReconcileSettings(absent_lists=4)))
    rig.lists(record("m"))
    for missed in (1, 2, 3):
        rig.lists()
        assert rig.reconciler.unseen_lists("m") == missed
    rig.lists()
    assert rig.ids() == []


def test_being_unseen_takes_nothing_from_another_hold() -> None:
    rig = Rig()
    rig.lists(*FREE)
    backoff = Held(HeldBy.BACKOFF, rig.now + 60 * SECOND)
    rig.machines.hold("slot", backoff)
    rig.lists(FREE[0])
    assert held(rig, "slot") == backoff
    rig.lists(*FREE)
    assert held(rig, "slot") == backoff


def test_a_hold_that_was_lifted_too_early_is_taken_again() -> None:
    rig = Rig(settings=ShardSettings(reconcile=ReconcileSettings(absent_lists=9)))
    rig.lists(*FREE)
    rig.lists(FREE[0])
    rig.machines.hold("slot", None)
    rig.lists(FREE[0])
    assert held(rig, "slot") == UNSEEN


def test_a_machine_removed_by_hand_is_not_missed() -> None:
    rig = listed("idle")
    rig.machines.remove("idle", rig.now, "by hand", StorySource.ADMIN)
    rig.lists(FREE[1], BOUND)
    assert rig.count("machines_unseen", provider="acme") == 0
    assert rig.count("machine_failures_total", cause="vanished") == 0


def test_ids_of_others_are_not_missed_when_they_go() -> None:
    rig = Rig("acme", "other")
    rig.lists(*FREE)
    rig.lists(*FREE, provider="other")
    rig.lists(provider="other")
    rig.lists(provider="other")
    assert rig.ids() == ["idle", "slot"]
    assert rig.count("machines_unseen", provider="other") == 0
