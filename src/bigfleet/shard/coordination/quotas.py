"""Quotas: how many machines this shard may have of a provider in a region, as it was granted.

The engine is shown the cheapest slots up to what is left of a grant; the others are withheld, and
who gets a slot that is shown is for priority to decide. Grants hold until the next ones, through a
restart too, and a smaller one takes nothing back: it only keeps more from being bought. Showing is
done once a second; what is bought between two looks is counted one by one (`why_not_bought`), so
that a grant is never overdrawn. What is on its way to or from another shard counts as in use.
"""

import weakref
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from bigfleet.engine.kernels.compiled import Bools, Int64s
from bigfleet.engine.places import (
    Place,
    Places,
    beyond,
    capacity_of,
    fits,
    held_code,
    places_of,
)
from bigfleet.engine.snapshot import Snapshot
from bigfleet.explain.need_states import QuotaFacts
from bigfleet.model.batches import Offering
from bigfleet.model.coordination import QuotaGrant, QuotaUsage, ShortfallDetail, Transfer
from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import Reason
from bigfleet.model.requirements import REGION_KEY
from bigfleet.model.resources import Resources
from bigfleet.shard.coordination.in_transit import InTransit
from bigfleet.shard.effects import COORDINATION, Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.offerings import Offerings
from bigfleet.shard.reconciling.reconciler import Reconciler

#: Of the row in the table COORDINATION.
KEY = "quotas"
_QUOTA = held_code(HeldBy.QUOTA)
#: Slots are shown anew at most this often.
_PACE = SECOND
_LABELS = ("provider", "region")
#: Offerings of a place that are looked at for what is wanted of it, the cheapest first.
MOST_OFFERINGS = 256


class _Row(msgspec.Struct):
    grants: list[QuotaGrant]
    #: By provider, from the coordinator's registry.
    regions: dict[str, str]


