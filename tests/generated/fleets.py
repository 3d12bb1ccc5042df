"""Generated fleets: small, and as nasty as the model allows.

A fleet has a theme; its machines come from a handful of offerings, so ties are the rule. Stamps,
reservations and ages refer to the fleet's own Needs (as filed or as folded) more often than not.
Hypothesis draws the seed and keeps failing ones; a seed, not a tree of draws, makes the fleet,
because a uniform fleet finds far more than one biased towards simple values. `smaller.py` shrinks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Held, HeldBy, Marks
from bigfleet.model.machines import (
    Assigned,
    CapacityType,
    Host,
    Instant,
    Machine,
    MachineState,
    broken_invariants,
)
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind, Shortfall
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import (
    SECOND,
    EngineOptions,
    Parking,
    VictimWeights,
    default_holds,
)
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from tests.generated.demands import demand_of
from tests.generated.parts import (
    BOUND,
    BUCKETS,
    CAPACITY_TYPES,
    CLUSTERS,
    HOSTLESS,
    NOW,
    PROBABILITIES,
    UNIT,
    ZONES,
)
from tests.generated.themes import THEMES, Theme, one_in

_NOBODY = NeedKey("", "", "")
_STRANGER = NeedKey("alpha", Profile.of(priority=700).fingerprint, "gone")
#: Came over a border with a fingerprint that cannot be read here.
_ILLEGIBLE = NeedKey("alpha", "made elsewhere", "")
#: A reservation is likelier where the rules make them: one machine in so many has one.
_RESERVED_ONE_IN = {
    MachineState.DRAINING: 1.4,
    MachineState.IDLE: 5,
    MachineState.SPECULATIVE: 12,
    MachineState.CONFIGURED: 12,
}


@dataclass(frozen=True, slots=True)
class Offering:
    instance_type: str
    zone: str
    capacity_type: CapacityType
    resources: Resources
    allocatable: Resources
    price: float
    probability: float


def fleets() -> st.SearchStrategy[Fleet]:
    return st.integers(0, 2**40).map(fleet_of_seed)


def fleet_of_seed(seed: int) -> Fleet:
    chance = Random(seed)
    theme = chance.choice(THEMES)
    now = None if one_in(chance, 5) else NOW
    demand = demand_of(chance, theme)
    keys = identities(demand)
    sold = [offering_of(chance, theme) for _ in range(chance.randint(1, theme.offerings))]
    machines = tuple(
        machine_of(chance, f"m{(number * 17 + 7) % 40:02d}", theme, sold, keys, now)
        for number in range(chance.randint(0, theme.machines))
    )
    return Fleet(
        name=f"{theme.name}, seed {seed}",
        machines=machines,
        needs=demand,
        now=now,
        options=options_of(chance, theme),
        memory=memory_of(chance, machines, keys, now),
    )


def identities(demand: Sequence[FleetNeed]) -> list[NeedKey]:
    """Every identity of the demand, as filed and as it would be folded, and a stranger's."""
    filed = [each.need.key for each in demand]
    folded = [
        NeedKey(each.need.cluster, each.need.profile.without_same().fingerprint, "")
        for each in demand
        if each.need.profile.same is not None
    ]
    return [*filed, *folded, _STRANGER]


def offering_of(chance: Random, theme: Theme) -> Offering:
    return Offering(
        theme.among(chance, theme.instance_types),
        theme.among(chance, ZONES),
        theme.among(chance, CAPACITY_TYPES),
        theme.among(chance, theme.capacities),
        UNIT if one_in(chance, 10) else Resources(),
        theme.among(chance, theme.prices),
        theme.among(chance, PROBABILITIES),
    )


def stamp_of(chance: Random, theme: Theme, keys: list[NeedKey], state: MachineState) -> Assigned:
    bound = state in BOUND
    key = chance.choice(keys)
    if not (bound or state is MachineState.CREATING) or one_in(chance, 5):
        key = _NOBODY
    cluster = "" if one_in(chance, 6) else key.cluster
    if not bound:
        return Assigned(cluster=cluster, need_fingerprint=key.fingerprint, group=key.group)
    return Assigned(
        chance.choice(theme.stamped_priorities),
        upper_bound_dollars(theme.among(chance, BUCKETS)),
        upper_bound_dollars(theme.among(chance, BUCKETS)),
        cluster,
        key.fingerprint,
        key.group,
    )


