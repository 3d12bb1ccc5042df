"""A reservation ends with the drain it waits for, whenever that is given up."""

from bigfleet.model.machines import MachineState
from bigfleet.shard.cycle import deliberate
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.rig import Rig, machine


def preempting() -> Rig:
    """Cluster shop waits for m-1, which is taken from cluster farm."""
    rig = Rig(ShardSettings(), [machine("m-1", MachineState.CONFIGURED, "farm")])
    rig.report(0, 8)
    rig.cycle()
    assert set(rig.state.decision_loop.memory.reservations) == {"m-1"}
    return rig


def test_a_drain_given_up_while_the_engine_thinks_leaves_no_reservation() -> None:
    rig = preempting()
    state = rig.state
    given = state.begin_cycle(rig.at)
    thought = deliberate(given, map, lambda: 0.0)
    assert "m-1" in thought.decision.memory.reservations
    state.decision_loop.abandon("m-1")
    rig.obey(state.end_cycle(thought, rig.at, 0.0))
    assert state.decision_loop.memory.reservations == {}


def test_what_was_given_up_before_may_be_reserved_again() -> None:
    rig = preempting()
    parts = rig.state.parts
    parts.drains.on_change(parts.machines.truth("m-1"), None, rig.at)
    assert rig.state.decision_loop.memory.reservations == {}
    rig.cycle()
    assert set(rig.state.decision_loop.memory.reservations) == {"m-1"}
