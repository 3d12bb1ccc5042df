"""The slots the reference provider starts with: on-demand, every third one spot; fault slots."""

from collections.abc import Iterator
from dataclasses import replace

from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import MachineRecord

ZONES = ("ref-1a", "ref-1b", "ref-1c")
FAULT_SLOTS = 8
FAULT_LABEL = "conformance.fault/create"


def seeded(provider: str, count: int, *, faults: bool, hosts: int = 0) -> Iterator[MachineRecord]:
    """`count` machines; the first `hosts` of them are there already, the others are slots."""
    for number in range(count):
        record = slot(provider, f"{provider}-slot-{number:05d}", number)
        yield hosted(provider, record, number) if number < hosts else record
    if faults:
        for number in range(FAULT_SLOTS):
            yield slot(provider, f"faultcreate-{number}", number, {FAULT_LABEL: "error"})


def hosted(provider: str, record: MachineRecord, number: int) -> MachineRecord:
    """A machine of a free pool: it is there, it costs nothing more, it stays."""
    return replace(
        record,
        state=MachineState.IDLE,
        host=Host(provider, f"metal-{number}"),
        capacity_type=CapacityType.BARE_METAL,
        price_per_hour=0.0,
        interruption_probability=0.0,
    )


def slot(
    provider: str, machine_id: str, number: int, labels: dict[str, str] | None = None
) -> MachineRecord:
    spot = number % 3 == 2
    return MachineRecord(
        id=machine_id,
        state=MachineState.SPECULATIVE,
        instance_type="std-8",
        zone=ZONES[number % len(ZONES)],
        capacity_type=CapacityType.SPOT if spot else CapacityType.ON_DEMAND,
        price_per_hour=0.12 if spot else 0.40,
        interruption_probability=0.05 if spot else 0.0,
        resources={"cpu": "8", "memory": "32Gi"},
        allocatable={"cpu": "7500m", "memory": "28Gi"},
        labels={
            "bigfleet.lucy.sh/provider": provider,
            "topology.kubernetes.io/region": "ref-1",
            **(labels or {}),
        },
    )