class Quotas:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        stored: Mapping[str, bytes],
        reconciler: Reconciler,
        offerings: Offerings,
    ) -> None:
        """`stored`: rows of COORDINATION, of an earlier life."""
        self._effects = effects
        self._machines = machines
        self._offerings = offerings
        self._row = stored.get(KEY, b"")
        kept = self._read(self._row)
        self._regions = kept.regions
        #: All and only grants that limit something.
        self._limits = _limits(kept.grants)
        self.in_transit = InTransit(effects, machines, stored, reconciler)
        #: Machines that are no slots any more, or on their way, by place; right while `_counted`
        #: says so.
        self._in_use: Counter[Place] = Counter()
        #: Machines on their way to any of the places.
        self._coming = 0
        #: How many machines there were when they were counted; None: count again.
        self._counted: int | None = None
        #: What was looked at last; it lives as long as another part needs it.
        self._shown: weakref.ref[Snapshot] | None = None
        self._shown_at: Instant | None = None
        self._gauged: set[Place] = set()
        machines.watch(self._on_change)

    # -- grants ----------------------------------------------------------------------------------

    def row_of(self, grants: Iterable[QuotaGrant], regions: Mapping[str, str]) -> bytes:
        """What must be on disk under KEY before `take`."""
        known = sorted(grants, key=lambda each: (each.provider, each.region))
        return msgspec.json.encode(_Row(known, dict(sorted(regions.items()))))

    def take(self, grants: Iterable[QuotaGrant], regions: Mapping[str, str], at: Instant) -> None:
        """All grants of this shard; of a place without one as many are bought as are wanted.

        `regions`: by provider, where the coordinator's registry has one.
        """
        given = tuple(grants)
        row = self.row_of(given, regions)
        if row != self._row:
            self._row, self._limits, self._regions = row, _limits(given), dict(regions)
            self._look_again()
        self.refresh(at)

    # -- transfers -------------------------------------------------------------------------------

    def release(self, transfer: Transfer, machines: Iterable[str]) -> None:
        """Before they leave: their slots are not bought anew here, not even with a new grant, until
        the coordinator has decided whose they are."""
        truth = self._machines.truth
        self.in_transit.release(transfer, {m: self._place(truth(m)) for m in machines})
        self._look_again()

    def follow(self, transfers: Iterable[Transfer], shard: str, mark: int) -> None:
        """Transfers as they were when the grants of the same answer were made."""
        if self.in_transit.follow(transfers, shard, mark):
            self._look_again()

    def forget_released(self) -> None:
        """The coordinator has lost its memory, and was told what is left without them."""
        if len(self.in_transit):
            self.in_transit.forget()
            self._look_again()

    def region_of(self, machine: str) -> str:
        return self._place(self._machines.truth(machine))[1]

    # -- asking ----------------------------------------------------------------------------------

    def why_not_bought(self, machine: Machine) -> Reason | None:
        """Why this slot is not bought: everything that was granted is in use."""
        if not self._limits:
            return None
        place = self._place(machine)
        limit = self._limits.get(place)
        if limit is None or self._count()[place] + self._coming < limit:
            return None
        facts = {"provider": place[0], "region": place[1] or "no region", "allocated": limit}
        return Reason("rail.quota", facts)

    def limits(self) -> tuple[QuotaFacts, ...]:
        """Every limit, with the machines that count against it."""
        if not self._limits:
            return ()
        in_use = self._count()
        return tuple(
            QuotaFacts(*place, limit, in_use[place] + self._coming)
            for place, limit in sorted(self._limits.items())
        )

    def usage(
        self, shortfalls: Iterable[ShortfallDetail] = (), *, of_the_rest: bool = False
    ) -> tuple[QuotaUsage, ...]:
        """Of every place that has machines or a grant. `of_the_rest`: what was released is neither
        granted nor in use, for a coordinator that does not know to whom.

        What is wanted is an estimate: of the slots that are withheld, as many as the shortfalls
        would take, the most urgent first and the cheapest offerings first, each slot once. It looks
        at MOST_OFFERINGS of a place, and not at how machines are spread or shared out later.
        """
        places = places_of(self._machines.inventory.snapshot(), self._regions)
        in_use, leaving = Counter(places.in_use()), self.in_transit.leaving()
        if not of_the_rest:
            in_use.update(leaving)
            leaving.clear()
        wanted = self._wanted(places, sorted(shortfalls, key=lambda each: -each.priority))
        none = _WantedSlots()
        return tuple(
            QuotaUsage(
                *place,
                max(0, self._limits.get(place, 0) - leaving[place]),
                in_use[place],
                wanted.get(place, none).slots,
                wanted.get(place, none).priority,
            )
            for place in sorted({*in_use, *self._limits})
        )

    # -- showing ---------------------------------------------------------------------------------

    def refresh(self, at: Instant) -> None:
        """Show and withhold slots as grants and machines are now; costs nothing where nothing
        changed (else some 10 ms for 100K slots), and is put off where it was done a moment ago."""
        if self.in_transit.end_returns():
            self._look_again()
        if not (self._limits or self._gauged):
            return
        if self._shown_at is not None and 0 <= at - self._shown_at < _PACE:
            return
        snapshot = self._machines.inventory.snapshot()
        if self._shown is not None and self._shown() is snapshot:
            return
        places = places_of(snapshot, self._regions)
        self._shown, self._shown_at = weakref.ref(snapshot), at
        self._take_count(places)
        self._withhold(places)
        self._measure()

    # -- within ----------------------------------------------------------------------------------

    def _look_again(self) -> None:
        self._counted = self._shown = self._shown_at = None

    def _withhold(self, places: Places) -> None:
        snapshot = places.snapshot
        held = snapshot.columns.held == _QUOTA
        wanted = np.zeros(len(snapshot), np.bool_)
        for place, limit in self._limits.items():
            slots = places.slots(place)
            resting = self._resting(snapshot, slots, place[0])
            allowed = max(0, limit - self._in_use[place] - self._coming)
            wanted[beyond(snapshot, slots, allowed, resting)] = True
        inventory = self._machines.inventory
        freed = np.flatnonzero(held & ~wanted)
        taken = np.flatnonzero(wanted & (snapshot.columns.held == 0))
        if len(freed):
            inventory.hold_rows(snapshot, freed, None)
        if len(taken):
            inventory.hold_rows(snapshot, taken, Held(HeldBy.QUOTA))
        if len(freed):
            self._effects.wake()

    def _resting(self, snapshot: Snapshot, slots: Int64s, provider: str) -> Bools:
        table = snapshot.tables.offerings.table.rows
        resting = np.zeros(len(table), np.bool_)
        for number in np.unique(snapshot.columns.offering[slots]).tolist():
            resting[number] = self._offerings.is_shut(provider, table[number])
        return resting

    def _count(self) -> Counter[Place]:
        if self._counted != len(self._machines):
            self._take_count(places_of(self._machines.inventory.snapshot(), self._regions))
        return self._in_use

    def _take_count(self, places: Places) -> None:
        self._in_use, self._counted = Counter(places.in_use()), len(self._machines)
        self._in_use.update(self.in_transit.leaving())
        self._coming = self.in_transit.coming()

    def _on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        if not self._limits or self._counted is None:
            return
        if before is None or after is None:
            self._counted = None
            return
        slot = MachineState.SPECULATIVE
        if (before.state is slot) is not (after.state is slot):
            self._in_use[self._place(after)] += -1 if after.state is slot else 1

    def _place(self, machine: Machine) -> Place:
        provider = self._machines.provider_or_none(machine.id) or ""
        region = machine.labels.get(REGION_KEY)
        return provider, self._regions.get(provider, "") if region is None else region

    def _wanted(
        self, places: Places, shortfalls: Sequence[ShortfallDetail]
    ) -> dict[Place, "_WantedSlots"]:
        wishes: dict[Place, _WantedSlots] = {}
        for place in self._limits if shortfalls else ():
            left = _withheld(places, place)
            wish = _WantedSlots()
            for shortfall in shortfalls:
                wish = wish.plus(_taken(left, shortfall), shortfall.priority)
            wishes[place] = wish
        return wishes

    def _measure(self) -> None:
        counts, limits = self._effects.counts, self._limits
        counts.show("quota_allocated", _LABELS, limits)
        counts.show("quota_in_use", _LABELS, {place: self._in_use[place] for place in limits})
        self._gauged = set(limits)

    def _read(self, row: bytes) -> _Row:
        if not row:
            return _Row([], {})
        try:
            return msgspec.json.decode(row, type=_Row)
        except msgspec.MsgspecError as problem:
            text = (
                f"the grants of an earlier start cannot be read ({problem}); until the coordinator"
                " answers, no quota is kept but the provider's own"
            )
            self._effects.log("error", "quotas_unreadable", text)
            self._effects.persist(COORDINATION, KEY, None)
            return _Row([], {})


