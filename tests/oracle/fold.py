"""Fold: gangs that one machine can host become one plain Need (2.1, U17, U20)."""

from dataclasses import replace

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need, NeedKey, earliest
from bigfleet.model.resources import Resources
from tests.oracle.matching import matches
from tests.oracle.reservations import Reservations
from tests.oracle.standing import OracleNeed
from tests.oracle.stock import Stock

#: Cluster, stripped fingerprint, aggregate by value.
FoldClass = tuple[str, str, tuple[tuple[str, int], ...]]


def fold(demand: list[OracleNeed], stock: Stock, reservations: Reservations) -> list[OracleNeed]:
    """The normalised demand: what stays in its order, then the folded classes sorted."""
    classes: dict[FoldClass, list[OracleNeed]] = {}
    staying: list[OracleNeed] = []
    for standing in demand:
        folded_before = classes.get(class_of(standing.need), [])
        if folds(standing.need, len(folded_before), stock, reservations):
            classes.setdefault(class_of(standing.need), []).append(standing)
        else:
            staying.append(standing)
    normalised = staying + [as_one(classes[name]) for name in sorted(classes)]
    for position, standing in enumerate(normalised):
        standing.position = position
    return normalised


def class_of(need: Need) -> FoldClass:
    stripped = need.profile.without_same()
    return (need.cluster, stripped.fingerprint, need.aggregate.positive().amounts)


def as_one(gangs: list[OracleNeed]) -> OracleNeed:
    first = gangs[0].need
    arrival = 0
    for gang in gangs:
        arrival = earliest(arrival, gang.need.arrival_unix_nanos)
    need = replace(
        first,
        profile=first.profile.without_same(),
        aggregate=first.aggregate.times(len(gangs)),
        min_unit=first.aggregate,
        arrival_unix_nanos=arrival,
        group="",
        parked=False,
    )
    members = tuple(index for gang in gangs for index in gang.members)
    return OracleNeed(0, need, members, folded=True)


def folds(need: Need, folded_before: int, stock: Stock, reservations: Reservations) -> bool:
    if need.profile.same is None or need.aggregate.is_zero():
        return False
    if has_small_incumbent(need, stock) or is_in_flight(need, stock, reservations):
        return False
    hosts = [m for m in hosts_of(need, stock, reservations) if matches(need.profile, m.machine)]
    fitting = [m for m in hosts if m.machine.effective_allocatable.covers(need.aggregate)]
    if not fitting:
        return False
    serving_in_part = [
        m
        for m in hosts
        if m.machine.effective_allocatable.covers(need.min_unit) and m not in fitting
    ]
    room = sum(whole_gangs(m.machine.effective_allocatable, need.aggregate) for m in fitting)
    return not serving_in_part or folded_before < room


def whole_gangs(capacity: Resources, gang: Resources) -> int:
    return min(capacity[dimension] // amount for dimension, amount in gang.positive().amounts)


def has_small_incumbent(need: Need, stock: Stock) -> bool:
    """U17: a bound machine of this very gang that could not host it alone."""
    bound = stock.bound(need.cluster, MachineState.CONFIGURED) + stock.bound(
        need.cluster, MachineState.CONFIGURING
    )
    for each in bound:
        stamp = each.machine.assigned
        own = (stamp.need_fingerprint, stamp.group) == (need.key.fingerprint, need.key.group)
        if own and not each.machine.effective_allocatable.covers(need.aggregate):
            return True
    return False


def is_in_flight(need: Need, stock: Stock, reservations: Reservations) -> bool:
    """U20: an own order or a live preemption reservation keeps the gang as it is."""
    return bool(stock.creating_for(need.key) or reservations.preempted_for(need.key))


def hosts_of(need: Need, stock: Stock, reservations: Reservations) -> list[FleetMachine]:
    """Overdue ones are not credited, so they host no gang; a draining victim never was credited."""
    folded_key = NeedKey(need.cluster, need.profile.without_same().fingerprint, "")
    credited_or_free = (
        stock.bound(need.cluster, MachineState.CONFIGURED)
        + stock.bound(need.cluster, MachineState.CONFIGURING)
        + stock.in_state(MachineState.IDLE)
        + stock.in_state(MachineState.SPECULATIVE)
        + stock.creating_for(folded_key)
    )
    usable = [m for m in credited_or_free if m.marks.held is None and not m.marks.overdue]
    return usable + reservations.draining_for(folded_key)
