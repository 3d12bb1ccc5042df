"""A provider whose disk is full lists as before and refuses every change: that is said."""

from tests.reconciling.rig import CONFIGURED, Rig, record

FULL = "the provider's state cannot be written: p.db: the disk is full"


def test_it_is_shown_until_a_change_is_taken_again() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURED))
    rig.reconciler.on_write("acme", FULL)
    rig.reconciler.on_write("acme", FULL)
    rig.lists(record("m", CONFIGURED))
    assert rig.reconciler.status("acme").last_error == FULL
    assert rig.logged() == ["provider_unwritable"]
    rig.reconciler.on_write("acme")
    assert rig.reconciler.status("acme").last_error == ""


def test_a_list_that_fails_is_told_first() -> None:
    rig = Rig()
    rig.reconciler.on_write("acme", FULL)
    rig.fails()
    assert rig.reconciler.status("acme").last_error == "UNAVAILABLE: no"
