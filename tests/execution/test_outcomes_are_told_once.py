"""Outcomes: one per action, in the metrics, the audit log and the story."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Ack, Code
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.events import CallAnswered
from tests.execution.rig import SHOP, Rig, record_of

S = MachineState


def test_the_audit_line_of_a_bootstrap_has_every_field() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.ack("m-1", S.CONFIGURED)
    (line,) = rig.audit
    assert line == {
        "time": "1970-01-12T13:46:40Z",
        "cycle": 3,
        "kind": "Bootstrap",
        "machine": "m-1",
        "cluster": SHOP,
        "reason": "Bootstrap for a test",
        "grace_seconds": 120,
        "disposition": "enqueued",
        "outcome": "success",
    }


def test_a_second_answer_to_one_call_changes_nothing() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    call = rig.call_of("m-1")
    rig.ack("m-1", S.CREATING)
    again = CallAnswered(call, Ack("op", record_of("m-1", S.IDLE)), rig.now)
    assert not rig.execution.on_answer(again)
    assert rig.state_of("m-1") is S.CREATING
    assert rig.outcomes() == {}


def test_a_machine_that_is_taken_away_ends_its_action() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.machines.remove("m-1", rig.now, "owned by another shard", StorySource.COORDINATOR)
    assert not rig.execution.is_pending("m-1")
    assert rig.execution.in_flight == 0
    rig.ack("m-1", S.IDLE)
    assert "m-1" not in rig.machines
    assert rig.outcomes() == {"transition_raced": 1}


def test_a_machine_that_came_back_waits_for_the_answer_to_its_old_call() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.machines.remove("m-1", rig.now, "vanished", StorySource.PROVIDER)
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    assert len(rig.unanswered) == 1
    assert rig.state_of("m-1") is S.SPECULATIVE


def test_a_story_names_the_operation_and_the_sequence() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.ack("m-1", S.CREATING)
    events = list(rig.effects.stories.of("m-1"))
    assert [(e.shard_epoch, e.sequence) for e in events if e.sequence] == [(7, 1)]
    assert [e.operation_id for e in events if e.operation_id] == ["op-m-1"]


def test_a_story_says_why_the_machine_was_taken() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    assert "Bootstrap for a test" in rig.story_of("m-1")
    rig.add("m-2", S.SPECULATIVE)
    rig.provision("m-2")
    assert "Provision for a test" in rig.story_of("m-2")


def test_calls_are_measured_by_provider_and_rpc() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.wait(2)
    rig.refuse("m-1", Code.INTERNAL)
    key = ("provider_rpc_seconds", (("provider", "cloud"), ("rpc", "Create")))
    assert rig.counts.histograms[key].total == 2.0
    labels = {"provider": "cloud", "rpc": "Create", "code": "INTERNAL"}
    assert rig.counts.of("provider_rpc_errors_total", **labels) == 1


def test_an_impossible_delete_is_not_tried_again() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    assert rig.machines.inventory.marks_of("m-1").idle_since is not None
    rig.delete("m-1")
    rig.refuse("m-1", Code.UNIMPLEMENTED)
    assert rig.state_of("m-1") is S.IDLE
    assert rig.outcome(ActionKind.DELETE, "delete_error") == 1
    assert rig.machines.inventory.marks_of("m-1").idle_since is None
    rig.bootstrap("m-1")
    rig.wait(30)
    assert rig.state_of("m-1") is S.IDLE
    assert rig.machines.inventory.marks_of("m-1").idle_since is None
