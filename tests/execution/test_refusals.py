"""Refusals: what each word of a provider does to the machine."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Ack, Code
from tests.execution.stage import SHOP, Stage, record_of

S = MachineState


def begun(kind: ActionKind) -> Stage:
    """Its call is with the provider."""
    stage = Stage()
    match kind:
        case ActionKind.PROVISION:
            stage.add("m-1", S.SPECULATIVE)
            stage.provision("m-1")
        case ActionKind.BOOTSTRAP:
            stage.add("m-1", S.IDLE)
            stage.bootstrap("m-1")
            stage.give_blob()
        case ActionKind.DELETE:
            stage.add("m-1", S.IDLE)
            stage.delete("m-1")
        case _:
            stage.add("m-1", S.CONFIGURED)
            stage.decide(kind, "m-1")
            stage.acknowledge()
            stage.acknowledge()
    return stage


LABELS = [
    (ActionKind.PROVISION, "provider_error"),
    (ActionKind.BOOTSTRAP, "configure_error"),
    (ActionKind.RECLAIM, "drain_error"),
    (ActionKind.PREEMPT, "drain_error"),
    (ActionKind.DELETE, "delete_error"),
]


@pytest.mark.parametrize(("kind", "label"), LABELS, ids=[k.label for k, _ in LABELS])
def test_a_refused_machine_is_failed_and_says_why(kind: ActionKind, label: str) -> None:
    stage = begun(kind)
    stage.refuse("m-1", Code.INTERNAL, "the rack is on fire")
    machine = stage.machines.truth("m-1")
    assert machine.state is S.FAILED
    assert "the rack is on fire" in machine.last_error
    assert stage.outcome(kind, label) == 1
    assert stage.failures.cause_of("m-1") == label
    assert not stage.execution.is_pending("m-1")


@pytest.mark.parametrize("kind", [kind for kind, _ in LABELS], ids=lambda k: k.label)
def test_a_fenced_machine_is_failed_loudly(kind: ActionKind) -> None:
    stage = begun(kind)
    stage.refuse("m-1", Code.FAILED_PRECONDITION, "stale token")
    assert stage.state_of("m-1") is S.FAILED
    assert stage.outcome(kind, "fenced") == 1
    assert "error" in {log.level for log in stage.logs if log.event == "action_failed"}


@pytest.mark.parametrize("kind", [kind for kind, _ in LABELS], ids=lambda k: k.label)
def test_an_answer_about_another_machine_is_not_believed(kind: ActionKind) -> None:
    stage = begun(kind)
    record = replace(record_of("m-1", S.IDLE), id="m-2")
    stage.answer("m-1", Ack("op", record))
    assert stage.state_of("m-1") is S.FAILED
    assert stage.outcome(kind, "bad_ack") == 1


@pytest.mark.parametrize("state", [S.CONFIGURING, S.CONFIGURED], ids=lambda s: s.label)
def test_a_configure_that_was_another_clusters_is_not_ours(state: MachineState) -> None:
    stage = begun(ActionKind.BOOTSTRAP)
    stage.ack("m-1", state, cluster="bank")
    machine = stage.machines.truth("m-1")
    assert machine.state is S.FAILED
    assert "bank" in machine.last_error
    assert stage.outcomes() == {"bad_ack": 1}


def test_an_accepted_machine_that_fails_at_once_is_failed() -> None:
    stage = begun(ActionKind.PROVISION)
    stage.ack("m-1", S.FAILED)
    assert stage.state_of("m-1") is S.FAILED
    assert stage.outcomes() == {"provider_error": 1}


def test_an_accepted_machine_that_fails_later_is_counted_then() -> None:
    stage = begun(ActionKind.BOOTSTRAP)
    stage.ack("m-1", S.CONFIGURING)
    stage.wait(60)
    stage.lists("m-1", S.FAILED)
    assert stage.outcomes() == {"configure_error": 1}
    assert stage.failures.cause_of("m-1") == "provider_failed"
    assert stage.told_of("m-1")[-1] is S.FAILED


def test_a_provider_out_of_stock_keeps_its_slot() -> None:
    stage = begun(ActionKind.PROVISION)
    stage.refuse("m-1", Code.RESOURCE_EXHAUSTED, "no m5.large left")
    assert stage.state_of("m-1") is S.SPECULATIVE
    assert stage.outcomes() == {"stockout": 1}


def test_exhausted_is_a_refusal_anywhere_but_at_create() -> None:
    stage = begun(ActionKind.BOOTSTRAP)
    stage.refuse("m-1", Code.RESOURCE_EXHAUSTED, "blob too large")
    assert stage.state_of("m-1") is S.FAILED
    assert stage.outcomes() == {"configure_error": 1}


def test_a_failed_machine_of_a_cluster_is_shown_to_it_with_the_error() -> None:
    stage = begun(ActionKind.BOOTSTRAP)
    stage.refuse("m-1", Code.INTERNAL, "no agent")
    assert stage.told_of("m-1", SHOP) == [S.CONFIGURING, S.FAILED]


def test_no_refusal_stops_the_other_machines() -> None:
    stage = begun(ActionKind.PROVISION)
    stage.add("m-2", S.SPECULATIVE)
    stage.refuse("m-1", Code.INTERNAL)
    stage.provision("m-2")
    assert stage.state_of("m-2") is S.CREATING
