"""The coordinator in virtual time: its real book over rows that outlive it.

One replica leads; a crash loses what was not committed, and the next life reads the rows back and
leads in a newer term. What a fleet's administrator would have told it, which shard owns which
zone, it is told here, again and again until it is taken.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.keys import tables_of
from bigfleet.coordinator.membership import domains, expiries, reports, shard_sync
from bigfleet.coordinator.rebalancing import quotas, sweeps
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.tables import Tables
from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import ReportReply, ShardReport
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.shard_views import ShardSummary
from bigfleet.simulation.schedule import Schedule

T = TypeVar("T")

NAME = "coordinator-0"
END = f"coordinator/{NAME}"
_TICK_SECONDS = 1.0


class SimulatedCoordinator:
    def __init__(self, schedule: Schedule, owner_of_zone: Mapping[str, str]) -> None:
        """`owner_of_zone`: which shard is to own the machines of a zone."""
        self._schedule = schedule
        self._settings = CoordinatorSettings()
        #: What is stored; it outlives every life.
        self._rows: dict[str, bytes] = {}
        self._book = Book(Tables(), self._settings, 1)
        self.is_up = True
        self._wanted = dict(owner_of_zone)
        self._introduce()
        schedule.call_later(_TICK_SECONDS, self._tick)
        schedule.call_later(self._settings.rebalance.interval, self._sweep)

    def _introduce(self) -> None:
        """Zones are given out before a shard is there: the first one would take everything."""
        at, nothing = self._schedule.now(), ShardSummary(0, 0, {}, {})
        for shard in sorted(set(self._wanted.values())):
            report = ShardReport(shard, 0, at, 0, f"{shard}:7780", nothing)
            self._answered(_reported(report))
        for duty in self._assignments():
            self._transact(duty)

    # -- life ------------------------------------------------------------------------------------

    def kill(self) -> None:
        self.is_up = False

    def restart(self) -> None:
        """Another life, or another replica: it knows the rows, and no shard's last words."""
        tables = tables_of(dict(sorted(self._rows.items())))
        self._book = Book(tables, self._settings, self._book.term + 1)
        self.is_up = True

    def move_zone(self, zone: str, shard: str) -> None:
        """A person wants another shard to own it."""
        self._wanted[zone] = shard

    # -- calls -----------------------------------------------------------------------------------

    def report(self, report: ShardReport) -> ReportReply | Rejected:
        return self._answered(_reported(report))

    def sync(self, request: SyncRequest) -> SyncReply | Rejected:
        reply = self._answered(lambda book, draft: shard_sync.on_sync(book, draft, request))
        if isinstance(reply, Rejected):
            return reply
        return shard_sync.finish_sync(self._book, request, reply)

    def _answered(self, operation: Callable[[Book, Draft], T]) -> T | Rejected:
        try:
            return self._transact(operation)
        except Rejected as problem:
            return problem

    def _transact(self, operation: Callable[[Book, Draft], T]) -> T:
        """Raises Rejected, and then nothing is changed."""
        draft = Draft(self._book.tables, self._schedule.now())
        result = operation(self._book, draft)
        for change in draft.changes():
            if change.value is None:
                self._rows.pop(change.key, None)
            else:
                self._rows[change.key] = change.value
        self._book.committed(draft)
        return result

    # -- duties ----------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._schedule.call_later(_TICK_SECONDS, self._tick)
        if not self.is_up:
            return
        for duty in (expiries.tick, quotas.tick, sweeps.settle, *self._assignments()):
            self._answered(duty)

    def _sweep(self) -> None:
        self._schedule.call_later(self._settings.rebalance.interval, self._sweep)
        sweep = sweeps.Sweep()
        while self.is_up and self._answered(sweep.piece) is False:
            pass

    def _assignments(self) -> list[Callable[[Book, Draft], None]]:
        """What of the wanted owners is not so yet; refused ones are asked again."""
        rows = self._book.tables.domains.rows.values()
        owners = {row.value: row.shard for row in rows if row.key == ZONE_KEY}
        asked: list[Callable[[Book, Draft], None]] = []
        for zone, shard in self._wanted.items():
            if owners.get(zone) == shard:
                continue
            asked.append(_unassigned(zone) if owners.get(zone) else _assigned(zone, shard))
        return asked


def _reported(report: ShardReport) -> Callable[[Book, Draft], ReportReply]:
    return lambda book, draft: reports.on_report(book, draft, report)


def _assigned(zone: str, shard: str) -> Callable[[Book, Draft], None]:
    return lambda book, draft: domains.assign(book, draft, ZONE_KEY, zone, shard)


def _unassigned(zone: str) -> Callable[[Book, Draft], None]:
    return lambda book, draft: domains.unassign(book, draft, ZONE_KEY, zone)