def marks_of(chance: Random, state: MachineState, now: Instant | None) -> Marks:
    since = None
    if state is MachineState.IDLE and not one_in(chance, 9):
        ago = chance.choice((601, 600, 599, 61, 60, 59, 1, 0))
        since = (now or NOW) - ago * SECOND
    odd = one_in(chance, 12)
    may_be_held = state in (MachineState.IDLE, MachineState.SPECULATIVE)
    held = Held(chance.choice(list(HeldBy))) if odd and may_be_held else None
    empty = state is MachineState.CONFIGURED and one_in(chance, 3)
    return Marks(since, held, overdue=odd and not may_be_held, empty=empty)


def machine_of(
    chance: Random,
    name: str,
    theme: Theme,
    sold: list[Offering],
    keys: list[NeedKey],
    now: Instant | None,
) -> FleetMachine:
    state = chance.choice(theme.states)
    offering = chance.choice(sold)
    stamp = stamp_of(chance, theme, keys, state)
    some_cluster = stamp.cluster or chance.choice(CLUSTERS[: theme.clusters])
    if theme.owners:
        some_cluster = chance.choice(theme.owners)
    machine = Machine(
        id=name,
        state=state,
        capacity_type=offering.capacity_type,
        host=Host() if state in HOSTLESS else Host("sim", name),
        cluster=some_cluster if state in BOUND else "",
        instance_type=offering.instance_type,
        zone=offering.zone,
        labels=chance.choice(theme.labels[: theme.variety + 1]),
        resources=offering.resources,
        allocatable=offering.allocatable,
        price_per_hour=offering.price,
        interruption_probability=offering.probability,
        last_error="broken" if state is MachineState.FAILED else "",
        assigned=stamp,
    )
    assert not broken_invariants(machine)
    return FleetMachine(machine, marks_of(chance, state, now))


def reservation_of(
    chance: Random, each: FleetMachine, keys: list[NeedKey], now: Instant | None
) -> Reservation | None:
    state = each.machine.state
    if state not in _RESERVED_ONE_IN or chance.random() * _RESERVED_ONE_IN[state] > 1:
        return None
    kind = ReservationKind.PREEMPTION
    if state in (MachineState.IDLE, MachineState.SPECULATIVE):
        kind = chance.choice([kind, *ReservationKind])
    left = chance.choice((30, 1, 0, -1, None))
    return Reservation(
        each.machine.id,
        kind,
        _ILLEGIBLE if one_in(chance, 12) else chance.choice(keys),
        None if left is None else (now or NOW) + left * SECOND,
    )


def memory_of(
    chance: Random, machines: Sequence[FleetMachine], keys: list[NeedKey], now: Instant | None
) -> EngineMemory:
    reserved = {
        each.machine.id: reservation
        for each in machines
        if (reservation := reservation_of(chance, each, keys, now)) is not None
    }
    if one_in(chance, 10):
        reserved["gone"] = Reservation("gone", ReservationKind.PREEMPTION, keys[0], None)
    ages = (0, 1, 7, 8, 9, 31, 32, 33) if one_in(chance, 4) else (0, 0, 0, 1, 7)
    parking = {key: chance.choice(ages) for key in keys}
    shortfalls = {key: chance.choice((0, 0, 1, 5)) for key in keys}
    return EngineMemory(
        reserved,
        {key: age for key, age in parking.items() if age},
        {key: Shortfall(UNIT, age) for key, age in shortfalls.items() if age},
    )


def options_of(chance: Random, theme: Theme) -> EngineOptions:
    clusters = CLUSTERS[: theme.clusters]
    ready = frozenset(cluster for cluster in clusters if chance.random() < 0.7)
    odd = one_in(chance, 6)
    return EngineOptions(
        clusters_ready=ready if one_in(chance, 3) else None,
        release_holds={CapacityType.SPOT: 60.0} if odd else default_holds(),
        victim_weights=VictimWeights(0.0, 0.3, 7.0, 1e6) if odd else VictimWeights(),
        drain_seconds=chance.choice((30.0, 30.0, 0.0, 600.0)),
        reservation_margin_seconds=chance.choice((60.0, 60.0, 0.0, 5.0)),
        parking=Parking(2, 4) if odd else Parking(),
        fold=not one_in(chance, 6),
    )
