"""A List alone brings no Failed machine back; its keeper hears of every read and decides."""

from dataclasses import replace

from tests.reconciling.rig import CONFIGURED, CONFIGURING, FAILED, IDLE, Rig, record


def failed(rig: Rig) -> None:
    rig.wait(1)
    rig.local(replace(rig.machine("m"), state=FAILED, last_error="timeout"))


def test_a_healthy_read_changes_attributes_and_not_the_state() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURING))
    failed(rig)
    rig.lists(record("m", CONFIGURED, price_per_hour=0.9))
    assert rig.state("m") is FAILED
    assert rig.machine("m").last_error == "timeout"
    assert rig.machine("m").price_per_hour == 0.9
    assert rig.keeper.heard[-1] == {"m": CONFIGURED}


def test_every_whole_list_is_a_read_even_if_it_says_the_same() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURING))
    failed(rig)
    rig.keeper.heard.clear()
    for _ in range(3):
        rig.lists(record("m", CONFIGURED))
    assert rig.keeper.heard == [{"m": CONFIGURED}] * 3


def test_a_list_of_changes_tells_only_what_it_names() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURING))
    failed(rig)
    rig.keeper.heard.clear()
    rig.lists(record("m", CONFIGURED), whole=False)
    rig.lists(whole=False)
    rig.lists(record("m", IDLE), whole=False)
    assert rig.keeper.heard == [{"m": CONFIGURED}, {}, {"m": IDLE}]


def test_the_keeper_hears_nothing_of_a_list_from_before_the_failure() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURING))
    rig.wait(1)
    started = rig.now
    reading = rig.read([record("m", CONFIGURED)])
    failed(rig)
    rig.arrived(reading, started)
    assert rig.keeper.heard[-1] == {}


def test_a_missing_machine_is_not_read() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURING))
    failed(rig)
    rig.lists(record("m", CONFIGURED))
    rig.lists()
    assert rig.keeper.heard[-1] == {}


def test_a_recovered_machine_is_the_lists_business_again() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURING))
    failed(rig)
    rig.lists(record("m", CONFIGURED))
    rig.wait(1)
    rig.local(replace(rig.machine("m"), state=CONFIGURED, last_error=""))
    rig.lists(record("m", IDLE))
    assert rig.state("m") is IDLE
    assert rig.keeper.heard[-1] == {}


def test_a_machine_the_keeper_does_not_admit_stays_out() -> None:
    rig = Rig()
    rig.keeper.refused.add("m")
    rig.lists(record("m", FAILED), record("n"))
    assert rig.ids() == ["n"]
    rig.keeper.refused.clear()
    rig.lists(record("m", IDLE), record("n"))
    assert rig.ids() == ["m", "n"]
