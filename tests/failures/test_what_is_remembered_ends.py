"""What is remembered of machines that failed ends by itself: the store does not grow with age."""

from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import ClearMode
from tests.execution.rig import Rig

S = MachineState
HOUR, DAY = 3600, 24 * 3600


def fail(rig: Rig, machine: str) -> None:
    rig.add(machine, S.CREATING)
    rig.failures.fail(machine, "provider_error", "it broke", rig.now)
    rig.leap(0)


def forgotten() -> Rig:
    rig = Rig()
    fail(rig, "m-1")
    rig.failures.clear("m-1", ClearMode.FORGET, rig.now)
    rig.leap(0)
    assert remembered(rig) == {"m-1"}
    return rig


def next_life(rig: Rig) -> Rig:
    later = rig.restarted()
    later.now = rig.now
    return later


def remembered(rig: Rig) -> set[str]:
    return set(rig.stored["failures"])


def test_a_forgotten_machine_is_remembered_as_long_as_its_provider_lists_it() -> None:
    rig = forgotten()
    rows = set()
    for _ in range(30 * 24):
        assert not rig.failures.admits("m-1", S.FAILED)
        rig.leap(HOUR)
        rows.add(rig.stored["failures"]["m-1"])
    # Now and then, not with every List.
    assert len(rows) < 40


def test_a_forgotten_machine_that_is_not_listed_is_forgotten_for_good_after_a_week() -> None:
    rig = forgotten()
    rig.leap(6 * DAY)
    assert remembered(rig) == {"m-1"}
    rig.leap(DAY)
    assert remembered(rig) == set()
    (told,) = [log for log in rig.logs if log.event == "failure_outlived"]
    assert "m-1" in told.text


def test_a_failure_of_an_earlier_life_ends_when_its_machine_never_comes_back() -> None:
    rig = Rig()
    fail(rig, "m-1")
    for _ in range(7):
        assert remembered(rig) == {"m-1"}
        rig = next_life(rig)
        rig.leap(1)
        rig.leap(DAY)
    assert remembered(rig) == set()


def test_a_machine_that_comes_back_in_time_is_still_the_one_that_failed() -> None:
    rig = Rig()
    fail(rig, "m-1")
    rig = next_life(rig)
    rig.leap(1)
    rig.leap(6 * DAY)
    rig.add("m-1", S.CREATING)
    rig.leap(1)
    assert rig.state_of("m-1") is S.FAILED
    # Its next absence is counted from its own beginning.
    later = next_life(rig)
    later.leap(1)
    later.leap(6 * DAY)
    assert remembered(later) == {"m-1"}


def test_a_failed_machine_that_is_there_is_never_forgotten() -> None:
    rig = Rig()
    fail(rig, "m-1")
    for _ in range(60):
        rig.leap(DAY)
    assert remembered(rig) == {"m-1"}
    assert rig.failures.holds("m-1")


def test_a_clock_that_was_ahead_keeps_nothing_for_ever() -> None:
    rig = Rig()
    rig.leap(1000 * DAY)
    fail(rig, "m-1")
    rig = next_life(rig)
    rig.leap(0)
    rig = next_life(rig)
    rig.leap(-1000 * DAY)
    rig.leap(7 * DAY)
    assert remembered(rig) == set()


def test_a_long_life_does_not_grow_the_store() -> None:
    """Every day other machines fail, some are forgotten by hand, and none is ever seen again."""
    rig, most = Rig(), 0
    for day in range(200):
        for place in range(4):
            fail(rig, f"m-{day}-{place}")
        rig.failures.clear(f"m-{day}-0", ClearMode.FORGET, rig.now)
        rig.leap(1)
        rig = next_life(rig)
        rig.leap(1)
        rig.leap(DAY)
        most = max(most, len(remembered(rig)))
    assert most <= 9 * 4


def test_a_machine_that_fails_all_the_time_has_a_short_row() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    for _ in range(200):
        rig.lists("m-1", S.FAILED)
        rig.lists("m-1", S.IDLE)
        rig.lists("m-1", S.IDLE)
        # Sooner than this a List that puts it back to Failed would be doubted.
        rig.leap(60)
    assert rig.counts.of("machine_recoveries_total", cause="provider_failed") == 200
    assert len(rig.stored["failures"]["m-1"]) < 1000
