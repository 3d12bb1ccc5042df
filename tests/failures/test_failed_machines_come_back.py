"""Failed machines: looked at again, and taken back when their provider shows them well."""

from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from tests.execution.rig import PROFILE, SHOP, Rig

S = MachineState


def failed_create(code: Code = Code.INTERNAL) -> Rig:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.refuse("m-1", code, "no")
    return rig


def provider_failed() -> Rig:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.lists("m-1", S.FAILED)
    return rig


def test_looks_come_less_and_less_often_and_stop_at_five() -> None:
    rig = failed_create()
    gaps, last = [], rig.now
    for _ in range(5):
        while not rig.unanswered:
            rig.wait(1)
        gaps.append((rig.now - last) // SECOND)
        last = rig.now
        rig.show("m-1", S.FAILED)
    assert gaps == [30, 60, 120, 240, 480]
    rig.leap(3600)
    assert len(rig.gets()) == 5


def test_after_five_looks_a_machine_is_stuck_and_said_to_be() -> None:
    rig = failed_create()
    while len(rig.gets()) < 5:
        rig.wait(30)
        if rig.unanswered:
            rig.refuse("m-1", Code.UNAVAILABLE)
    rig.wait(1)
    assert rig.counts.of("machines_stuck") == 1
    assert rig.counts.of("failed_machines", cause="provider_error") == 1
    assert "machine_stuck" in {log.event for log in rig.logs}
    view = rig.failures.view("m-1")
    assert view is not None
    assert (view.attempts, view.next_attempt_at, view.automatic) == (5, None, False)


def test_a_get_alone_brings_nothing_back() -> None:
    rig = failed_create()
    rig.wait(30)
    rig.show("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.FAILED


def test_a_get_and_the_next_list_do() -> None:
    rig = failed_create()
    rig.wait(30)
    rig.show("m-1", S.IDLE)
    rig.lists("m-1", S.IDLE)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.last_error) == (S.IDLE, "")
    assert rig.failures.view("m-1") is None
    assert rig.counts.of("machine_recoveries_total", cause="provider_error") == 1


def test_a_get_and_a_list_of_changes_that_does_not_name_it_do_too() -> None:
    rig = failed_create()
    rig.lists_no_change()
    assert rig.state_of("m-1") is S.FAILED
    rig.wait(30)
    rig.show("m-1", S.IDLE)
    rig.lists_no_change()
    assert rig.state_of("m-1") is S.IDLE


def test_a_list_alone_brings_nothing_back_but_a_look_at_once() -> None:
    rig = failed_create()
    rig.lists("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.FAILED
    rig.wait(1)
    assert rig.gets() == ["m-1"]
    rig.show("m-1", S.IDLE)
    rig.lists("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE


def test_a_list_that_shows_it_well_again_and_again_does_not_ask_every_second() -> None:
    rig = failed_create()
    for _ in range(60):
        rig.lists("m-1", S.IDLE)
        rig.wait(1)
        if rig.unanswered:
            rig.show("m-1", S.CREATING)
    assert len(rig.gets()) <= 3


def test_a_state_that_does_not_last_brings_nothing_back() -> None:
    rig = failed_create()
    rig.wait(30)
    rig.show("m-1", S.IDLE)
    rig.lists("m-1", S.FAILED)
    rig.lists("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.FAILED


def test_a_machine_on_its_way_is_not_taken_back_before_it_is_there() -> None:
    rig = failed_create()
    rig.wait(30)
    rig.show("m-1", S.CREATING)
    rig.lists("m-1", S.CREATING)
    assert rig.state_of("m-1") is S.FAILED


def test_a_stuck_machine_that_a_list_shows_well_is_looked_at_after_all() -> None:
    rig = failed_create()
    while len(rig.gets()) < 5:
        rig.wait(30)
        if rig.unanswered:
            rig.show("m-1", S.FAILED)
    rig.leap(3600)
    rig.lists("m-1", S.SPECULATIVE)
    rig.wait(1)
    rig.show("m-1", S.SPECULATIVE)
    rig.lists("m-1", S.SPECULATIVE)
    assert rig.state_of("m-1") is S.SPECULATIVE


def test_what_the_provider_called_failed_comes_back_on_two_lists() -> None:
    rig = provider_failed()
    assert rig.failures.cause_of("m-1") == "provider_failed"
    rig.lists("m-1", S.CONFIGURED)
    assert rig.state_of("m-1") is S.FAILED
    rig.lists("m-1", S.CONFIGURED)
    assert rig.state_of("m-1") is S.CONFIGURED
    assert rig.told_of("m-1") == [S.CONFIGURED, S.FAILED, S.CONFIGURED]


def test_what_the_provider_called_failed_comes_back_on_a_list_and_a_get() -> None:
    rig = provider_failed()
    rig.lists("m-1", S.IDLE)
    rig.wait(1)
    rig.show("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE
    assert rig.machines.truth("m-1").cluster == ""


def test_a_get_without_an_answer_does_not_undo_what_a_list_showed() -> None:
    """Lists of changes name a machine once: dropped then, it would stay Failed for ever."""
    rig = provider_failed()
    rig.lists("m-1", S.IDLE)
    rig.wait(1)
    rig.refuse("m-1", Code.UNAVAILABLE)
    assert rig.state_of("m-1") is S.FAILED
    rig.lists_no_change()
    assert rig.state_of("m-1") is S.IDLE


def test_what_the_provider_called_failed_is_not_asked_for_by_the_clock() -> None:
    rig = provider_failed()
    rig.leap(7200)
    assert rig.gets() == []


def test_a_fenced_machine_does_not_come_back_by_itself() -> None:
    rig = failed_create(Code.FAILED_PRECONDITION)
    for _ in range(5):
        rig.leap(3600)
        rig.lists("m-1", S.SPECULATIVE)
    assert rig.gets() == []
    assert rig.state_of("m-1") is S.FAILED
    view = rig.failures.view("m-1")
    assert view is not None
    assert not view.automatic


def test_a_late_completion_is_taken_over_with_its_stamps() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.refuse("m-1", Code.INTERNAL)
    rig.wait(30)
    rig.show("m-1", S.CONFIGURED)
    rig.lists("m-1", S.CONFIGURED)
    machine = rig.machines.truth("m-1")
    assert machine.state is S.CONFIGURED
    assert machine.assigned == Assigned(500, 4.0, 2.0, SHOP, PROFILE.fingerprint)


def test_no_look_begins_while_a_call_is_without_an_answer() -> None:
    rig = failed_create()
    rig.wait(30)
    rig.leap(3600)
    assert len(rig.unanswered) == 1


def test_a_failure_outlives_the_process() -> None:
    rig = provider_failed()
    later = rig.restarted()
    later.add("m-1", S.FAILED)
    view = later.failures.view("m-1")
    assert view is not None
    assert (view.cause, view.since) == ("provider_failed", rig.now)
    assert later.counts.of("machine_failures_total", cause="provider_failed") == 0


def test_a_machine_given_up_before_the_restart_is_not_waited_for_again() -> None:
    rig = failed_create()
    later = rig.restarted()
    later.add("m-1", S.CREATING)
    later.wait(1)
    assert later.state_of("m-1") is S.FAILED
    assert later.failures.cause_of("m-1") == "provider_error"


def test_a_machine_that_is_well_after_the_restart_is_well() -> None:
    rig = failed_create()
    later = rig.restarted()
    later.add("m-1", S.IDLE)
    later.wait(1)
    assert later.state_of("m-1") is S.IDLE
    later.leap(3601)
    assert later.stored["failures"] == {}


def test_being_fenced_ends_with_the_epoch() -> None:
    rig = failed_create(Code.FAILED_PRECONDITION)
    later = rig.restarted()
    later.add("m-1", S.FAILED)
    later.lists("m-1", S.SPECULATIVE)
    later.lists("m-1", S.SPECULATIVE)
    assert later.state_of("m-1") is S.SPECULATIVE
