"""Phase 3: excess is reclaimed, idle capacity past its hold is given back (2.6)."""

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.options import SECOND, EngineOptions
from tests.oracle.preemption import Preemption, is_ready
from tests.oracle.reservations import Reservations
from tests.oracle.stock import Stock


def excess(stock: Stock, preemption: Preemption) -> list[FleetMachine]:
    """Cluster by cluster in keep-priority order; a victim is not reclaimed as well (U16)."""
    clusters = sorted({m.machine.cluster for m in stock.in_state(MachineState.CONFIGURED)})
    found: list[FleetMachine] = []
    for cluster in clusters:
        if not is_ready(cluster, preemption.options):
            continue
        for each in stock.bound(cluster, MachineState.CONFIGURED):
            name = each.machine.id
            if name not in preemption.claimed_by and name not in preemption.taken:
                found.append(each)
    return found


def released(
    stock: Stock,
    claimed: set[str],
    reservations: Reservations,
    options: EngineOptions,
    now: Instant | None,
) -> list[FleetMachine]:
    return [
        m
        for m in stock.in_state(MachineState.IDLE)
        if m.machine.id not in claimed
        and m.machine.id not in reservations.live
        and m.marks.held is None
        and hold_is_over(m, options, now)
    ]


def hold_is_over(each: FleetMachine, options: EngineOptions, now: Instant | None) -> bool:
    if each.machine.capacity_type not in (CapacityType.ON_DEMAND, CapacityType.SPOT):
        return False
    hold = options.release_holds.get(each.machine.capacity_type, 0)
    since = each.marks.idle_since
    if hold <= 0 or since is None or now is None:
        return False
    return now - since >= hold * SECOND
