"""State deadlines: at the deadline a Get decides."""

import numpy as np
import pytest

from bigfleet.model.batches import NEVER, MachineBatch, Offering
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.rig import CLOUD, SHOP, Rig

S = MachineState
MOVING = [S.CREATING, S.CONFIGURING, S.DRAINING, S.DELETING]
SECONDS = {S.CREATING: 900, S.CONFIGURING: 900, S.DRAINING: 600, S.DELETING: 900}
by_state = pytest.mark.parametrize("state", MOVING, ids=lambda s: s.label)


def moving(state: MachineState) -> Rig:
    rig = Rig()
    rig.add("m-1", state)
    return rig


@by_state
def test_at_its_deadline_a_machine_is_asked_about(state: MachineState) -> None:
    rig = moving(state)
    rig.leap(SECONDS[state] - 1)
    assert rig.gets() == []
    rig.leap(1)
    assert rig.gets() == ["m-1"]
    assert rig.counts.of("transitional_overdue", state=state.name.lower()) == 1


@by_state
def test_past_its_deadline_a_machine_is_not_credited(state: MachineState) -> None:
    rig = moving(state)
    rig.leap(SECONDS[state])
    assert rig.machines.inventory.marks_of("m-1").overdue


@by_state
def test_a_machine_that_still_moves_is_failed(state: MachineState) -> None:
    rig = moving(state)
    rig.leap(SECONDS[state])
    rig.show("m-1", state)
    assert rig.state_of("m-1") is S.FAILED
    assert rig.failures.cause_of("m-1") == f"timeout_{state.name.lower()}"
    rig.leap(1)
    assert rig.counts.of("transitional_overdue", state=state.name.lower()) == 0


@by_state
def test_a_machine_whose_provider_cannot_be_asked_is_failed(state: MachineState) -> None:
    rig = moving(state)
    rig.leap(SECONDS[state])
    rig.refuse("m-1", Code.DEADLINE_EXCEEDED)
    assert rig.failures.cause_of("m-1") == f"timeout_{state.name.lower()}"


@pytest.mark.parametrize(
    ("state", "there"),
    [
        (S.CREATING, S.IDLE),
        (S.CREATING, S.SPECULATIVE),
        (S.CONFIGURING, S.CONFIGURED),
        (S.CONFIGURING, S.IDLE),
        (S.DRAINING, S.IDLE),
        (S.DRAINING, S.CONFIGURED),
        (S.DELETING, S.SPECULATIVE),
        (S.DELETING, S.IDLE),
    ],
    ids=lambda s: s.label,
)
def test_a_machine_that_is_at_rest_is_taken_over(state: MachineState, there: MachineState) -> None:
    rig = moving(state)
    rig.leap(SECONDS[state])
    rig.show("m-1", there)
    assert rig.state_of("m-1") is there
    assert rig.failures.view("m-1") is None


def test_a_machine_that_arrives_in_time_is_not_asked_about() -> None:
    rig = moving(S.CREATING)
    rig.leap(800)
    rig.lists("m-1", S.IDLE)
    rig.leap(800)
    assert rig.gets() == []


def test_every_phase_has_a_deadline_of_its_own() -> None:
    rig = moving(S.CREATING)
    rig.leap(800)
    rig.lists("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.ack("m-1", S.CONFIGURING)
    rig.leap(800)
    assert rig.gets() == []
    rig.leap(100)
    assert rig.gets() == ["m-1"]


def test_a_call_under_way_is_waited_for() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.leap(1000)
    assert rig.gets() == []
    rig.ack("m-1", S.CREATING)
    rig.leap(1)
    assert rig.gets() == ["m-1"]


def test_a_deadline_ends_the_action_that_was_under_way() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.ack("m-1", S.CREATING)
    rig.leap(900)
    rig.show("m-1", S.CREATING)
    assert rig.outcomes() == {"timeout_creating": 1}


def first_list(state_of: dict[str, MachineState]) -> MachineBatch:
    states = list(state_of.values())
    bound = np.array([0 if state is S.DRAINING else -1 for state in states], np.int32)
    size = len(states)
    return MachineBatch(
        ids=list(state_of),
        offerings=[Offering(CapacityType.ON_DEMAND, "m5.large", "eu-1a")],
        clusters=[SHOP],
        stamps=[],
        offering_of_machine=np.zeros(size, np.int32),
        state_of_machine=np.array(states, np.int8),
        cluster_of_machine=bound,
        stamp_of_machine=np.full(size, -1, np.int32),
        idle_since_of_machine=np.full(size, NEVER, np.int64),
    )


def test_machines_on_their_way_at_the_first_list_have_deadlines_too() -> None:
    rig = Rig()
    batch = first_list({"m-1": S.CREATING, "m-2": S.IDLE, "m-3": S.DRAINING})
    rig.machines.load(batch, CLOUD, rig.now)
    rig.leap(900)
    assert sorted(rig.gets()) == ["m-1", "m-3"]
