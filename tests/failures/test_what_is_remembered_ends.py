"""What is remembered of machines that failed ends by itself: the store does not grow with age."""

from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import ClearMode
from tests.execution.stage import Stage

S = MachineState
HOUR, DAY = 3600, 24 * 3600


def fail(stage: Stage, machine: str) -> None:
    stage.add(machine, S.CREATING)
    stage.failures.fail(machine, "provider_error", "it broke", stage.now)
    stage.leap(0)


def forgotten() -> Stage:
    stage = Stage()
    fail(stage, "m-1")
    stage.failures.clear("m-1", ClearMode.FORGET, stage.now)
    stage.leap(0)
    assert remembered(stage) == {"m-1"}
    return stage


def next_life(stage: Stage) -> Stage:
    later = stage.restarted()
    later.now = stage.now
    return later


def remembered(stage: Stage) -> set[str]:
    return set(stage.stored["failures"])


def test_a_forgotten_machine_is_remembered_as_long_as_its_provider_lists_it() -> None:
    stage = forgotten()
    rows = set()
    for _ in range(30 * 24):
        assert not stage.failures.admits("m-1", S.FAILED)
        stage.leap(HOUR)
        rows.add(stage.stored["failures"]["m-1"])
    # Now and then, not with every List.
    assert len(rows) < 40


def test_a_forgotten_machine_that_nobody_lists_is_forgotten_for_good_after_a_week() -> None:
    stage = forgotten()
    stage.leap(6 * DAY)
    assert remembered(stage) == {"m-1"}
    stage.leap(DAY)
    assert remembered(stage) == set()
    (told,) = [log for log in stage.logs if log.event == "failure_outlived"]
    assert "m-1" in told.text


def test_a_failure_of_an_earlier_life_ends_when_its_machine_never_comes_back() -> None:
    stage = Stage()
    fail(stage, "m-1")
    for _ in range(7):
        assert remembered(stage) == {"m-1"}
        stage = next_life(stage)
        stage.leap(1)
        stage.leap(DAY)
    assert remembered(stage) == set()


def test_a_machine_that_comes_back_in_time_is_still_the_one_that_failed() -> None:
    stage = Stage()
    fail(stage, "m-1")
    stage = next_life(stage)
    stage.leap(1)
    stage.leap(6 * DAY)
    stage.add("m-1", S.CREATING)
    stage.leap(1)
    assert stage.state_of("m-1") is S.FAILED
    # Its next absence is counted from its own beginning.
    later = next_life(stage)
    later.leap(1)
    later.leap(6 * DAY)
    assert remembered(later) == {"m-1"}


def test_a_failed_machine_that_is_there_is_never_forgotten() -> None:
    stage = Stage()
    fail(stage, "m-1")
    for _ in range(60):
        stage.leap(DAY)
    assert remembered(stage) == {"m-1"}
    assert stage.failures.holds("m-1")


def test_a_clock_that_was_ahead_keeps_nothing_for_ever() -> None:
    stage = Stage()
    stage.leap(1000 * DAY)
    fail(stage, "m-1")
    stage = next_life(stage)
    stage.leap(0)
    stage = next_life(stage)
    stage.leap(-1000 * DAY)
    stage.leap(7 * DAY)
    assert remembered(stage) == set()


def test_a_long_life_does_not_grow_the_store() -> None:
    """Every day other machines fail, some are forgotten by hand, and none is ever seen again."""
    stage, most = Stage(), 0
    for day in range(200):
        for place in range(4):
            fail(stage, f"m-{day}-{place}")
        stage.failures.clear(f"m-{day}-0", ClearMode.FORGET, stage.now)
        stage.leap(1)
        stage = next_life(stage)
        stage.leap(1)
        stage.leap(DAY)
        most = max(most, len(remembered(stage)))
    assert most <= 9 * 4


def test_a_machine_that_fails_all_the_time_has_a_short_row() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    for _ in range(200):
        stage.lists("m-1", S.FAILED)
        stage.lists("m-1", S.IDLE)
        stage.lists("m-1", S.IDLE)
    assert stage.counts.of("machine_recoveries_total", cause="provider_failed") == 200
    assert len(stage.stored["failures"]["m-1"]) < 1000
