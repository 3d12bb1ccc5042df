"""The flap guard: three failures within an hour, and a machine is left alone for one."""

from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.rig import Rig

S = MachineState
HOUR = 3600


def fail_and_recover(rig: Rig) -> None:
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.refuse("m-1", Code.INTERNAL)
    rig.wait(30)
    rig.show("m-1", S.IDLE)
    rig.lists("m-1", S.IDLE)


def flapping(times: int) -> Rig:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    for _ in range(times):
        fail_and_recover(rig)
    return rig


def held(rig: Rig) -> Held | None:
    return rig.machines.inventory.marks_of("m-1").held


def test_twice_is_not_enough() -> None:
    assert held(flapping(2)) is None


def test_the_third_time_it_is_held_back() -> None:
    rig = flapping(3)
    found = held(rig)
    assert found is not None
    assert found.by is HeldBy.BACKOFF
    assert found.until is not None
    assert 0 < found.until - rig.now <= HOUR * 1_000_000_000


def test_after_an_hour_it_is_used_again() -> None:
    rig = flapping(3)
    rig.leap(HOUR)
    assert held(rig) is None


def test_failures_far_apart_are_no_flapping() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    for _ in range(4):
        fail_and_recover(rig)
        rig.leap(HOUR / 2)
    assert held(rig) is None


def test_the_rest_outlives_the_process() -> None:
    rig = flapping(3)
    later = rig.restarted()
    later.now = rig.now
    later.add("m-1", S.IDLE)
    assert held(later) == held(rig)


def test_the_rest_goes_with_the_machine_to_its_slot() -> None:
    rig = flapping(3)
    rig.lists("m-1", S.SPECULATIVE)
    assert held(rig) is not None


def test_what_is_long_over_is_forgotten() -> None:
    rig = flapping(3)
    rig.leap(HOUR)
    rig.leap(HOUR)
    assert rig.stored["failures"] == {}
