"""A reservation ends with the drain it waits for, whenever that is given up."""

from bigfleet.model.machines import MachineState
from bigfleet.shard.cycle import deliberate
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.stand import Stand, machine


def preempting() -> Stand:
    """Cluster shop waits for m-1, which is taken from cluster farm."""
    stand = Stand(ShardSettings(), [machine("m-1", MachineState.CONFIGURED, "farm")])
    stand.report(0, 8)
    stand.cycle()
    assert set(stand.state.decision_loop.memory.reservations) == {"m-1"}
    return stand


def test_a_drain_given_up_while_the_engine_thinks_leaves_no_reservation() -> None:
    stand = preempting()
    state = stand.state
    given = state.begin_cycle(stand.at)
    thought = deliberate(given, map, lambda: 0.0)
    assert "m-1" in thought.decision.memory.reservations
    state.decision_loop.abandon("m-1")
    stand.obey(state.end_cycle(thought, stand.at, 0.0))
    assert state.decision_loop.memory.reservations == {}


def test_what_was_given_up_before_may_be_reserved_again() -> None:
    stand = preempting()
    parts = stand.state.parts
    parts.drains.on_change(parts.machines.truth("m-1"), None, stand.at)
    assert stand.state.decision_loop.memory.reservations == {}
    stand.cycle()
    assert set(stand.state.decision_loop.memory.reservations) == {"m-1"}
