"""Slots as the SDK describes them; what did not change is the same record as last time."""

from collections.abc import Iterator

from bigfleet.provider.backend import Binding, Host, Instance
from bigfleet.provider.sim.world.supply import Slot, Supply

#: Between two turns of the event loop: some milliseconds of work.
CHUNK = 5_000


class Instances:
    def __init__(self) -> None:
        #: Machine -> (version of its pool, host ref, notice given) and the record made of them.
        self._made: dict[str, tuple[tuple[int, str, bool], Instance]] = {}

    def chunks(self, supply: Supply, count: int) -> Iterator[list[Instance]]:
        """The first `count` slots in pieces; slots that left meanwhile are left out."""
        ids = list(supply.slots)[:count]
        for first in range(0, len(ids), CHUNK):
            slots = (supply.slots.get(machine) for machine in ids[first : first + CHUNK])
            yield [self._instance(slot) for slot in slots if slot is not None]

    def forget(self, supply: Supply) -> None:
        if len(self._made) > len(supply.slots):
            self._made = {k: made for k, made in self._made.items() if k in supply.slots}

    def _instance(self, slot: Slot) -> Instance:
        host = slot.host
        version = (
            slot.pool.version,
            host.ref if host else "",
            host.interrupted if host else False,
        )
        made = self._made.get(slot.id)
        if made is None or made[0] != version:
            made = self._made[slot.id] = (version, instance_of(slot))
        return made[1]


def instance_of(slot: Slot) -> Instance:
    pool, host = slot.pool, slot.host
    offering = pool.offering
    bound = None
    if host is not None and host.cluster and host.metadata is not None:
        bound = Binding(host.cluster, host.metadata)
    return Instance(
        id=slot.id,
        instance_type=offering.instance_type,
        zone=offering.zone,
        capacity_type=offering.capacity_type,
        host=Host(host.ref, node_name=host.ref) if host else None,
        price_per_hour=pool.price,
        interruption_probability=1.0 if host and host.interrupted else pool.probability,
        resources=offering.resources,
        allocatable=offering.allocatable,
        labels=slot.labels,
        region=offering.region,
        bound=bound,
    )
