"""What the substrate tells by itself: interruption notices, lost hosts, new prices."""

from dataclasses import dataclass

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.logs import Log
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant, MachineState
from bigfleet.provider.backend import (
    DescribeNow,
    Gone,
    Interruption,
    PriceChanged,
    Signal,
)
from bigfleet.provider.calls import BackendCalls
from bigfleet.provider.committer import Committer
from bigfleet.provider.ledger.entries import Entry, noticed
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.own_changes import Changes
from bigfleet.provider.reconciling.reconciler import Reconciler

_PAUSES = Backoff(1.0, 30.0)


@dataclass(slots=True)
class Signals:
    calls: BackendCalls
    committer: Committer
    changes: Changes
    reconciler: Reconciler
    clock: Clock
    metrics: ProviderMetrics
    log: Log
    price_seconds: float
    #: When the last prices were fetched.
    priced_at: Instant = 0

    async def watch(self) -> None:
        """Follows the stream for ever; one that breaks is opened again, ever more slowly."""
        if not self.calls.can_watch:
            return
        failures = 0
        while True:
            try:
                async for signal in self.calls.watch():
                    failures = 0
                    await self.take(signal)
            except Exception as error:  # noqa: BLE001 - an author's stream may raise anything
                self.log.warning("watch.failed", text=str(error) or type(error).__name__)
            self.reconciler.want()  # what was told meanwhile is lost
            failures += 1
            await self.clock.sleep(_PAUSES.seconds(failures))

    async def take(self, signal: Signal) -> None:
        match signal:
            case Interruption(machine_id, at):
                if await self.changes.change(machine_id, lambda e: _noticed(e, at)):
                    self.metrics.counts.add("interruptions_total")
                    self.log.warning("host.interruption", machine=machine_id, at=at)
            case Gone(machine_id, text):
                await self.reconciler.lose(machine_id, text or "the substrate took the host")
            case PriceChanged(prices):
                await self.reconciler.reprice(prices)
            case DescribeNow():
                self.reconciler.want()

    async def refresh_prices(self) -> None:
        """Asks for prices at their own interval, off the path of any request."""
        if not self.calls.can_price:
            return
        self.priced_at = self.clock.now()
        self.metrics.add_gauges_of(self)
        while True:
            try:
                await self.reconciler.reprice(await self.calls.prices())
                self.priced_at = self.clock.now()
            except Exception as error:  # noqa: BLE001 - old prices are better than none
                self.log.warning("prices.failed", text=str(error) or type(error).__name__)
            await self.clock.sleep(self.price_seconds)

    def refresh_gauges(self) -> None:
        age = self.clock.now() - self.priced_at
        self.metrics.counts.set("price_age_seconds", age / SECOND)


def _noticed(entry: Entry, at: int) -> Entry:
    hosted = entry.record.host is not None and entry.state is not MachineState.FAILED
    return noticed(entry, at) if hosted or entry.running else entry
