"""The pool: how much is under way at a time, and who is pending."""

from dataclasses import replace

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.shard.execution.pool import Pool
from bigfleet.shard.settings import ExecuteSettings, ShardSettings
from tests.execution.stage import Stage

S = MachineState


def narrow_stage(concurrency: int) -> Stage:
    execute = ExecuteSettings(concurrency=concurrency, queue_factor=2)
    return Stage(replace(ShardSettings(), execute=execute))


def test_no_more_calls_than_slots() -> None:
    stage = narrow_stage(2)
    for name in ("m-1", "m-2", "m-3"):
        stage.add(name, S.SPECULATIVE)
        stage.provision(name)
    assert len(stage.unanswered) == 2
    assert (stage.execution.in_flight, stage.execution.queue_depth) == (2, 1)


def test_an_accepted_call_makes_room_for_the_next_action() -> None:
    stage = narrow_stage(1)
    for name in ("m-1", "m-2"):
        stage.add(name, S.SPECULATIVE)
        stage.provision(name)
    stage.ack("m-1", S.CREATING)
    assert [c.call.machine_id for c in stage.unanswered] == ["m-2"]


def test_a_full_queue_takes_nothing_more() -> None:
    stage = narrow_stage(1)
    names = [f"m-{n}" for n in range(5)]
    for name in names:
        stage.add(name, S.SPECULATIVE)
    assert [stage.provision(name) for name in names] == [True, True, True, False, False]
    assert stage.execution.room() == 0
    assert not stage.execution.is_pending("m-3")


def test_a_machine_has_one_pending_action() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    assert stage.bootstrap("m-1")
    assert not stage.delete("m-1")
    pending = stage.execution.pending("m-1")
    assert pending is not None
    assert pending.kind is ActionKind.BOOTSTRAP


def test_what_changed_while_it_waited_is_not_started() -> None:
    stage = narrow_stage(1)
    stage.add("m-1", S.SPECULATIVE)
    stage.add("m-2", S.IDLE)
    stage.provision("m-1")
    stage.delete("m-2")
    gone = replace(stage.machines.truth("m-2"), state=S.CONFIGURING, cluster="other")
    stage.machines.step(gone, stage.now, "taken by hand", adopted=True)
    stage.refuse("m-1", Code.INTERNAL)
    assert stage.outcome(ActionKind.DELETE, "transition_raced") == 1
    assert stage.state_of("m-2") is S.CONFIGURING
    assert not stage.execution.is_pending("m-2")


def test_what_is_paused_while_it_waits_is_not_started() -> None:
    stage = narrow_stage(1)
    stage.add("m-1", S.SPECULATIVE)
    stage.add("m-2", S.SPECULATIVE)
    stage.provision("m-1")
    stage.provision("m-2")
    stage.pause(ActionKind.PROVISION)
    stage.ack("m-1", S.CREATING)
    assert stage.state_of("m-2") is S.SPECULATIVE
    assert stage.outcome(ActionKind.PROVISION, "cancelled") == 1


def test_nobody_waits_behind_a_provider_that_has_its_fill() -> None:
    pool = Pool(concurrency=10, queue_factor=2, per_provider=1)
    for machine, provider in (("a-1", "a"), ("a-2", "a"), ("b-1", "b")):
        pool.wait(machine, provider)
    assert [pool.start(), pool.start(), pool.start()] == ["a-1", "b-1", None]
    pool.leave("a-1")
    assert pool.start() == "a-2"


def test_a_stop_starts_nothing_and_loses_nothing() -> None:
    stage = narrow_stage(1)
    for name in ("m-1", "m-2"):
        stage.add(name, S.SPECULATIVE)
        stage.provision(name)
    stage.execution.stop(stage.now)
    assert stage.execution.room() == 0
    assert stage.outcomes() == {"cancelled": 1}
    stage.ack("m-1", S.IDLE)
    assert stage.blob_requests() == []
    assert stage.outcomes() == {"cancelled": 2}
    assert (stage.state_of("m-1"), stage.state_of("m-2")) == (S.IDLE, S.SPECULATIVE)


def test_what_is_still_under_way_when_the_time_is_over_is_left_to_the_next_life() -> None:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.execution.stop(stage.now)
    stage.execution.abandon(stage.now)
    assert stage.outcomes() == {"cancelled": 1}
    assert stage.state_of("m-1") is S.CREATING


def test_a_stopping_shard_begins_no_drain_and_keeps_it_for_the_next_life() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.reclaim("m-1")
    stage.acknowledge()
    stage.execution.stop(stage.now)
    stage.acknowledge()
    assert stage.mutations() == []
    assert stage.state_of("m-1") is S.CONFIGURED
    later = stage.restarted()
    later.add("m-1", S.CONFIGURED)
    later.wait(1)
    assert len(later.mutations()) == 1
