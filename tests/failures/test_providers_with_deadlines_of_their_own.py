"""A provider known to be slow has deadlines of its own; the others keep the general ones."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import DeadlineSettings, ShardSettings
from tests.execution.stage import CLOUD, Stage

S = MachineState
KEY_OF = {
    S.CREATING: "creating",
    S.CONFIGURING: "configuring",
    S.DRAINING: "draining_extra",
    S.DELETING: "deleting",
}
by_state = pytest.mark.parametrize("state", list(KEY_OF), ids=lambda s: s.label)


def moving(state: MachineState, *of_provider: str) -> Stage:
    """Every state has a minute, unless something else is said of its provider."""
    minute = Seconds(60.0)
    deadlines = DeadlineSettings(minute, minute, minute, minute, of_provider=of_provider)
    stage = Stage(replace(ShardSettings(), deadlines=deadlines))
    stage.add("m-1", state)
    return stage


@by_state
def test_a_slow_provider_is_given_longer(state: MachineState) -> None:
    stage = moving(state, f"{CLOUD}.{KEY_OF[state]}=5m")
    stage.leap(299)
    assert stage.gets() == []
    stage.leap(1)
    assert stage.gets() == ["m-1"]


@by_state
def test_what_is_said_of_another_provider_or_state_changes_nothing(state: MachineState) -> None:
    others = [f"{CLOUD}.{key}=5m" for moved, key in KEY_OF.items() if moved is not state]
    stage = moving(state, f"else.where.{KEY_OF[state]}=5m", *others)
    stage.leap(60)
    assert stage.gets() == ["m-1"]
