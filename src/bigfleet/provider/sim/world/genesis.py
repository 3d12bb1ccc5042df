"""A new substrate: offerings become slots, owned machines stand there, markets open."""

from collections.abc import Iterable

from bigfleet.model.machines import Assigned
from bigfleet.model.metadata import encode
from bigfleet.provider.sim.world.draws import Draws
from bigfleet.provider.sim.world.economy import open_pool
from bigfleet.provider.sim.world.hosts import make_host
from bigfleet.provider.sim.world.offerings import SimOffering
from bigfleet.provider.sim.world.state import DEFAULT_LATENCY, Rules, Substrate
from bigfleet.provider.sim.world.supply import Slot, Supply

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
    added = substrate.supply.add(offering)
    for number, slot in enumerate(added):
        if number < offering.bound:
            cluster = f"cluster-{number % offering.clusters}"
            stamp = SEED_STAMPS[number % len(SEED_STAMPS)]
            make_host(substrate, slot, cluster=cluster, metadata=stamp)
        elif offering.owned:
            make_host(substrate, slot)
        if slot.host is not None:
            substrate.supply.count(slot.pool, +1)
    for name in substrate.supply.pools.keys() - known:
        open_pool(substrate, substrate.supply.pools[name])
    return added
