"""Refusals: what each word of a provider does to the machine."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Ack, Code
from tests.execution.rig import SHOP, Rig, record_of

S = MachineState


def begun(kind: ActionKind) -> Rig:
    """Its call is with the provider."""
    rig = Rig()
    match kind:
        case ActionKind.PROVISION:
            rig.add("m-1", S.SPECULATIVE)
            rig.provision("m-1")
        case ActionKind.BOOTSTRAP:
            rig.add("m-1", S.IDLE)
            rig.bootstrap("m-1")
            rig.give_blob()
        case ActionKind.DELETE:
            rig.add("m-1", S.IDLE)
            rig.delete("m-1")
        case _:
            rig.add("m-1", S.CONFIGURED)
            rig.decide(kind, "m-1")
            rig.acknowledge()
            rig.acknowledge()
    return rig


LABELS = [
    (ActionKind.PROVISION, "provider_error"),
    (ActionKind.BOOTSTRAP, "configure_error"),
    (ActionKind.RECLAIM, "drain_error"),
    (ActionKind.PREEMPT, "drain_error"),
    (ActionKind.DELETE, "delete_error"),
]


@pytest.mark.parametrize(("kind", "label"), LABELS, ids=[k.label for k, _ in LABELS])
def test_a_refused_machine_is_failed_and_says_why(kind: ActionKind, label: str) -> None:
    rig = begun(kind)
    rig.refuse("m-1", Code.INTERNAL, "the rack is on fire")
    machine = rig.machines.truth("m-1")
    assert machine.state is S.FAILED
    assert "the rack is on fire" in machine.last_error
    assert rig.outcome(kind, label) == 1
    assert rig.failures.cause_of("m-1") == label
    assert not rig.execution.is_pending("m-1")


@pytest.mark.parametrize("kind", [kind for kind, _ in LABELS], ids=lambda k: k.label)
def test_a_fenced_machine_is_failed_loudly(kind: ActionKind) -> None:
    rig = begun(kind)
    rig.refuse("m-1", Code.FAILED_PRECONDITION, "stale token")
    assert rig.state_of("m-1") is S.FAILED
    assert rig.outcome(kind, "fenced") == 1
    assert "error" in {log.level for log in rig.logs if log.event == "action_failed"}


@pytest.mark.parametrize("kind", [kind for kind, _ in LABELS], ids=lambda k: k.label)
def test_an_answer_about_another_machine_is_not_believed(kind: ActionKind) -> None:
    rig = begun(kind)
    record = replace(record_of("m-1", S.IDLE), id="m-2")
    rig.answer("m-1", Ack("op", record))
    assert rig.state_of("m-1") is S.FAILED
    assert rig.outcome(kind, "bad_ack") == 1


@pytest.mark.parametrize("state", [S.CONFIGURING, S.CONFIGURED], ids=lambda s: s.label)
def test_a_configure_that_was_another_clusters_is_not_ours(state: MachineState) -> None:
    rig = begun(ActionKind.BOOTSTRAP)
    rig.ack("m-1", state, cluster="bank")
    machine = rig.machines.truth("m-1")
    assert machine.state is S.FAILED
    assert "bank" in machine.last_error
    assert rig.outcomes() == {"bad_ack": 1}


def test_an_accepted_machine_that_fails_at_once_is_failed() -> None:
    rig = begun(ActionKind.PROVISION)
    rig.ack("m-1", S.FAILED)
    assert rig.state_of("m-1") is S.FAILED
    assert rig.outcomes() == {"provider_error": 1}


def test_an_accepted_machine_that_fails_later_is_counted_then() -> None:
    rig = begun(ActionKind.BOOTSTRAP)
    rig.ack("m-1", S.CONFIGURING)
    rig.wait(60)
    rig.lists("m-1", S.FAILED)
    assert rig.outcomes() == {"configure_error": 1}
    assert rig.failures.cause_of("m-1") == "provider_failed"
    assert rig.told_of("m-1")[-1] is S.FAILED


def test_a_provider_out_of_stock_keeps_its_slot() -> None:
    rig = begun(ActionKind.PROVISION)
    rig.refuse("m-1", Code.RESOURCE_EXHAUSTED, "no m5.large left")
    assert rig.state_of("m-1") is S.SPECULATIVE
    assert rig.outcomes() == {"stockout": 1}


def test_exhausted_is_a_refusal_anywhere_but_at_create() -> None:
    rig = begun(ActionKind.BOOTSTRAP)
    rig.refuse("m-1", Code.RESOURCE_EXHAUSTED, "blob too large")
    assert rig.state_of("m-1") is S.FAILED
    assert rig.outcomes() == {"configure_error": 1}


def test_a_failed_machine_of_a_cluster_is_shown_to_it_with_the_error() -> None:
    rig = begun(ActionKind.BOOTSTRAP)
    rig.refuse("m-1", Code.INTERNAL, "no agent")
    assert rig.told_of("m-1", SHOP) == [S.CONFIGURING, S.FAILED]


def test_no_refusal_stops_the_other_machines() -> None:
    rig = begun(ActionKind.PROVISION)
    rig.add("m-2", S.SPECULATIVE)
    rig.refuse("m-1", Code.INTERNAL)
    rig.provision("m-2")
    assert rig.state_of("m-2") is S.CREATING
