"""A fleet file as the fleet of `up`: its machines as the simulated provider's, its Needs as pods.

The fleet begins anew: what is owned is Idle, all else is to be bought, and the shard decides.
Prices and interruption probabilities stay as they are written.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from bigfleet.fleetfile import dump_fleet
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import CapacityType, Machine
from bigfleet.model.needs import Need, is_margin
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY
from bigfleet.model.resources import Resources
from bigfleet.provider.sim.world.offerings import SimOffering
from bigfleet.provider.sim.world.presets import Preset
from bigfleet.provider.sim.world.supply import REGION_LABEL
from bigfleet.sim.script import Change, WorkloadScale
from bigfleet.sim.workloads import Workload

#: As many as the large fleet of `up` has.
MOST_PODS = 500_000
_REGION = "sim"
#: Pods of a Need that names no unit.
_UNIT = Resources.parse({"cpu": "1"})


@dataclass(frozen=True, slots=True)
class FileFleet:
    preset: Preset
    workloads: tuple[WorkloadScale, ...]
    clusters: tuple[str, ...]
    zones: tuple[str, ...]
    #: Of the whole file: a data dir belongs to one.
    digest: str

    @property
    def machines(self) -> int:
        return sum(offering.count for offering in self.preset.offerings)

    @property
    def classes(self) -> Mapping[tuple[str, int], str]:
        """Of work, by cluster and priority."""
        found = {(each.cluster, each.workload.profile.priority) for each in self.workloads}
        return {key: f"priority {key[1]}" for key in sorted(found)}

    def script(self) -> Iterator[Change]:
        """Everything is asked for at once, and then nothing changes: a script has no end."""
        yield from self.workloads
        last = self.workloads[-1]
        yield WorkloadScale(math.inf, last.cluster, last.workload, last.replicas)


def file_fleet_of(fleet: Fleet) -> FileFleet:
    """Raises BadInput with everything that the simulator cannot do."""
    problems: list[Problem] = []
    machines = [entry.machine for entry in fleet.machines]
    offerings = _offerings(machines, problems)
    workloads = _workloads(fleet, problems)
    if not machines:
        problems.append(Problem("machines", "there are none; `up` needs one at least"))
    if not workloads and not problems:
        problems.append(Problem("needs", "there are none; `up` needs one at least to run as pods"))
    if problems:
        raise BadInput(problems)
    clusters = {machine.cluster for machine in machines} | {each.cluster for each in workloads}
    zones = {offering.zone for offering in offerings} - {""}
    return FileFleet(
        Preset(tuple(offerings), walk=False),
        tuple(workloads),
        tuple(sorted(clusters - {""})),
        tuple(sorted(zones)),
        sha256(dump_fleet(fleet, "fleet.jsonl")).hexdigest()[:16],
    )


def _offerings(machines: Iterable[Machine], problems: list[Problem]) -> list[SimOffering]:
    """One for each set of machines that are equal but for their names."""
    ids: dict[tuple[object, ...], list[str]] = {}
    first: dict[tuple[object, ...], Machine] = {}
    pools: dict[tuple[object, ...], Machine] = {}
    for place, machine in enumerate(machines):
        if machine.capacity_type is CapacityType.UNSPECIFIED:
            text = "the simulator has BareMetal, Reserved, OnDemand and Spot; name one of them"
            problems.append(Problem(f"machines[{place}].capacityType", text))
            continue
        pool = (_type(machine), _zone(machine), machine.capacity_type)
        other = pools.setdefault(pool, machine)
        if _sold(other) != _sold(machine):
            text = (
                f"{machine.id} and {other.id} are of one instance type, zone and capacity type, "
                "which has one price, interruption probability and size in the simulator; give one "
                "of them another instanceType"
            )
            problems.append(Problem(f"machines[{place}]", text))
        alike = (*pool, tuple(sorted(machine.labels.items())))
        first.setdefault(alike, machine)
        ids.setdefault(alike, []).append(machine.id)
    return [_offering(machine, ids[alike]) for alike, machine in first.items()]


def _offering(machine: Machine, ids: list[str]) -> SimOffering:
    return SimOffering(
        _type(machine),
        _zone(machine),
        machine.capacity_type,
        len(ids),
        machine.labels.get(REGION_LABEL, _REGION),
        machine.price_per_hour,
        machine.price_per_hour,
        machine.interruption_probability,
        machine.resources.texts(),
        machine.effective_allocatable.texts(),
        dict(machine.labels),
        walk=False,
        ids=tuple(ids),
    )


def _type(machine: Machine) -> str:
    return machine.attribute(INSTANCE_TYPE_KEY) or ""


def _zone(machine: Machine) -> str:
    return machine.attribute(ZONE_KEY) or ""


def _sold(machine: Machine) -> tuple[object, ...]:
    return (
        machine.price_per_hour,
        machine.interruption_probability,
        machine.resources,
        machine.effective_allocatable,
    )


def _workloads(fleet: Fleet, problems: list[Problem]) -> list[WorkloadScale]:
    found: list[WorkloadScale] = []
    pods = 0
    for place, row in enumerate(fleet.needs):
        # The margins of a dump are its operators' own; those of the simulated ones come by
        # themselves.
        if is_margin(row.need.group):
            continue
        for part, (request, count) in enumerate(pods_of(row.need)):
            name = f"{row.name or 'need'}-{place}" + (f"-{part}" if part else "")
            workload = Workload(name, row.need.profile, request, row.need.group)
            found.append(WorkloadScale(0.0, row.need.cluster, workload, count))
            pods += count
    if pods > MOST_PODS:
        text = f"as units they are {pods:,} pods, and at most {MOST_PODS:,} are simulated"
        problems.append(Problem("needs", f"{text}; ask for less, or write a larger minUnit"))
    return found


def pods_of(need: Need) -> Iterator[tuple[Resources, int]]:
    """Pods of one unit at most that ask for exactly the aggregate together, those with most
    dimensions first."""
    wanted = need.aggregate.positive()
    unit = need.min_unit.positive() or Resources.of(
        {name: min(amount, wanted[name]) for name, amount in _UNIT.amounts if wanted[name]}
    )
    whole = [-(-wanted[name] // amount) for name, amount in unit.amounts if wanted[name]]
    pods = max(whole, default=1)
    # What the unit does not say is spread evenly.
    sizes = {name: unit[name] or -(-wanted[name] // pods) for name in wanted}
    ends = {0, pods}
    for name, size in sizes.items():
        ends |= {wanted[name] // size, -(-wanted[name] // size)}
    marks = sorted(ends)
    for begin, end in pairwise(marks):
        rest = {name: wanted[name] - begin * size for name, size in sizes.items()}
        request = {name: max(0, min(sizes[name], left)) for name, left in rest.items()}
        yield Resources.of(request).positive(), end - begin
