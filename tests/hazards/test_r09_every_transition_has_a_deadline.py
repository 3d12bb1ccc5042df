"""R09: transitional states without deadline. Each has one, and a late end is still an end."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from tests.execution.stage import Stage

S = MachineState

WALKS = [
    (ActionKind.PROVISION, S.SPECULATIVE, S.CREATING, S.IDLE, 900),
    (ActionKind.BOOTSTRAP, S.IDLE, S.CONFIGURING, S.CONFIGURED, 900),
    (ActionKind.PREEMPT, S.CONFIGURED, S.DRAINING, S.IDLE, 120 + 600),
    (ActionKind.DELETE, S.IDLE, S.DELETING, S.SPECULATIVE, 900),
]
by_walk = pytest.mark.parametrize(
    ("kind", "first", "moving", "last", "seconds"), WALKS, ids=[walk[2].label for walk in WALKS]
)


def hanging(kind: ActionKind, first: MachineState, moving: MachineState) -> Stage:
    """The provider has accepted, and nothing more is heard of it."""
    stage = Stage()
    stage.add("m-1", first)
    stage.decide(kind, "m-1", grace_seconds=120)
    if kind is ActionKind.BOOTSTRAP:
        stage.give_blob()
    if kind is ActionKind.PREEMPT:
        stage.acknowledge()
        stage.acknowledge()
    stage.ack("m-1", moving)
    assert stage.state_of("m-1") is moving
    return stage


@by_walk
def test_a_provider_that_hangs_is_given_up_at_the_deadline(
    kind: ActionKind,
    first: MachineState,
    moving: MachineState,
    last: MachineState,
    seconds: int,
) -> None:
    stage = hanging(kind, first, moving)
    stage.leap(seconds - 1)
    assert stage.gets() == []
    assert not stage.machines.inventory.marks_of("m-1").overdue
    stage.leap(1)
    assert stage.machines.inventory.marks_of("m-1").overdue
    stage.show("m-1", moving)
    assert stage.state_of("m-1") is S.FAILED
    assert stage.outcomes() == {f"timeout_{moving.name.lower()}": 1}


@by_walk
def test_a_late_completion_is_taken_over(
    kind: ActionKind,
    first: MachineState,
    moving: MachineState,
    last: MachineState,
    seconds: int,
) -> None:
    stage = hanging(kind, first, moving)
    stage.leap(seconds)
    stage.show("m-1", moving)
    stage.wait(30)
    stage.show("m-1", last)
    stage.lists("m-1", last)
    assert stage.state_of("m-1") is last


@by_walk
def test_a_deadline_is_noticed_once(
    kind: ActionKind,
    first: MachineState,
    moving: MachineState,
    last: MachineState,
    seconds: int,
) -> None:
    stage = hanging(kind, first, moving)
    stage.leap(seconds)
    stage.wait(5)
    assert len(stage.gets()) == 1
