"""Failed machines: looked at again, and taken back when their provider shows them well."""

from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from tests.execution.stage import PROFILE, SHOP, Stage

S = MachineState


def failed_create(code: Code = Code.INTERNAL) -> Stage:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.refuse("m-1", code, "no")
    return stage


def provider_failed() -> Stage:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.lists("m-1", S.FAILED)
    return stage


def test_looks_come_less_and_less_often_and_stop_at_five() -> None:
    stage = failed_create()
    gaps, last = [], stage.now
    for _ in range(5):
        while not stage.unanswered:
            stage.wait(1)
        gaps.append((stage.now - last) // SECOND)
        last = stage.now
        stage.show("m-1", S.FAILED)
    assert gaps == [30, 60, 120, 240, 480]
    stage.leap(3600)
    assert len(stage.gets()) == 5


def test_after_five_looks_a_machine_is_stuck_and_said_to_be() -> None:
    stage = failed_create()
    while len(stage.gets()) < 5:
        stage.wait(30)
        if stage.unanswered:
            stage.refuse("m-1", Code.UNAVAILABLE)
    stage.wait(1)
    assert stage.counts.of("machines_stuck") == 1
    assert stage.counts.of("failed_machines", cause="provider_error") == 1
    assert "machine_stuck" in {log.event for log in stage.logs}
    view = stage.failures.view("m-1")
    assert view is not None
    assert (view.attempts, view.next_attempt_at, view.automatic) == (5, None, False)


def test_a_get_alone_brings_nothing_back() -> None:
    stage = failed_create()
    stage.wait(30)
    stage.show("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.FAILED


def test_a_get_and_the_next_list_do() -> None:
    stage = failed_create()
    stage.wait(30)
    stage.show("m-1", S.IDLE)
    stage.lists("m-1", S.IDLE)
    machine = stage.machines.truth("m-1")
    assert (machine.state, machine.last_error) == (S.IDLE, "")
    assert stage.failures.view("m-1") is None
    assert stage.counts.of("machine_recoveries_total", cause="provider_error") == 1


def test_a_get_and_a_list_of_changes_that_does_not_name_it_do_too() -> None:
    stage = failed_create()
    stage.lists_no_change()
    assert stage.state_of("m-1") is S.FAILED
    stage.wait(30)
    stage.show("m-1", S.IDLE)
    stage.lists_no_change()
    assert stage.state_of("m-1") is S.IDLE


def test_a_list_alone_brings_nothing_back_but_a_look_at_once() -> None:
    stage = failed_create()
    stage.lists("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.FAILED
    stage.wait(1)
    assert stage.gets() == ["m-1"]
    stage.show("m-1", S.IDLE)
    stage.lists("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE


def test_a_list_that_shows_it_well_again_and_again_does_not_ask_every_second() -> None:
    stage = failed_create()
    for _ in range(60):
        stage.lists("m-1", S.IDLE)
        stage.wait(1)
        if stage.unanswered:
            stage.show("m-1", S.CREATING)
    assert len(stage.gets()) <= 3


def test_a_state_that_does_not_last_brings_nothing_back() -> None:
    stage = failed_create()
    stage.wait(30)
    stage.show("m-1", S.IDLE)
    stage.lists("m-1", S.FAILED)
    stage.lists("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.FAILED


def test_a_machine_on_its_way_is_not_taken_back_before_it_is_there() -> None:
    stage = failed_create()
    stage.wait(30)
    stage.show("m-1", S.CREATING)
    stage.lists("m-1", S.CREATING)
    assert stage.state_of("m-1") is S.FAILED


def test_a_stuck_machine_that_a_list_shows_well_is_looked_at_after_all() -> None:
    stage = failed_create()
    while len(stage.gets()) < 5:
        stage.wait(30)
        if stage.unanswered:
            stage.show("m-1", S.FAILED)
    stage.leap(3600)
    stage.lists("m-1", S.SPECULATIVE)
    stage.wait(1)
    stage.show("m-1", S.SPECULATIVE)
    stage.lists("m-1", S.SPECULATIVE)
    assert stage.state_of("m-1") is S.SPECULATIVE


def test_what_the_provider_called_failed_comes_back_on_two_lists() -> None:
    stage = provider_failed()
    assert stage.failures.cause_of("m-1") == "provider_failed"
    stage.lists("m-1", S.CONFIGURED)
    assert stage.state_of("m-1") is S.FAILED
    stage.lists("m-1", S.CONFIGURED)
    assert stage.state_of("m-1") is S.CONFIGURED
    assert stage.told_of("m-1") == [S.CONFIGURED, S.FAILED, S.CONFIGURED]


def test_what_the_provider_called_failed_comes_back_on_a_list_and_a_get() -> None:
    stage = provider_failed()
    stage.lists("m-1", S.IDLE)
    stage.wait(1)
    stage.show("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE
    assert stage.machines.truth("m-1").cluster == ""


def test_what_the_provider_called_failed_is_not_asked_for_by_the_clock() -> None:
    stage = provider_failed()
    stage.leap(7200)
    assert stage.gets() == []


def test_a_fenced_machine_does_not_come_back_by_itself() -> None:
    stage = failed_create(Code.FAILED_PRECONDITION)
    for _ in range(5):
        stage.leap(3600)
        stage.lists("m-1", S.SPECULATIVE)
    assert stage.gets() == []
    assert stage.state_of("m-1") is S.FAILED
    view = stage.failures.view("m-1")
    assert view is not None
    assert not view.automatic


def test_a_late_completion_is_taken_over_with_its_stamps() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.give_blob()
    stage.refuse("m-1", Code.INTERNAL)
    stage.wait(30)
    stage.show("m-1", S.CONFIGURED)
    stage.lists("m-1", S.CONFIGURED)
    machine = stage.machines.truth("m-1")
    assert machine.state is S.CONFIGURED
    assert machine.assigned == Assigned(500, 4.0, 2.0, SHOP, PROFILE.fingerprint)


def test_no_look_begins_while_a_call_is_without_an_answer() -> None:
    stage = failed_create()
    stage.wait(30)
    stage.leap(3600)
    assert len(stage.unanswered) == 1


def test_a_failure_outlives_the_process() -> None:
    stage = provider_failed()
    later = stage.restarted()
    later.add("m-1", S.FAILED)
    view = later.failures.view("m-1")
    assert view is not None
    assert (view.cause, view.since) == ("provider_failed", stage.now)
    assert later.counts.of("machine_failures_total", cause="provider_failed") == 0


def test_a_machine_given_up_before_the_restart_is_not_waited_for_again() -> None:
    stage = failed_create()
    later = stage.restarted()
    later.add("m-1", S.CREATING)
    later.wait(1)
    assert later.state_of("m-1") is S.FAILED
    assert later.failures.cause_of("m-1") == "provider_error"


def test_a_machine_that_is_well_after_the_restart_is_well() -> None:
    stage = failed_create()
    later = stage.restarted()
    later.add("m-1", S.IDLE)
    later.wait(1)
    assert later.state_of("m-1") is S.IDLE
    later.leap(3601)
    assert later.stored["failures"] == {}


def test_being_fenced_ends_with_the_epoch() -> None:
    stage = failed_create(Code.FAILED_PRECONDITION)
    later = stage.restarted()
    later.add("m-1", S.FAILED)
    later.lists("m-1", S.SPECULATIVE)
    later.lists("m-1", S.SPECULATIVE)
    assert later.state_of("m-1") is S.SPECULATIVE
