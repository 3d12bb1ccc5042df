"""Which machines or pools a verb means: an id, a pool's name, or terms that must all hold.

Terms are `zone=`, `type=`, `capacity=`, `region=`, `state=`, `cluster=`, separated by blanks or
commas. A selector with a state or a cluster chooses machines; it cannot choose pools.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bigfleet.provider.sim.world.offerings import capacity_of
from bigfleet.provider.sim.world.supply import SimPool, Slot, Supply

_POOL_TERMS = ("zone", "type", "capacity", "region")
_MACHINE_TERMS = ("state", "cluster")
StateOf = Callable[[Slot], str]


class BadSelector(ValueError):
    """The text selects nothing one could name; the message shows what would."""


@dataclass(frozen=True, slots=True)
class Selector:
    text: str
    #: An id or the name of a pool; empty when there are terms.
    name: str = ""
    terms: tuple[tuple[str, str], ...] = ()

    def pools(self, supply: Supply) -> list[SimPool]:
        if any(key in _MACHINE_TERMS for key, _ in self.terms):
            raise BadSelector(f"{self.text!r} chooses machines; a pool has no state and no cluster")
        if self.name:
            pool = supply.pools.get(self.name)
            return [pool] if pool else []
        return [pool for pool in supply.pools.values() if self._takes_pool(pool)]

    def slots(self, supply: Supply, state_of: StateOf) -> list[Slot]:
        """In the order of their ids, so that a fraction of them is the same in every run."""
        if self.name and self.name in supply.slots:
            return [supply.slots[self.name]]
        pools = [pool for pool in supply.pools.values() if self._takes_pool(pool)]
        return sorted(
            (s for pool in pools for s in pool.slots.values() if self._takes_host(s, state_of)),
            key=lambda slot: slot.id,
        )

    def takes(self, slot: Slot, state_of: StateOf) -> bool:
        if self.name:
            return self.name in (slot.id, slot.pool.name)
        return self._takes_pool(slot.pool) and self._takes_host(slot, state_of)

    def _takes_pool(self, pool: SimPool) -> bool:
        if self.name:
            return pool.name == self.name
        offering = pool.offering
        has = {
            "zone": offering.zone,
            "type": offering.instance_type,
            "region": offering.region,
            "capacity": offering.capacity_type.name,
        }
        return all(has[key] == value for key, value in self.terms if key in has)

    def _takes_host(self, slot: Slot, state_of: StateOf) -> bool:
        for key, value in self.terms:
            if key == "state" and state_of(slot) != value:
                return False
            if key == "cluster" and (slot.host.cluster if slot.host else "") != value:
                return False
        return True


EVERYTHING = Selector("")


def selector_of(text: str) -> Selector:
    words = text.replace(",", " ").split()
    if not words:
        return EVERYTHING
    if len(words) == 1 and "=" not in words[0]:
        return Selector(text, name=words[0])
    return Selector(text, terms=tuple(_term(text, word) for word in words))


def _term(text: str, word: str) -> tuple[str, str]:
    key, separator, value = word.partition("=")
    known = (*_POOL_TERMS, *_MACHINE_TERMS)
    if not separator or not value or key not in known:
        wanted = ", ".join(f"{term}=" for term in known)
        raise BadSelector(f"{text!r}: {word!r} is not a term; write an id, a pool, or {wanted}")
    if key == "capacity":
        capacity = capacity_of(value)
        if capacity is None:
            raise BadSelector(f"{text!r}: {value!r} is not a capacity type")
        return key, capacity.name
    return key, value.lower() if key == "state" else value
