"""Describes the substrate again and again and brings the inventory in line with it.

New ids are added, cost, shape and labels refreshed, hosts that stay away are failed. State and
binding of a machine with a running operation are never touched from here.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.logs import Log
from bigfleet.model.backoffs import Backoff
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import Instant
from bigfleet.model.machines import MachineState as S
from bigfleet.provider.backend import (
    Condition,
    Instance,
    Inventory,
    Permanent,
    Price,
    PriceTable,
)
from bigfleet.provider.calls import BackendCalls
from bigfleet.provider.committer import Committer
from bigfleet.provider.ledger.entries import Entry, refreshed, repriced, seeded
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.operations.attempts import done_by
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.own_changes import AT_ONCE, AT_ONCE_AT_THE_START, Change, Changes
from bigfleet.provider.reconciling.comparison import (
    Absences,
    Comparison,
    Rule,
    compared,
    judged,
    merged,
    price_in,
    priced,
    priced_only,
)
from bigfleet.provider.reconciling.record_checks import ScreenedInstances, screened
from bigfleet.provider.stores.store import StoreFailed

P = ParamSpec("P")
T = TypeVar("T")

#: Records: some ten milliseconds of comparing.
IN_LOOP = 5_000


async def off_loop(size: int, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Long pure work leaves the event loop; short work stays, where its order is certain."""
    if size <= IN_LOOP:
        return work(*arguments, **named)
    return await asyncio.to_thread(work, *arguments, **named)


FAILED_DESCRIBES = 3
#: Until the first describe succeeds, nothing can be served.
_FIRST_DESCRIBE = Backoff(2.0, 30.0)


@dataclass(frozen=True, slots=True)
class DescribedFleet:
    """The last describe that could be read."""

    #: When it was begun.
    at: Instant
    instances: dict[str, Instance]
    complete: bool


