"""A call that broke off may have been carried out: only a Get can tell."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.stage import SHOP, Stage

S = MachineState
LOST = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED)


def lost_create(code: Code = Code.UNAVAILABLE) -> Stage:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.refuse("m-1", code, "connection reset")
    return stage


def lost_configure() -> Stage:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.give_blob()
    stage.refuse("m-1", Code.UNAVAILABLE)
    return stage


@pytest.mark.parametrize("code", LOST, ids=str)
def test_the_machine_stays_on_its_way_until_somebody_knows(code: Code) -> None:
    stage = lost_create(code)
    assert stage.state_of("m-1") is S.CREATING
    assert stage.execution.is_pending("m-1")
    assert stage.execution.in_flight == 0
    assert stage.outcomes() == {}


def test_gets_come_after_a_second_and_then_less_and_less_often() -> None:
    stage = lost_create()
    gaps, last = [], stage.now
    for _ in range(7):
        while not stage.unanswered:
            stage.wait(1)
        gaps.append((stage.now - last) // 1_000_000_000)
        last = stage.now
        stage.refuse("m-1", Code.UNAVAILABLE)
    assert gaps == [1, 2, 4, 8, 15, 15, 15]


def test_what_the_provider_never_began_is_rolled_back() -> None:
    stage = lost_create()
    stage.wait(1)
    stage.show("m-1", S.SPECULATIVE)
    machine = stage.machines.truth("m-1")
    assert (machine.state, machine.assigned) == (S.SPECULATIVE, Assigned())
    assert stage.outcomes() == {"unknown_rolled_back": 1}
    assert not stage.execution.is_pending("m-1")


def test_what_the_provider_is_at_goes_on() -> None:
    stage = lost_create()
    stage.wait(1)
    stage.show("m-1", S.CREATING)
    assert stage.machines.truth("m-1").assigned.cluster == SHOP
    assert not stage.execution.is_pending("m-1")
    stage.lists("m-1", S.IDLE)
    assert stage.outcomes() == {"unknown_resolved": 1}


def test_what_the_provider_has_done_is_done() -> None:
    stage = lost_create()
    stage.wait(1)
    stage.show("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE
    assert stage.outcomes() == {"unknown_resolved": 1}


def test_a_configured_machine_is_found_and_stamped() -> None:
    stage = lost_configure()
    stage.wait(1)
    stage.show("m-1", S.CONFIGURED)
    machine = stage.machines.truth("m-1")
    assert (machine.state, machine.assigned.priority) == (S.CONFIGURED, 500)
    assert stage.outcomes() == {"unknown_resolved": 1}


def test_a_machine_that_came_to_serve_another_cluster_is_not_taken_for_ours() -> None:
    stage = lost_configure()
    stage.wait(1)
    stage.show("m-1", S.CONFIGURED, cluster="bank")
    machine = stage.machines.truth("m-1")
    assert (machine.state, machine.cluster) == (S.CONFIGURED, "bank")
    assert stage.outcome(ActionKind.BOOTSTRAP, "unknown_rolled_back") == 1


def test_a_machine_the_provider_calls_failed_is_failed() -> None:
    stage = lost_configure()
    stage.wait(1)
    stage.show("m-1", S.FAILED)
    assert stage.state_of("m-1") is S.FAILED
    assert stage.outcomes() == {"configure_error": 1}


def test_a_machine_the_provider_no_longer_knows_is_failed() -> None:
    stage = lost_create()
    stage.wait(1)
    stage.refuse("m-1", Code.NOT_FOUND)
    assert stage.state_of("m-1") is S.FAILED
    assert stage.outcomes() == {"provider_error": 1}


def test_a_lost_delete_is_found_out_about_too() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.delete("m-1")
    stage.refuse("m-1", Code.DEADLINE_EXCEEDED)
    stage.wait(1)
    stage.show("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE
    assert stage.outcomes() == {"unknown_rolled_back": 1}


def test_a_provider_that_never_answers_again_leaves_nothing_pending_for_ever() -> None:
    stage = lost_create()
    stage.wait(899)
    while stage.state_of("m-1") is S.CREATING:
        if stage.unanswered:
            stage.refuse("m-1", Code.UNAVAILABLE)
        stage.wait(1)
    assert stage.failures.cause_of("m-1") == "timeout_creating"
    assert stage.outcomes() == {"timeout_creating": 1}
    assert not stage.execution.is_pending("m-1")
