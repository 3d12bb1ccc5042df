"""A call that broke off may have been carried out: only a Get can tell."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.rig import SHOP, Rig

S = MachineState
LOST = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED)


def lost_create(code: Code = Code.UNAVAILABLE) -> Rig:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.refuse("m-1", code, "connection reset")
    return rig


def lost_configure() -> Rig:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.refuse("m-1", Code.UNAVAILABLE)
    return rig


@pytest.mark.parametrize("code", LOST, ids=str)
def test_the_machine_stays_on_its_way_until_the_provider_says_how_it_ended(code: Code) -> None:
    rig = lost_create(code)
    assert rig.state_of("m-1") is S.CREATING
    assert rig.execution.is_pending("m-1")
    assert rig.execution.in_flight == 0
    assert rig.outcomes() == {}


def test_gets_come_after_a_second_and_then_less_and_less_often() -> None:
    rig = lost_create()
    gaps, last = [], rig.now
    for _ in range(7):
        while not rig.unanswered:
            rig.wait(1)
        gaps.append((rig.now - last) // 1_000_000_000)
        last = rig.now
        rig.refuse("m-1", Code.UNAVAILABLE)
    assert gaps == [1, 2, 4, 8, 15, 15, 15]


def test_what_the_provider_never_began_is_rolled_back() -> None:
    rig = lost_create()
    rig.wait(1)
    rig.show("m-1", S.SPECULATIVE)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.assigned) == (S.SPECULATIVE, Assigned())
    assert rig.outcomes() == {"unknown_rolled_back": 1}
    assert not rig.execution.is_pending("m-1")


def test_what_the_provider_is_at_goes_on() -> None:
    rig = lost_create()
    rig.wait(1)
    rig.show("m-1", S.CREATING)
    assert rig.machines.truth("m-1").assigned.cluster == SHOP
    assert not rig.execution.is_pending("m-1")
    rig.lists("m-1", S.IDLE)
    assert rig.outcomes() == {"unknown_resolved": 1}


def test_what_the_provider_has_done_is_done() -> None:
    rig = lost_create()
    rig.wait(1)
    rig.show("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE
    assert rig.outcomes() == {"unknown_resolved": 1}


def test_a_configured_machine_is_found_and_stamped() -> None:
    rig = lost_configure()
    rig.wait(1)
    rig.show("m-1", S.CONFIGURED)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.assigned.priority) == (S.CONFIGURED, 500)
    assert rig.outcomes() == {"unknown_resolved": 1}


def test_a_machine_that_came_to_serve_another_cluster_is_not_taken_for_ours() -> None:
    rig = lost_configure()
    rig.wait(1)
    rig.show("m-1", S.CONFIGURED, cluster="bank")
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.cluster) == (S.CONFIGURED, "bank")
    assert rig.outcome(ActionKind.BOOTSTRAP, "unknown_rolled_back") == 1


def test_a_machine_the_provider_calls_failed_is_failed() -> None:
    rig = lost_configure()
    rig.wait(1)
    rig.show("m-1", S.FAILED)
    assert rig.state_of("m-1") is S.FAILED
    assert rig.outcomes() == {"configure_error": 1}


def test_a_machine_the_provider_no_longer_knows_is_failed() -> None:
    rig = lost_create()
    rig.wait(1)
    rig.refuse("m-1", Code.NOT_FOUND)
    assert rig.state_of("m-1") is S.FAILED
    assert rig.outcomes() == {"provider_error": 1}


def test_a_lost_delete_is_found_out_about_too() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.delete("m-1")
    rig.refuse("m-1", Code.DEADLINE_EXCEEDED)
    rig.wait(1)
    rig.show("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE
    assert rig.outcomes() == {"unknown_rolled_back": 1}


def test_a_provider_that_never_answers_again_leaves_nothing_pending_for_ever() -> None:
    rig = lost_create()
    rig.wait(899)
    while rig.state_of("m-1") is S.CREATING:
        if rig.unanswered:
            rig.refuse("m-1", Code.UNAVAILABLE)
        rig.wait(1)
    assert rig.failures.cause_of("m-1") == "timeout_creating"
    assert rig.outcomes() == {"timeout_creating": 1}
    assert not rig.execution.is_pending("m-1")
