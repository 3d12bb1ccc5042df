"""Pools open and change: offerings become slots, prices walk, stock runs dry, risk moves."""

from collections.abc import Iterable

from bigfleet.model.machines import Assigned
from bigfleet.model.metadata import encode
from bigfleet.provider.sim.world.distributions import Draws
from bigfleet.provider.sim.world.events import Instruction, Reprice
from bigfleet.provider.sim.world.hosts import CRASHES, INTERRUPTIONS, is_spot, make_host, set_hazard
from bigfleet.provider.sim.world.market import TICK, Markov, Stock, rate_of
from bigfleet.provider.sim.world.offerings import SimOffering
from bigfleet.provider.sim.world.state import DEFAULT_LATENCY, Rules, Substrate
from bigfleet.provider.sim.world.supply import SimPool, Slot, Supply


def open_pool(substrate: Substrate, pool: SimPool) -> None:
    """Sets a new pool going: its risk, its stock, its walk."""
    set_hazard(substrate, pool, CRASHES, rate_of(pool.offering.crash_rate))
    set_risk(substrate, pool)
    set_stock(substrate, pool, pool.offering.stock)
    arm_walk(substrate)


def set_risk(substrate: Substrate, pool: SimPool) -> None:
    """The rate at which hosts are really taken back; only spot is."""
    if not is_spot(pool):
        return
    hazard = pool.offering.hazard
    probability = pool.probability if hazard is None else hazard
    rate = rate_of(probability) if substrate.rules.interruptions else 0.0
    set_hazard(substrate, pool, INTERRUPTIONS, rate)


def arm_walk(substrate: Substrate) -> None:
    if not (
        substrate.walking and any(pool.market.walking for pool in substrate.supply.pools.values())
    ):
        substrate.agenda.drop("tick")
    elif substrate.agenda.at("tick") is None:
        ticks = substrate.age() // TICK + 1
        substrate.agenda.put(substrate.rules.start + ticks * TICK, "tick")


def tick_reached(substrate: Substrate, out: list[Instruction]) -> None:
    number = substrate.age() // TICK
    for name, pool in sorted(substrate.supply.pools.items()):
        if not pool.market.walking:
            continue
        if pool.market.tick(substrate.draws.normal("walk", name, number)):
            priced(substrate, pool, out)
    arm_walk(substrate)


def priced(substrate: Substrate, pool: SimPool, out: list[Instruction]) -> None:
    """A price was published; with coupling the risk moves with it."""
    if substrate.rules.couple and is_spot(pool):
        pool.probability = pool.market.coupled(pool.offering.interruption_probability)
        set_risk(substrate, pool)
    pool.bill.settle(substrate.now, pool.hosts, pool.price)
    pool.version += 1
    substrate.note(pool.name, "price", price=pool.price, probability=pool.probability)
    out.append(Reprice(pool.name))


def adopt_price(substrate: Substrate, pool: SimPool, price: float) -> None:
    """A walk goes on from where it was before the restart."""
    if is_spot(pool) and pool.market.walking and price != pool.price:
        pool.market.set_price(price)
        pool.bill.settle(substrate.now, pool.hosts, pool.price)
        pool.version += 1


def set_stock(substrate: Substrate, pool: SimPool, stock: Stock) -> None:
    pool.stock = stock
    pool.phase = 0
    substrate.agenda.drop("stock", pool.name)
    _arm_stock(substrate, pool)


def _arm_stock(substrate: Substrate, pool: SimPool) -> None:
    if isinstance(pool.stock, Markov):
        nanos = pool.stock.phase_nanos(substrate.draws, pool.name, pool.phase)
        substrate.agenda.put(substrate.now + nanos, "stock", pool.name)


def stock_flips(substrate: Substrate, pool: SimPool) -> None:
    pool.phase += 1
    substrate.note(pool.name, "stock.empty" if pool.phase % 2 else "stock.back")
    _arm_stock(substrate, pool)


#: What machines configured before the first day were bought for, dealt in turn.
SEED_STAMPS = tuple(
    encode(Assigned(priority, interruption, reclamation, need_fingerprint=f"seed-{priority}"))
    for priority, interruption, reclamation in (
        (100, 0.0, 0.0),
        (1000, 64.0, 16.0),
        (100_000, 4.0, 1.0),
        (1_000_000, 16.0, 4.0),
    )
)


def new_substrate(rules: Rules, offerings: Iterable[SimOffering]) -> Substrate:
    substrate = Substrate(
        rules,
        Draws(rules.seed),
        Supply(rules.provider),
        rules.start,
        latency={**DEFAULT_LATENCY, **rules.latency},
        walking=rules.walk,
    )
    substrate.faults.selectors = rules.fault_selectors
    for offering in offerings:
        add_offering(substrate, offering)
    return substrate


def add_offering(substrate: Substrate, offering: SimOffering) -> list[Slot]:
    """The new slots; owned ones have their host, seeded ones serve their cluster."""
    known = set(substrate.supply.pools)
    added = substrate.supply.add(offering, substrate.now)
    for number, slot in enumerate(added):
        if number < offering.bound:
            cluster = f"cluster-{number % offering.clusters}"
            stamp = SEED_STAMPS[number % len(SEED_STAMPS)]
            make_host(substrate, slot, cluster=cluster, metadata=stamp)
        elif offering.owned:
            make_host(substrate, slot)
        if slot.host is not None:
            substrate.count(slot.pool, +1)
    for name in substrate.supply.pools.keys() - known:
        open_pool(substrate, substrate.supply.pools[name])
    return added