class Reconciler:
    def __init__(
        self,
        calls: BackendCalls,
        committer: Committer,
        changes: Changes,
        clock: Clock,
        options: ProviderOptions,
        metrics: ProviderMetrics,
        log: Log,
        *,
        allow_any_id: bool = False,
    ) -> None:
        self._calls = calls
        self._committer = committer
        self._changes = changes
        self._clock = clock
        self._options = options
        self._metrics = metrics
        self._log = log
        self._allow_any_id = allow_any_id
        self._wanted = asyncio.Event()
        self._one = asyncio.Lock()
        self._prices = PriceTable()
        self._hosts = Absences()
        self._slots = Absences()
        self._accepted = False
        self._rule = Rule(options.miss_threshold, options.miss_seconds)
        #: In a row.
        self._failures = 0
        self.described: DescribedFleet | None = None

    @property
    def healthy(self) -> bool:
        return self.described is not None and self._failures < FAILED_DESCRIBES

    @property
    def quarantined(self) -> bool:
        return self._hosts.quarantined or self._slots.quarantined

    def want(self) -> None:
        """Describe as soon as possible."""
        self._wanted.set()

    def accept(self) -> None:
        """An operator says that the loss is real: the next describe is judged as it is."""
        self._accepted = True
        self.want()

    async def first(self) -> None:
        """The describe a new provider starts from; any broken record refuses the start."""
        head, began = self._committer.published.head, self._clock.now()
        inventory = await self._describe()
        found = self._screened(inventory)
        if found.broken:
            raise BadInput([Problem(machine_id, why) for machine_id, why in found.broken])
        await self._take_in(found, inventory.complete, head, began)

    async def run(self) -> None:
        """For ever; a describe that fails is counted and tried again."""
        while True:
            if self.described is not None:
                await self._pause()
            await self.once()

    async def _pause(self) -> None:
        due = self._clock.call_later(self._options.timing.reconcile, self._wanted.set)
        try:
            await self._wanted.wait()
        finally:
            due.cancel()

    async def described_after(self, at: Instant) -> DescribedFleet | None:
        """A describe that was begun after `at`, made now if there is none; None if it fails."""
        if self.described is None or self.described.at <= at:
            await self.once()
        return self.described if self.described and self.described.at > at else None

    async def once(self) -> None:
        async with self._one:
            await self._once()

    async def _once(self) -> None:
        self._wanted.clear()
        began = self._clock.now()
        head = self._committer.published.head
        try:
            inventory = await self._describe()
        except Exception as error:  # noqa: BLE001 - an author's describe may raise anything
            self._failures += 1
            self._metrics.counts.add("describe_total", outcome="error")
            self._log.warning("describe.failed", text=str(error) or type(error).__name__)
            if self.described is None:
                await self._clock.sleep(_FIRST_DESCRIBE.seconds(self._failures))
            return
        found = await off_loop(len(inventory.instances), self._screened, inventory)
        for machine_id, why in found.broken:
            self._metrics.counts.add("invalid_records_total")
            self._log.warning("describe.invalid", machine=machine_id, text=why)
        try:
            await self._take_in(found, inventory.complete, head, began)
        except StoreFailed:
            # The committer tells of it, and the next describe finds the same differences.
            return

    async def _describe(self) -> Inventory:
        async def describe() -> Inventory:
            described: object = await self._calls.describe()
            if not isinstance(described, Inventory):
                kind = type(described).__name__
                raise Permanent(f"describe returned a {kind}; it returns Inventory([...])")
            return described

        deadline = self._clock.now() + round(self._options.timing.describe * SECOND)
        return await done_by(self._clock, deadline, describe())

    def _screened(self, inventory: Inventory) -> ScreenedInstances:
        prices = self._prices
        instances = inventory.instances
        if prices.offerings or prices.machines:
            instances = tuple(priced(instance, prices) for instance in instances)
        return screened(instances, allow_any_id=self._allow_any_id)

    async def _take_in(
        self, found: ScreenedInstances, complete: bool, head: int, began: Instant
    ) -> None:
        entries = self._committer.published.entries()
        provider = self._options.provider
        size = len(entries) + len(found.sound)
        comparison = await off_loop(size, compared, entries, found.sound, provider, head)
        for machine_id in comparison.contradicted:
            self._metrics.counts.add("invalid_records_total")
            self._log.warning("describe.contradicted", machine=machine_id)
        take_slot = self._committer.take_slot
        at_once = AT_ONCE if entries else AT_ONCE_AT_THE_START
        new = [seeded(instance, provider, take_slot()) for instance in comparison.new]
        await self._changes.add(new, at_once)
        await self._changes.change_many(
            (machine_id, _refresh(instance, provider))
            for machine_id, instance in comparison.changed.items()
        )
        self._failures = 0
        self.described = DescribedFleet(began, found.sound, complete)
        outcome = "complete" if complete else "partial"
        self._metrics.counts.add("describe_total", outcome=outcome)
        if complete:
            self._prices = priced_only(self._prices, found.sound)
            await self._judge(comparison)

    async def _judge(self, comparison: Comparison) -> None:
        now, accepted = self._clock.now(), self._accepted
        self._accepted = False
        hosts = judged(
            self._hosts,
            comparison.absent_hosts,
            comparison.present_hosts,
            now,
            self._rule,
            accepted=accepted,
        )
        slots = judged(
            self._slots,
            comparison.absent_slots,
            comparison.present_slots,
            now,
            self._rule,
            accepted=accepted,
        )
        self._hosts, self._slots = hosts.absences, slots.absences
        self._metrics.counts.set("describe_quarantined", self.quarantined)
        if self.quarantined:
            lost = len(comparison.absent_hosts) + len(comparison.absent_slots)
            self._log.warning("describe.quarantined", lost=lost)
        for machine_id in sorted(hosts.gone):
            if await self._confirmed_gone(machine_id):
                await self.lose(machine_id, "the substrate no longer shows the host")
        for machine_id in sorted(slots.gone):
            if await self._changes.retire(machine_id, S.SPECULATIVE):
                self._log.info("slot.retired", machine=machine_id)

    async def _confirmed_gone(self, machine_id: str) -> bool:
        entry = self._committer.published.entry(machine_id)
        if entry is None or not self._calls.can_inspect:
            return entry is not None
        deadline = self._clock.now() + round(self._options.timing.describe * SECOND)
        inspection = self._calls.inspect(entry.substrate_record)
        try:
            return (await done_by(self._clock, deadline, inspection)).condition is Condition.GONE
        except Exception as error:  # noqa: BLE001 - not confirmed, for any reason
            self._log.warning("inspect.failed", machine=machine_id, text=str(error))
            return False

    async def lose(self, machine_id: str, text: str) -> None:
        if await self._changes.lose(machine_id, text):
            self._metrics.counts.add("vanished_total")
            self._log.warning("host.gone", machine=machine_id, text=text)

    async def reprice(self, table: PriceTable) -> None:
        """New prices, at once for all machines they concern."""
        self._prices = merged(self._prices, table)
        entries = self._committer.published.entries()
        changes = await off_loop(len(entries), _repricings, entries, table)
        await self._changes.change_many(changes)


def _refresh(instance: Instance, provider: str) -> Change:
    return lambda entry: refreshed(entry, instance, provider)


def _reprice(price: Price) -> Change:
    return lambda entry: repriced(entry, price)


def _repricings(entries: list[Entry], table: PriceTable) -> list[tuple[str, Change]]:
    changes: list[tuple[str, Change]] = []
    for entry in entries:
        price = price_in(table, entry.substrate_id, entry.offering)
        if price is not None and repriced(entry, price) is not entry:
            changes.append((entry.id, _reprice(price)))
    return changes
