"""The pool: how much is under way at a time, and who is pending."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.shard.execution.pool import ActionPool
from bigfleet.shard.settings import ExecuteSettings, ShardSettings
from tests.execution.rig import Rig

S = MachineState


def narrow_rig(concurrency: int) -> Rig:
    execute = ExecuteSettings(concurrency=concurrency, queue_factor=2)
    return Rig(replace(ShardSettings(), execute=execute))


def test_no_more_calls_than_slots() -> None:
    rig = narrow_rig(2)
    for name in ("m-1", "m-2", "m-3"):
        rig.add(name, S.SPECULATIVE)
        rig.provision(name)
    assert len(rig.unanswered) == 2
    assert (rig.execution.in_flight, rig.execution.queue_depth) == (2, 1)


def test_an_accepted_call_makes_room_for_the_next_action() -> None:
    rig = narrow_rig(1)
    for name in ("m-1", "m-2"):
        rig.add(name, S.SPECULATIVE)
        rig.provision(name)
    rig.ack("m-1", S.CREATING)
    assert [c.call.machine_id for c in rig.unanswered] == ["m-2"]


def test_a_full_queue_takes_nothing_more() -> None:
    rig = narrow_rig(1)
    names = [f"m-{n}" for n in range(5)]
    for name in names:
        rig.add(name, S.SPECULATIVE)
    assert [rig.provision(name) for name in names] == [True, True, True, False, False]
    assert rig.execution.room() == 0
    assert not rig.execution.is_pending("m-3")


def test_a_machine_has_one_pending_action() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    assert rig.bootstrap("m-1")
    assert not rig.delete("m-1")
    pending = rig.execution.pending("m-1")
    assert pending is not None
    assert pending.kind is ActionKind.BOOTSTRAP


def test_what_changed_while_it_waited_is_not_started() -> None:
    rig = narrow_rig(1)
    rig.add("m-1", S.SPECULATIVE)
    rig.add("m-2", S.IDLE)
    rig.provision("m-1")
    rig.delete("m-2")
    gone = replace(rig.machines.truth("m-2"), state=S.CONFIGURING, cluster="other")
    rig.machines.step(gone, rig.now, "taken by hand", adopted=True)
    rig.refuse("m-1", Code.INTERNAL)
    assert rig.outcome(ActionKind.DELETE, "transition_raced") == 1
    assert rig.state_of("m-2") is S.CONFIGURING
    assert not rig.execution.is_pending("m-2")


def test_what_is_paused_while_it_waits_is_not_started() -> None:
    rig = narrow_rig(1)
    rig.add("m-1", S.SPECULATIVE)
    rig.add("m-2", S.SPECULATIVE)
    rig.provision("m-1")
    rig.provision("m-2")
    rig.pause(ActionKind.PROVISION)
    rig.ack("m-1", S.CREATING)
    assert rig.state_of("m-2") is S.SPECULATIVE
    assert rig.outcome(ActionKind.PROVISION, "cancelled") == 1


def test_no_action_waits_behind_a_provider_at_its_limit() -> None:
    pool = ActionPool(concurrency=10, queue_factor=2, per_provider=1)
    for machine, provider in (("a-1", "a"), ("a-2", "a"), ("b-1", "b")):
        pool.wait(machine, provider)
    assert [pool.start(), pool.start(), pool.start()] == ["a-1", "b-1", None]
    pool.leave("a-1")
    assert pool.start() == "a-2"


def test_a_stop_starts_nothing_and_loses_nothing() -> None:
    rig = narrow_rig(1)
    for name in ("m-1", "m-2"):
        rig.add(name, S.SPECULATIVE)
        rig.provision(name)
    rig.execution.stop(rig.now)
    assert rig.execution.room() == 0
    assert rig.outcomes() == {"cancelled": 1}
    rig.ack("m-1", S.IDLE)
    assert rig.blob_requests() == []
    assert rig.outcomes() == {"cancelled": 2}
    assert (rig.state_of("m-1"), rig.state_of("m-2")) == (S.IDLE, S.SPECULATIVE)


def test_what_is_still_under_way_when_the_time_is_over_is_left_to_the_next_life() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.execution.stop(rig.now)
    rig.execution.abandon(rig.now)
    assert rig.outcomes() == {"cancelled": 1}
    assert rig.state_of("m-1") is S.CREATING


def test_a_stopping_shard_begins_no_drain_and_keeps_it_for_the_next_life() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.reclaim("m-1")
    rig.acknowledge()
    rig.execution.stop(rig.now)
    rig.acknowledge()
    assert rig.mutations() == []
    assert rig.state_of("m-1") is S.CONFIGURED
    later = rig.restarted()
    later.add("m-1", S.CONFIGURED)
    later.wait(1)
    assert len(later.mutations()) == 1
