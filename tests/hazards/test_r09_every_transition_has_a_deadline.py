"""R09: transitional states without deadline. Each has one, and a late end is still an end."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from tests.execution.rig import Rig

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


def hanging(kind: ActionKind, first: MachineState, moving: MachineState) -> Rig:
    """The provider has accepted, and nothing more is heard of it."""
    rig = Rig()
    rig.add("m-1", first)
    rig.decide(kind, "m-1", grace_seconds=120)
    if kind is ActionKind.BOOTSTRAP:
        rig.give_blob()
    if kind is ActionKind.PREEMPT:
        rig.acknowledge()
        rig.acknowledge()
    rig.ack("m-1", moving)
    assert rig.state_of("m-1") is moving
    return rig


@by_walk
def test_a_provider_that_hangs_is_given_up_at_the_deadline(
    kind: ActionKind,
    first: MachineState,
    moving: MachineState,
    last: MachineState,
    seconds: int,
) -> None:
    rig = hanging(kind, first, moving)
    rig.leap(seconds - 1)
    assert rig.gets() == []
    assert not rig.machines.inventory.marks_of("m-1").overdue
    rig.leap(1)
    assert rig.machines.inventory.marks_of("m-1").overdue
    rig.show("m-1", moving)
    assert rig.state_of("m-1") is S.FAILED
    assert rig.outcomes() == {f"timeout_{moving.name.lower()}": 1}


@by_walk
def test_a_late_completion_is_taken_over(
    kind: ActionKind,
    first: MachineState,
    moving: MachineState,
    last: MachineState,
    seconds: int,
) -> None:
    rig = hanging(kind, first, moving)
    rig.leap(seconds)
    rig.show("m-1", moving)
    rig.wait(30)
    rig.show("m-1", last)
    rig.lists("m-1", last)
    assert rig.state_of("m-1") is last


@by_walk
def test_a_deadline_is_noticed_once(
    kind: ActionKind,
    first: MachineState,
    moving: MachineState,
    last: MachineState,
    seconds: int,
) -> None:
    rig = hanging(kind, first, moving)
    rig.leap(seconds)
    rig.wait(5)
    assert len(rig.gets()) == 1
