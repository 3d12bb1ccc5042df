"""Worked cases H28 and H33-H38: execution."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, Host, MachineState
from bigfleet.model.provider_calls import Ack, Code
from bigfleet.shard.settings import DrainSettings, ShardSettings
from tests.execution.rig import Rig, record_of

S = MachineState


def without_sessions() -> Rig:
    """As the inline entry runs it: without a session the provider drains."""
    drain = DrainSettings(reclaim_without_session="provider")
    rig = Rig(replace(ShardSettings(), drain=drain))
    rig.disconnect()
    rig.add("m-1", S.CONFIGURED)
    return rig


def test_h28_a_create_ack_with_a_negative_price_is_rejected() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE, price_per_hour=3.0)
    rig.provision("m-1")
    rig.answer("m-1", Ack("op", replace(record_of("m-1", S.IDLE), price_per_hour=-42.0)))
    machine = rig.machines.truth("m-1")
    assert machine.state is S.FAILED
    assert "ack rejected" in machine.last_error
    assert machine.price_per_hour == 3.0


def test_h33_a_deleted_idle_machine_is_a_slot_again() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.delete("m-1")
    rig.ack("m-1", S.SPECULATIVE)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.host) == (S.SPECULATIVE, Host())


def test_h34_a_repeated_delete_changes_nothing() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.delete("m-1")
    rig.ack("m-1", S.SPECULATIVE)
    rig.delete("m-1")
    assert rig.state_of("m-1") is S.SPECULATIVE
    assert len(rig.mutations()) == 1


def test_h35_a_delete_of_a_configuring_machine_does_nothing() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURING)
    rig.delete("m-1")
    assert rig.state_of("m-1") is S.CONFIGURING
    assert rig.mutations() == []


def test_h36_a_delete_the_provider_refuses_makes_the_machine_failed() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.delete("m-1")
    rig.refuse("m-1", Code.INTERNAL, "the disk is locked")
    machine = rig.machines.truth("m-1")
    assert machine.state is S.FAILED
    assert "the disk is locked" in machine.last_error


def test_h37_a_reclaim_without_session_frees_the_machine_and_says_so() -> None:
    rig = without_sessions()
    rig.reclaim("m-1")
    rig.ack("m-1", S.IDLE)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.cluster, machine.assigned) == (S.IDLE, "", Assigned())
    assert [log.text for log in rig.logs if "reclaim fallback" in log.text] != []


def test_h38_a_preempt_without_session_frees_the_machine_and_says_nothing_of_the_kind() -> None:
    rig = without_sessions()
    rig.decide(ActionKind.PREEMPT, "m-1", grace_seconds=30)
    rig.wait(30)
    rig.ack("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE
    assert [log.text for log in rig.logs if "reclaim fallback" in log.text] == []
