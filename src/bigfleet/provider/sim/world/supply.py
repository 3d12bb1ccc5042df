"""What there is: pools, their slots, and the host each slot may have.

A pool is (type, zone, capacity type): the unit of price, risk and stock. A slot is one place in a
pool and keeps its id for ever; a host comes and goes. `hosts` of a pool and of a region count what
exists or is being made, because that is what stock and quota limit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.requirements import RACK_KEY
from bigfleet.provider.blocks.offerings import CAPACITY_NAMES, dns_form
from bigfleet.provider.sim.world.distributions import HOUR
from bigfleet.provider.sim.world.market import Fixed, Hazard, Market, Stock
from bigfleet.provider.sim.world.offerings import SimOffering

PROVIDER_LABEL = "bigfleet.lucy.sh/provider"
REGION_LABEL = "topology.kubernetes.io/region"
_CAPACITY_TEXT = {capacity: name.replace("_", "-") for name, capacity in CAPACITY_NAMES.items()}


class SlotTaken(ValueError):
    """Two offerings would give two slots the same id."""


@dataclass(slots=True)
class Bill:
    """What the hosts of a pool were billed: those that exist and those being made, by the
    nanosecond, at the price that was published then."""

    #: Since then, at this price, nothing was added yet.
    since: Instant
    price: float
    dollars: float = 0.0

    def settle(self, now: Instant, hosts: int, price: float) -> None:
        """`hosts`: how many there were since; `price`: from now on."""
        self.dollars += hosts * self.price * (now - self.since) / HOUR
        self.since, self.price = now, price


@dataclass(slots=True)
class SimPool:
    offering: SimOffering
    market: Market
    probability: float
    bill: Bill
    stock: Stock = Fixed()
    interruptions: Hazard = field(default_factory=Hazard)
    crashes: Hazard = field(default_factory=Hazard)
    slots: dict[str, "Slot"] = field(default_factory=dict)
    hosts: int = 0
    #: Which phase of a markov stock it is in; even phases are up.
    phase: int = 0
    #: Grows when price, risk or shape change, so that descriptions made before can be told stale.
    version: int = 0

    @property
    def name(self) -> str:
        o = self.offering
        return f"{o.instance_type}/{o.zone}/{_CAPACITY_TEXT[o.capacity_type]}"

    @property
    def price(self) -> float:
        return self.market.published


@dataclass(slots=True)
class HostLife:
    """One host of a slot, from its making to its end."""

    ref: str
    since: Instant
    #: The operation that made it: a repeat of that operation finds it again.
    made_by: str = ""
    cluster: str = ""
    #: The Configure that bound it.
    bound_by: str = ""
    #: When its node is Ready in the cluster; None while it is bound to none.
    ready_at: Instant | None = None
    #: What the shard stamped on a machine that was configured before the substrate began.
    metadata: Mapping[str, str] | None = None
    #: A notice was given.
    interrupted: bool = False
    #: When and why the host ends, once that is known.
    ends_at: Instant | None = None
    end_reason: str = ""
    #: An owned host that failed: still there, of no use until it is reset.
    broken: str = ""


@dataclass(slots=True)
class Slot:
    id: str
    pool: SimPool
    labels: Mapping[str, str]
    host: HostLife | None = None
    #: How many hosts the slot has had: part of the key of every draw about a host.
    generation: int = 0


class Supply:
    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.slots: dict[str, Slot] = {}
        self.pools: dict[str, SimPool] = {}
        self.hosts_of_region: dict[str, int] = {}
        self.quota_of_region: dict[str, float] = {}
        #: Prefix or pool -> the number of its next slot; numbers are never used again.
        self._next_number: dict[str, int] = {}

    def add(self, offering: SimOffering, now: Instant) -> list[Slot]:
        """The new slots of an offering; numbers continue where the pool or prefix ended."""
        pool = self._pool(offering, now)
        if offering.quota is not None:
            self.quota_of_region[offering.region] = offering.quota
        racks = self._labels_by_rack(offering)
        series = offering.id_prefix or pool.name
        first = self._next_number.get(series, 0)
        stem, digits = id_stem(self.provider, offering)
        numbers = range(first, first + offering.count)
        ids = offering.ids or [f"{stem}{n:0{digits}d}" for n in numbers]
        added = [
            Slot(name, pool, racks[n % len(racks)]) for name, n in zip(ids, numbers, strict=True)
        ]
        taken = next((slot.id for slot in added if slot.id in self.slots), None)
        if taken is not None:
            raise SlotTaken(f"slot {taken} is offered twice; give one offering an id_prefix")
        self._next_number[series] = first + offering.count
        for slot in added:
            self.slots[slot.id] = pool.slots[slot.id] = slot
        return added

    def _pool(self, offering: SimOffering, now: Instant) -> SimPool:
        market = Market.at_mean(
            offering.catalog_price,
            offering.price_per_hour,
            offering.walk and offering.capacity_type is CapacityType.SPOT,
        )
        bill, risk = Bill(now, market.published), offering.interruption_probability
        made = SimPool(offering, market, risk, bill, offering.stock)
        return self.pools.setdefault(made.name, made)

    def _labels_by_rack(self, offering: SimOffering) -> list[Mapping[str, str]]:
        """One shared map per rack: a fleet of 200,000 slots has a few dozen of them."""
        plain = {
            **offering.labels,
            PROVIDER_LABEL: self.provider,
            REGION_LABEL: offering.region,
        }
        if not offering.racks:
            return [MappingProxyType(plain)]
        return [
            MappingProxyType(plain | {RACK_KEY: f"{offering.zone}-r{rack}"})
            for rack in range(offering.racks)
        ]

    def count(self, pool: SimPool, change: int, now: Instant) -> None:
        pool.bill.settle(now, pool.hosts, pool.price)
        region = pool.offering.region
        pool.hosts += change
        self.hosts_of_region[region] = self.hosts_of_region.get(region, 0) + change

    def remove(self, slot: Slot) -> None:
        del self.slots[slot.id]
        del slot.pool.slots[slot.id]

    def quota_left(self, region: str) -> float:
        quota = self.quota_of_region.get(region)
        return float("inf") if quota is None else quota - self.hosts_of_region.get(region, 0)

    def hosted(self) -> Iterator[Slot]:
        return (slot for slot in self.slots.values() if slot.host is not None)


def id_stem(provider: str, offering: SimOffering) -> tuple[str, int]:
    """What stands before a slot's number, and how many digits the number has at least.

    `<provider>--<capacity>--<type>--<zone>--<nnn>`, or `<id_prefix>-<nnnn>` where one is given;
    every part in DNS form: lower case, dots kept, any other run one dash.
    """
    if offering.id_prefix:
        return f"{dns_form(offering.id_prefix)}-", 4
    capacity = _CAPACITY_TEXT[offering.capacity_type]
    parts = (provider, capacity, offering.instance_type, offering.zone)
    return "--".join([*map(dns_form, parts), ""]), 3
