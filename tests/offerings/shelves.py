"""Slots of several offerings on one rig, and what is left of them to buy."""

from bigfleet.model.fleet import Held
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code
from tests.execution.rig import Rig

S = MachineState


def stock(
    rig: Rig,
    prefix: str,
    slots: int = 3,
    *,
    instance_type: str = "m5.large",
    zone: str = "eu-1a",
    capacity_type: CapacityType = CapacityType.ON_DEMAND,
) -> list[str]:
    names = [f"{prefix}-{n}" for n in range(slots)]
    for name in names:
        rig.add(
            name,
            S.SPECULATIVE,
            instance_type=instance_type,
            zone=zone,
            capacity_type=capacity_type,
        )
    return names


def held(rig: Rig, name: str) -> Held | None:
    return rig.machines.inventory.marks_of(name).held


def free(rig: Rig, names: list[str]) -> list[str]:
    """Slots an engine would see."""
    return [
        name for name in names if rig.state_of(name) is S.SPECULATIVE and held(rig, name) is None
    ]


def run_out(rig: Rig, name: str) -> None:
    """Bought, and there is none."""
    rig.provision(name)
    rig.refuse(name, Code.RESOURCE_EXHAUSTED, "none left")


def until_probe(rig: Rig, names: list[str], longest: int = 1200) -> int:
    """Seconds until something of these may be bought again."""
    for waited in range(longest):
        if free(rig, names):
            return waited
        rig.leap(1)
    raise AssertionError(f"nothing could be bought for {longest} s")
