"""The substrate of a scenario: its machines as slots and hosts of the sim provider's world."""

from collections.abc import Mapping

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.quantities import quantity_text
from bigfleet.model.resources import Resources
from bigfleet.provider.sim.world.economy import new_substrate
from bigfleet.provider.sim.world.hosts import make_host
from bigfleet.provider.sim.world.offerings import DEFAULT_REGION, SimOffering
from bigfleet.provider.sim.world.state import Rules, Substrate
from bigfleet.provider.sim.world.supply import PROVIDER_LABEL, REGION_LABEL, SimPool, Slot
from bigfleet.simulation.scenario import PROVIDER, Supply


def substrate_of(supply: Supply, seed: int, start: Instant) -> Substrate:
    """Raises BadInput where machines that share a pool differ in what a pool has once."""
    rules = Rules(
        seed=seed,
        provider=PROVIDER,
        start=start,
        latency=supply.latency,
        walk=False,
        interruptions=supply.interruptions,
        notice_nanos=round(supply.notice_seconds * SECOND),
    )
    machines = [each.machine for each in supply.machines]
    offerings = {offering_key(each): offering_of(each, supply.failure_rate) for each in machines}
    substrate = new_substrate(rules, offerings.values())
    pools = {
        (p.offering.instance_type, p.offering.zone, p.offering.capacity_type): p
        for p in substrate.supply.pools.values()
    }
    for machine in machines:
        pool = pools[machine.instance_type, machine.zone, machine.capacity_type]
        _check_same_pool(machine, pool, offerings[offering_key(machine)])
        _place(substrate, machine, pool)
    return substrate


def offering_key(machine: Machine) -> tuple[object, ...]:
    return (
        machine.instance_type,
        machine.zone,
        machine.capacity_type,
        machine.price_per_hour,
        machine.interruption_probability,
        machine.resources,
        machine.allocatable,
    )


def offering_of(machine: Machine, failure_rate: Mapping[str, float]) -> SimOffering:
    return SimOffering(
        machine.instance_type,
        machine.zone,
        machine.capacity_type,
        0,
        DEFAULT_REGION,
        machine.price_per_hour,
        machine.price_per_hour,
        machine.interruption_probability,
        _texts(machine.resources),
        _texts(machine.allocatable),
        walk=False,
        failure_rate=failure_rate,
    )


def _texts(resources: Resources) -> dict[str, str]:
    return {name: quantity_text(name, amount) for name, amount in resources.amounts}


def _check_same_pool(machine: Machine, pool: SimPool, offering: SimOffering) -> None:
    known = pool.offering
    if known != offering:
        text = (
            f"{machine.id} differs in price, risk or size from others of {pool.name}; give it an"
            " instanceType of its own"
        )
        raise BadInput([Problem("fleet", text)])


def _place(substrate: Substrate, machine: Machine, pool: SimPool) -> None:
    labels = {
        **machine.labels,
        PROVIDER_LABEL: PROVIDER,
        REGION_LABEL: DEFAULT_REGION,
    }
    slot = Slot(machine.id, pool, labels)
    substrate.supply.slots[machine.id] = pool.slots[machine.id] = slot
    if machine.state is MachineState.IDLE or pool.offering.owned:
        make_host(substrate, slot)
        substrate.count(pool, +1)
