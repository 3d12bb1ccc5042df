"""Slots of several offerings on one stage, and what is left of them to buy."""

from bigfleet.model.fleet import Held
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.stage import Stage

S = MachineState


def stock(
    stage: Stage,
    prefix: str,
    slots: int = 3,
    *,
    instance_type: str = "m5.large",
    zone: str = "eu-1a",
    capacity_type: CapacityType = CapacityType.ON_DEMAND,
) -> list[str]:
    names = [f"{prefix}-{n}" for n in range(slots)]
    for name in names:
        stage.add(
            name,
            S.SPECULATIVE,
            instance_type=instance_type,
            zone=zone,
            capacity_type=capacity_type,
        )
    return names


def held(stage: Stage, name: str) -> Held | None:
    return stage.machines.inventory.marks_of(name).held


def free(stage: Stage, names: list[str]) -> list[str]:
    """Slots an engine would see."""
    return [
        name
        for name in names
        if stage.state_of(name) is S.SPECULATIVE and held(stage, name) is None
    ]


def run_out(stage: Stage, name: str) -> None:
    """Bought, and there is none."""
    stage.provision(name)
    stage.refuse(name, Code.RESOURCE_EXHAUSTED, "none left")


def until_probe(stage: Stage, names: list[str], longest: int = 1200) -> int:
    """Seconds until something of these may be bought again."""
    for waited in range(longest):
        if free(stage, names):
            return waited
        stage.leap(1)
    raise AssertionError(f"nothing could be bought for {longest} s")
