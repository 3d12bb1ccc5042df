"""What a describe says against what the inventory knows, and when it is believed.

A describe against the inventory: what is new, what differs, what is missing.

Pure and done in a thread: a hundred thousand unchanged records must not stop the event loop.

When an absent machine counts as gone, and when a describe is not believed at all.

A machine is gone after so many complete describes in a row without it, spanning at least so long. A
describe that would lose a large part at once is more likely wrong than true: it is quarantined and
judged only when the same loss has been seen five times, or when an operator accepts it. An empty
describe after a full one is always such.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import Instant
from bigfleet.model.machines import MachineState as S
from bigfleet.provider.backend import Instance, OfferingKey, Price, PriceTable
from bigfleet.provider.ledger.entries import Entry, refreshed

LOSS_SHARE, LOSS_COUNT = 0.10, 5
EQUAL_DESCRIBES = 5


@dataclass(frozen=True, slots=True)
class Absence:
    describes: int
    since: Instant


@dataclass(frozen=True, slots=True)
class Rule:
    threshold: int = 3
    span_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Absences:
    """What was missing in the describes so far."""

    misses: Mapping[str, Absence] = field(default_factory=dict)
    #: The loss that is not believed yet, and how often it was seen; None: nothing is doubted.
    doubted: frozenset[str] | None = None
    seen: int = 0

    @property
    def quarantined(self) -> bool:
        return self.doubted is not None


@dataclass(frozen=True, slots=True)
class Judgement:
    absences: Absences
    gone: frozenset[str]


def judged(
    before: Absences,
    absent: frozenset[str],
    present: int,
    now: Instant,
    rule: Rule,
    *,
    accepted: bool = False,
) -> Judgement:
    """`absent` are known machines the describe does not show, `present` how many it does show."""
    after = _missed(before, absent, now)
    if not accepted and _too_many(len(absent), present):
        seen = before.seen + 1 if before.doubted == absent else 1
        if seen < EQUAL_DESCRIBES:
            return Judgement(replace(after, doubted=absent, seen=seen), frozenset())
    gone = frozenset(
        machine_id
        for machine_id, miss in after.misses.items()
        if miss.describes >= rule.threshold and now - miss.since >= rule.span_seconds * SECOND
    )
    kept = {machine_id: miss for machine_id, miss in after.misses.items() if machine_id not in gone}
    return Judgement(Absences(kept), gone)


def _missed(before: Absences, absent: frozenset[str], now: Instant) -> Absences:
    misses = {}
    for machine_id in absent:
        miss = before.misses.get(machine_id) or Absence(0, now)
        misses[machine_id] = replace(miss, describes=miss.describes + 1)
    return replace(before, misses=misses)


def _too_many(absent: int, present: int) -> bool:
    if absent and not present:
        return True
    return absent > LOSS_COUNT and absent > LOSS_SHARE * (absent + present)


@dataclass(frozen=True, slots=True)
class Comparison:
    new: list[Instance]
    #: Machine id -> the described record that differs from ours.
    changed: dict[str, Instance]
    #: Hosts we show at rest that the describe does not; slots likewise.
    absent_hosts: frozenset[str]
    absent_slots: frozenset[str]
    present_hosts: int
    present_slots: int
    #: Known ids described as another type, zone or capacity type than before.
    contradicted: list[str]


def compared(
    entries: Iterable[Entry], described: Mapping[str, Instance], provider: str, head: int
) -> Comparison:
    """`head` is the revision when the describe began: what moved since is not judged absent."""
    known: set[str] = set()
    changed: dict[str, Instance] = {}
    contradicted: list[str] = []
    hosts: list[str] = []
    slots: list[str] = []
    present_hosts = present_slots = 0
    for entry in entries:
        known.add(entry.substrate_id)
        instance = described.get(entry.substrate_id)
        if instance is not None:
            if entry.offering != _offering(instance):
                contradicted.append(entry.id)
            elif refreshed(entry, instance, provider) is not entry:
                changed[entry.id] = instance
        if entry.state in (S.IDLE, S.CONFIGURED):
            if instance is not None and instance.host is not None:
                present_hosts += 1
            elif entry.revision <= head:
                hosts.append(entry.id)
        elif entry.state is S.SPECULATIVE:
            if instance is not None:
                present_slots += 1
            elif entry.revision <= head:
                slots.append(entry.id)
    new = [instance for key, instance in described.items() if key not in known]
    return Comparison(
        new,
        changed,
        frozenset(hosts),
        frozenset(slots),
        present_hosts,
        present_slots,
        contradicted,
    )


def _offering(instance: Instance) -> OfferingKey:
    return OfferingKey(instance.instance_type, instance.zone, instance.capacity_type)


def priced(instance: Instance, table: PriceTable) -> Instance:
    """The described record at the price of the table, where the table has one."""
    price = price_in(table, instance.id, _offering(instance))
    if price is None:
        return instance
    probability = price.interruption_probability
    return replace(
        instance,
        price_per_hour=price.price_per_hour,
        interruption_probability=(
            instance.interruption_probability if probability is None else probability
        ),
    )


def price_in(table: PriceTable, machine_id: str, offering: OfferingKey) -> Price | None:
    return table.machines.get(machine_id) or table.offerings.get(offering)


def merged(older: PriceTable, newer: PriceTable) -> PriceTable:
    return PriceTable({**older.offerings, **newer.offerings}, {**older.machines, **newer.machines})


def priced_only(table: PriceTable, described: Mapping[str, Instance]) -> PriceTable:
    """Drops the prices of machines that are gone: ids come and go, the table must not grow."""
    if not table.machines:
        return table
    machines = {name: price for name, price in table.machines.items() if name in described}
    return PriceTable(table.offerings, machines)
