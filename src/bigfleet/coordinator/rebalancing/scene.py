"""The fleet as one operation of the rebalance sees it: what is under way, what rests, who is short.

Made from the draft at the start of an operation, so that many shortfalls can be looked at without
reading every row for each; code that opens a transfer records it here.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership.pauses import is_paused
from bigfleet.coordinator.rebalancing.rests import cycles_left, is_of_receiver, nanoseconds
from bigfleet.coordinator.rebalancing.shortages import MachineShape
from bigfleet.coordinator.tables import CooldownRow, ShardRow, TransferRow
from bigfleet.model.coordination import ShortfallDetail, TransferState, TransferTier, drain_id
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import ShardSummary

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class PossibleDonor:
    """A shard that may be asked."""

    #: Its place among all that have machines.
    place: int
    #: Machines that may match, at most.
    matching: int
    shard: str
    #: The address of the provider whose machines it is asked for.
    provider: str


@dataclass(frozen=True, slots=True)
class RankedDonors:
    """Who has machines of a shape, the most first: the same for every shard that asks."""

    possible: tuple[PossibleDonor, ...]
    #: Those that no receiver may ask, and why.
    refusing: tuple[tuple[PossibleDonor, Reason], ...]


_MOVED = (TransferState.GRANTED, TransferState.DONE)


class Scene:
    def __init__(self, book: Book, draft: Draft, before: "Scene | None" = None) -> None:
        """`before`: of the same sweep; what was found out there about donors is not asked again."""
        self.book = book
        self.draft = draft
        self.at = draft.at
        self.rules = book.settings.rebalance
        #: Open transfers by receiver and fingerprint; of returns by home and who has the machines.
        self.open_for: dict[tuple[str, str], str] = {}
        #: Transfers by the machines that are in them.
        self.transfer_of: dict[str, str] = {}
        #: Machines that left a shard within the hour or are about to, returned ones not counted.
        self.given: Counter[str] = Counter()
        #: Machines that are drained by decisions since the last sweep began.
        self.drained = 0
        #: Donors that have not begun yet to drain machines they would give.
        self.asked_to_drain: set[str] = set()
        self._whys: dict[str, str] = {}
        #: What was found out already: donors by what was asked, and which shapes serve which.
        self.ranked: dict[object, RankedDonors] = before.ranked if before else {}
        self._serves: dict[tuple[str, str], bool] = before._serves if before else {}
        for row in draft.transfers.values():
            self.opened(row)

    def opened(self, row: TransferRow) -> None:
        """The row is there now, or has been from the start."""
        moved = row.transfer
        if moved.state.open:
            self.open_for[_pair(row)] = moved.id
            self.transfer_of.update(dict.fromkeys(moved.machine_ids, moved.id))
        if self._is_asked_to_drain(row):
            self.asked_to_drain.add(moved.from_shard)
        self._add(row, 1)

    def closed(self, row: TransferRow) -> None:
        """The row as it was does not count any more."""
        self.open_for.pop(_pair(row), None)
        for machine in row.transfer.machine_ids:
            self.transfer_of.pop(machine, None)
        if self._is_asked_to_drain(row):
            self.asked_to_drain.discard(row.transfer.from_shard)
        self._add(row, -1)

    def _add(self, row: TransferRow, sign: int) -> None:
        moved, since = row.transfer, self.book.swept_at
        since = self.at - nanoseconds(self.rules.interval) if since is None else since
        if moved.tier is TransferTier.DRAIN and moved.created_at >= since:
            self.drained += sign * row.most
        if moved.tier is not TransferTier.RETURN:
            self.given[moved.from_shard] += sign * self._leaving(row)

    def _is_asked_to_drain(self, row: TransferRow) -> bool:
        moved = row.transfer
        if moved.tier is not TransferTier.DRAIN:
            return False
        if moved.state is TransferState.OFFERED:
            return True
        pending = self.draft.instructions.of_first(moved.from_shard)
        return any(each.instruction.id == drain_id(moved.id) for each in pending)

    def _leaving(self, row: TransferRow) -> int:
        moved = row.transfer
        if moved.state is TransferState.OFFERED:
            return row.most
        if moved.state in _MOVED:
            left_at = row.granted_at or moved.updated_at
            return len(moved.machine_ids) if self.at - left_at < nanoseconds(_HOUR) else 0
        return len(moved.machine_ids) if moved.state.open else 0

    # -- shards ----------------------------------------------------------------------------------

    @cached_property
    def shards(self) -> list[ShardRow]:
        rows = self.draft.shards.values()
        return sorted((row for row in rows if not row.removed), key=lambda row: row.id)

    def shard(self, shard: str) -> ShardRow | None:
        row = self.draft.shards.get(shard)
        return row if row is not None and not row.removed else None

    def why_out(self, shard: str) -> str:
        """Why the shard takes no part in anything, as the end of a sentence; empty: it does."""
        if shard not in self._whys:
            self._whys[shard] = self._why_out(shard)
        return self._whys[shard]

    def _why_out(self, shard: str) -> str:
        book, at = self.book, self.at
        if self.shard(shard) is None:
            return "is not registered"
        if not book.is_fresh(shard, at):
            return "has not reported lately"
        if not book.is_syncing(shard, at):
            return "has not synced lately"
        return "is paused" if is_paused(book, shard, at) else ""

    def summary(self, shard: str) -> ShardSummary | None:
        memory = self.book.shards.get(shard)
        return memory.report.summary if memory is not None and memory.report is not None else None

    def shortfalls(self, shard: str) -> tuple[ShortfallDetail, ...]:
        memory = self.book.shards.get(shard)
        return memory.sync.shortfalls if memory is not None and memory.sync is not None else ()

    def would_serve(self, shape: MachineShape, other: MachineShape) -> bool:
        names = (shape.name, other.name)
        if names not in self._serves:
            self._serves[names] = shape.would_serve(other)
        return self._serves[names]

    # -- rests -----------------------------------------------------------------------------------

    @cached_property
    def resting(self) -> dict[str, list[tuple[CooldownRow, MachineShape]]]:
        """Rests of receivers that are not over, with what they are about, by shard."""
        found: dict[str, list[tuple[CooldownRow, MachineShape]]] = defaultdict(list)
        for row in self.draft.cooldowns.values():
            if is_of_receiver(row) and (row.until > self.at or cycles_left(self.book, row) > 0):
                found[row.shard].append((row, MachineShape(row.requirements, row.min_unit)))
        return found


def _pair(row: TransferRow) -> tuple[str, str]:
    moved = row.transfer
    returns = moved.tier is TransferTier.RETURN
    return moved.to_shard, moved.from_shard if returns else moved.fingerprint
