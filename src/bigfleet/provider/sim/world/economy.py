"""The market between calls: prices walk, pools run dry and fill up, risk follows price."""

from bigfleet.provider.sim.world.happenings import Instruction, Reprice
from bigfleet.provider.sim.world.hazards import rate_of
from bigfleet.provider.sim.world.hosts import CRASHES, INTERRUPTIONS, is_spot, set_hazard
from bigfleet.provider.sim.world.market import TICK
from bigfleet.provider.sim.world.state import World
from bigfleet.provider.sim.world.stock import Markov, Stock
from bigfleet.provider.sim.world.supply import Pool


def open_pool(world: World, pool: Pool) -> None:
    """Sets a new pool going: its risk, its stock, its walk."""
    set_hazard(world, pool, CRASHES, rate_of(pool.offering.crash_rate))
    set_risk(world, pool)
    set_stock(world, pool, pool.offering.stock)
    arm_walk(world)


def set_risk(world: World, pool: Pool) -> None:
    """The rate at which hosts are really taken back; only spot is."""
    if not is_spot(pool):
        return
    hazard = pool.offering.hazard
    probability = pool.probability if hazard is None else hazard
    rate = rate_of(probability) if world.rules.interruptions else 0.0
    set_hazard(world, pool, INTERRUPTIONS, rate)


def arm_walk(world: World) -> None:
    if not (world.walking and any(pool.market.walking for pool in world.supply.pools.values())):
        world.agenda.drop("tick")
    elif world.agenda.at("tick") is None:
        ticks = world.age() // TICK + 1
        world.agenda.put(world.rules.start + ticks * TICK, "tick")


def tick_reached(world: World, out: list[Instruction]) -> None:
    number = world.age() // TICK
    for name, pool in sorted(world.supply.pools.items()):
        if not pool.market.walking:
            continue
        if pool.market.tick(world.draws.normal("walk", name, number)):
            priced(world, pool, out)
    arm_walk(world)


def priced(world: World, pool: Pool, out: list[Instruction]) -> None:
    """A price was published; with coupling the risk moves with it."""
    if world.rules.couple and is_spot(pool):
        pool.probability = pool.market.coupled(pool.offering.interruption_probability)
        set_risk(world, pool)
    pool.version += 1
    world.note(pool.name, "price", price=pool.price, probability=pool.probability)
    out.append(Reprice(pool.name))


def adopt_price(pool: Pool, price: float) -> None:
    """A walk goes on from where it was before the restart."""
    if is_spot(pool) and pool.market.walking and price != pool.price:
        pool.market.set_price(price)
        pool.version += 1


def set_stock(world: World, pool: Pool, stock: Stock) -> None:
    pool.stock = stock
    pool.phase = 0
    world.agenda.drop("stock", pool.name)
    _arm_stock(world, pool)


def _arm_stock(world: World, pool: Pool) -> None:
    if isinstance(pool.stock, Markov):
        nanos = pool.stock.phase_nanos(world.draws, pool.name, pool.phase)
        world.agenda.put(world.now + nanos, "stock", pool.name)


def stock_flips(world: World, pool: Pool) -> None:
    pool.phase += 1
    world.note(pool.name, "stock.empty" if pool.phase % 2 else "stock.back")
    _arm_stock(world, pool)