@dataclass(frozen=True, slots=True)
class _WantedSlots:
    slots: int = 0
    priority: int = 0

    def plus(self, slots: int, priority: int) -> "_WantedSlots":
        if not slots:
            return self
        top = max(self.priority, priority) if self.slots else priority
        return _WantedSlots(self.slots + slots, top)


@dataclass(slots=True)
class _Withheld:
    offering: Offering
    capacity: Mapping[str, int]
    slots: int


def _limits(grants: Iterable[QuotaGrant]) -> dict[Place, int]:
    return {(g.provider, g.region): g.allocated for g in grants if not g.unlimited}


def _withheld(places: Places, place: Place) -> list[_Withheld]:
    """What is withheld at a place, by offering, the cheapest first."""
    columns = places.snapshot.columns
    table = places.snapshot.tables.offerings.table.rows
    slots = places.slots(place)
    rows = slots[columns.held[slots] == _QUOTA]
    numbers, counts = np.unique(columns.offering[rows], return_counts=True)
    found = [
        _Withheld(table[number], dict(capacity_of(table[number]).amounts), count)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
    ]
    found.sort(key=lambda each: each.offering.price_per_hour)
    return found[:MOST_OFFERINGS]


def _taken(left: Sequence[_Withheld], shortfall: ShortfallDetail) -> int:
    """How many of these slots a shortfall would take; they are then taken."""
    taken, deficit = 0, shortfall.deficit.positive()
    for each in left:
        if deficit.is_zero():
            break
        if not each.slots or not fits(each.offering, shortfall.requirements, shortfall.min_unit):
            continue
        needed = max(
            (
                -(-amount // each.capacity[name])
                for name, amount in deficit.amounts
                if each.capacity.get(name, 0) > 0
            ),
            default=0,
        )
        number = min(needed, each.slots)
        each.slots -= number
        taken += number
        deficit = deficit.less(Resources.of(each.capacity).times(number)).positive()
    return taken
