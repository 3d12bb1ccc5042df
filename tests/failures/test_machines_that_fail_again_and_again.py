"""The flap guard: three failures within an hour, and a machine is left alone for one."""

from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.stage import Stage

S = MachineState
HOUR = 3600


def fail_and_recover(stage: Stage) -> None:
    stage.bootstrap("m-1")
    stage.give_blob()
    stage.refuse("m-1", Code.INTERNAL)
    stage.wait(30)
    stage.show("m-1", S.IDLE)
    stage.lists("m-1", S.IDLE)


def flapping(times: int) -> Stage:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    for _ in range(times):
        fail_and_recover(stage)
    return stage


def held(stage: Stage) -> Held | None:
    return stage.machines.inventory.marks_of("m-1").held


def test_twice_is_not_enough() -> None:
    assert held(flapping(2)) is None


def test_the_third_time_it_is_held_back() -> None:
    stage = flapping(3)
    found = held(stage)
    assert found is not None
    assert found.by is HeldBy.BACKOFF
    assert found.until is not None
    assert 0 < found.until - stage.now <= HOUR * 1_000_000_000


def test_after_an_hour_it_is_used_again() -> None:
    stage = flapping(3)
    stage.leap(HOUR)
    assert held(stage) is None


def test_failures_far_apart_are_no_flapping() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    for _ in range(4):
        fail_and_recover(stage)
        stage.leap(HOUR / 2)
    assert held(stage) is None


def test_the_rest_outlives_the_process() -> None:
    stage = flapping(3)
    later = stage.restarted()
    later.now = stage.now
    later.add("m-1", S.IDLE)
    assert held(later) == held(stage)


def test_the_rest_goes_with_the_machine_to_its_slot() -> None:
    stage = flapping(3)
    stage.lists("m-1", S.SPECULATIVE)
    assert held(stage) is not None


def test_what_is_long_over_is_forgotten() -> None:
    stage = flapping(3)
    stage.leap(HOUR)
    stage.leap(HOUR)
    assert stage.stored["failures"] == {}
