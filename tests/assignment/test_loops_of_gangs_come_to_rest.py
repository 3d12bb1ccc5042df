"""With unchanged demand the closed loop becomes quiet, also where clusters take turns."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.plan.cycle import decide_fleet
from bigfleet.plan.cycles import next_fleet
from tests.worlds.fleets import fleet_of
from tests.worlds.racks import SAME_RACK, SAME_ZONE, cpus, m5, profile

CLUSTERS = ("east", "west")


def gangs_of(
    racks: Sequence[int], zones: Sequence[int], arrival: Callable[[str], int]
) -> tuple[Need, ...]:
    """Gangs of so many whole hosts: some share a rack, the others a zone."""
    wanted = [(SAME_RACK, "rack", size, i) for i, size in enumerate(racks)]
    wanted += [(SAME_ZONE, "zone", size, i) for i, size in enumerate(zones)]
    return tuple(
        Need(cluster, profile(100, same), cpus(4 * size), cpus(4), arrival(cluster), f"{kind}-{i}")
        for cluster in CLUSTERS
        for same, kind, size, i in wanted
    )


def halls(zones: int, racks: int, hosts: int) -> list[FleetMachine]:
    return [
        m5(f"z{z}-r{r}-h{h}", zone=f"zone-{z}", rack=f"z{z}-r{r}")
        for z in range(zones)
        for r in range(racks)
        for h in range(hosts)
    ]


def seeded(machines: list[FleetMachine], each: int) -> list[FleetMachine]:
    """Every third machine of the first `3 * each` is bound to east, the one after it to west."""

    def bound(place: int, entry: FleetMachine) -> FleetMachine:
        if place >= 3 * each or place % 3 == 2:
            return entry
        cluster = CLUSTERS[place % 3]
        record = replace(entry.machine, state=MachineState.CONFIGURED, cluster=cluster)
        return FleetMachine(record)

    return [bound(place, entry) for place, entry in enumerate(machines)]


def actions_by_cycle(fleet: Fleet, demand: Sequence[tuple[Need, ...]]) -> list[int]:
    """How much every cycle does; actions complete at once and the demand is given by cycle."""
    counts = []
    for needs in demand:
        fleet = replace(fleet, needs=tuple(FleetNeed(need) for need in needs))
        decision = decide_fleet(fleet)
        counts.append(len(decision.actions))
        fleet = next_fleet(fleet, decision.actions, decision.memory)
    return counts


def taking_turns(racks: Sequence[int], zones: Sequence[int], cycles: int) -> list[tuple[Need, ...]]:
    """East arrives first in even cycles, west in odd ones."""
    east_first = gangs_of(racks, zones, lambda cluster: 1 + (cluster == "west"))
    west_first = gangs_of(racks, zones, lambda cluster: 1 + (cluster == "east"))
    return [(east_first, west_first)[cycle % 2] for cycle in range(cycles)]


def test_gangs_that_tile_their_racks_and_zones_rest_after_four_cycles() -> None:
    """Y9: gangs of 3 in racks of 3, gangs of 6 in zones of 6."""
    demand = taking_turns((3, 3), (6, 6), cycles=40)
    counts = actions_by_cycle(fleet_of(halls(zones=8, racks=2, hosts=3)), demand)
    assert counts[0] == 36
    assert counts[4:] == [0] * 36


def test_gangs_that_fit_badly_over_a_seed_with_excess_rest_after_ten_cycles() -> None:
    """Y10: 41 hosts wanted a cluster, 48 bound to each and scattered."""
    machines = seeded(halls(zones=6, racks=6, hosts=4), each=48)
    demand = taking_turns((2, 4, 3, 2, 4, 3), (4, 8, 6, 5), cycles=40)
    counts = actions_by_cycle(fleet_of(machines), demand)
    assert counts[0] > 0
    assert counts[10:] == [0] * 30
