"""A provider known to be slow has deadlines of its own; the others keep the general ones."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import DeadlineSettings, ShardSettings
from tests.execution.rig import CLOUD, Rig

S = MachineState
KEY_OF = {
    S.CREATING: "creating",
    S.CONFIGURING: "configuring",
    S.DRAINING: "draining_extra",
    S.DELETING: "deleting",
}
by_state = pytest.mark.parametrize("state", list(KEY_OF), ids=lambda s: s.label)


def moving(state: MachineState, *of_provider: str) -> Rig:
    """Every state has a minute, unless something else is said of its provider."""
    minute = Seconds(60.0)
    deadlines = DeadlineSettings(minute, minute, minute, minute, of_provider=of_provider)
    rig = Rig(replace(ShardSettings(), deadlines=deadlines))
    rig.add("m-1", state)
    return rig


@by_state
def test_a_slow_provider_is_given_longer(state: MachineState) -> None:
    rig = moving(state, f"{CLOUD}.{KEY_OF[state]}=5m")
    rig.leap(299)
    assert rig.gets() == []
    rig.leap(1)
    assert rig.gets() == ["m-1"]


@by_state
def test_what_is_said_of_another_provider_or_state_changes_nothing(state: MachineState) -> None:
    others = [f"{CLOUD}.{key}=5m" for moved, key in KEY_OF.items() if moved is not state]
    rig = moving(state, f"else.where.{KEY_OF[state]}=5m", *others)
    rig.leap(60)
    assert rig.gets() == ["m-1"]
