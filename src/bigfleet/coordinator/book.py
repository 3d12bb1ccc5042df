"""The coordinator's book: what is durable, and beside it what a leader may forget.

Reports and syncs are soft: after a fail-over they are empty until the shards speak again. An
operation reads the book, writes durable rows through a draft and soft state right here.
"""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bigfleet.coordinator.draft import Draft, DraftTable
from bigfleet.coordinator.rebalancing.shortages import NO_SHORTAGES, Shortages
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.tables import (
    ANY_PROVIDER,
    DefaultRow,
    DomainRow,
    PartitionKeysRow,
    SeqRow,
    ShardRow,
    Tables,
)
from bigfleet.edge.counts import Counts
from bigfleet.model.coordination import CoordinatorEvent, SyncRequest
from bigfleet.model.coordinator_calls import ShardReport
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride, Owners, OwnershipView, Pair, key_order
from bigfleet.model.pauses import Pause
from bigfleet.model.reasons import Reason

#: Events that can still be tailed.
REMEMBERED = 5000
#: Pauses no longer in force that can still be listed.
PAST_PAUSES = 100


@dataclass(slots=True)
class ShardMemory:
    """What a shard last said; of this leader's time only."""

    report: ShardReport | None = None
    #: When it last reported, whether or not the report was news; None: not yet.
    heard_at: Instant | None = None
    #: When the stored report came.
    reported_at: Instant | None = None
    sync: SyncRequest | None = None
    synced_at: Instant | None = None
    #: How many syncs in a row named each fingerprint as short.
    streaks: Counter[str] = field(default_factory=Counter)
    #: What that sync is short of; set by `is_short_of`.
    shortages: Shortages = NO_SHORTAGES
    #: Of each of them that a sweep has looked at, by fingerprint: why it opened no transfer, or
    #: that one is under way. Nothing else is kept of each: a large fleet has twenty thousand.
    swept: dict[str, Reason] = field(default_factory=dict)
    #: When the last sweep looked at them.
    swept_at: Instant | None = None
    #: The last instruction it was sent, by number: where more wait than fit, others come next.
    sent_up_to: int = 0
    #: The highest number it was sent, and when something was new or acknowledged.
    told_up_to: int = 0
    stirred_at: Instant = 0
    #: Instructions it acknowledged before that counts: it was not yet known to have the view that
    #: shows them, or the transaction was full. They are not sent again.
    early: set[str] = field(default_factory=set)
    #: Instructions that failed and were sent again since.
    retried: set[str] = field(default_factory=set)
    #: Until when it is not asked again for machines it had not, by what they were asked for.
    declined: dict[str, Instant] = field(default_factory=dict)
    #: Since when it has called each machine of another home returnable.
    returnable_since: dict[str, Instant] = field(default_factory=dict)
    #: Since when it has had slots it does not need, and how many it needed at most since then, by
    #: provider name and region.
    surplus: dict[tuple[str, str], tuple[Instant, int]] = field(default_factory=dict)

    def is_short_of(self, shortages: Shortages) -> None:
        """As its newest sync tells; what sweeps said of anything else is forgotten."""
        self.shortages = shortages
        known = shortages.by_fingerprint
        self.swept = {name: reason for name, reason in self.swept.items() if name in known}


class Book:
    def __init__(
        self,
        tables: Tables,
        settings: CoordinatorSettings,
        term: int,
        counts: Counts | None = None,
    ) -> None:
        self.tables = tables
        self.settings = settings
        self.term = term
        self.counts = counts or Counts()
        self.shards: dict[str, ShardMemory] = {}
        self.events: deque[CoordinatorEvent] = deque(maxlen=REMEMBERED)
        #: The last that expired or were lifted, oldest first.
        self.past_pauses: deque[Pause] = deque(maxlen=PAST_PAUSES)
        #: Since when this leader asks the shards what they hold; None: it does not.
        self.merging_since: Instant | None = None
        self._next_event = 1
        #: When the last sweep of the rebalance began.
        self.swept_at: Instant | None = None
        #: Revisions since which domains and default owners, the overrides of a provider, and what
        #: concerns one shard alone are as they are.
        self._of_all = self.revision
        self._of_provider: dict[str, int] = {}
        self._of_shard: dict[str, int] = {}
        #: As in the rows, but for what has moved since; kept beside them, because a copy of it is
        #: made in a millisecond and a walk over a hundred thousand rows in a hundred.
        self._owners = Owners((row.pair, row.owner) for row in tables.domains.rows.values())
        self._moved: dict[Pair, str | None] = {}
        #: What views are made of; None: the rows differ from it by now.
        self._shown: tuple[Mapping[Pair, str], tuple[str, ...]] | None = None

    # -- what is durable -------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """Of ownership."""
        return (self.tables.seq.get() or SeqRow()).revision

    @property
    def merging(self) -> bool:
        return (self.tables.seq.get() or SeqRow()).merging

    @property
    def partition_keys(self) -> tuple[str, ...]:
        return (self.tables.partition_keys.get() or PartitionKeysRow()).keys

    def shard(self, shard: str) -> ShardRow | None:
        """None where it is unknown or removed."""
        row = self.tables.shards.get(shard)
        return row if row is not None and not row.removed else None

    def committed(self, draft: Draft) -> None:
        """The store has taken it."""
        touched = {
            row.provider
            for key, new in draft.overrides.changed.items()
            for row in (new, self.tables.overrides.rows.get(key))
            if row is not None
        }
        attached = [
            row.id
            for key, row in draft.shards.changed.items()
            if row is not None and _attached_anew(row, self.tables.shards.rows.get(key))
        ]
        ends_merge = self.merging and not draft.numbers.merging
        concerns_all = _shows_otherwise(draft.domains) or _shows_otherwise(draft.defaults)
        for (key, value), domain in draft.domains.changed.items():
            self._moved[key, value] = domain.owner if domain is not None else None
        draft.apply()
        revision = self.revision
        if ends_merge or concerns_all or draft.partition_keys.changed:
            self._of_all = revision
            self._shown = None
        self._of_provider.update(dict.fromkeys(touched, revision))
        self._of_shard.update(dict.fromkeys(attached, revision))
        for count in draft.counts:
            self.counts.add(count.name, count.amount, **count.labels)
        for note in draft.notes:
            self.events.append(
                CoordinatorEvent(
                    self._next_event,
                    draft.at,
                    self.term,
                    note.kind,
                    note.subject,
                    note.text,
                    note.peer,
                )
            )
            self._next_event += 1

    def reread(self, tables: Tables) -> "Book":
        """Over what the store really has; what may be forgotten is kept."""
        fresh = Book(tables, self.settings, self.term, self.counts)
        fresh.shards, fresh.events = self.shards, self.events
        fresh._next_event = self._next_event
        fresh.past_pauses, fresh.merging_since = self.past_pauses, self.merging_since
        return fresh

    # -- views -----------------------------------------------------------------------------------

    def revision_for(self, shard: ShardRow) -> int:
        """Of the newest change that concerns the shard."""
        of_providers = (self._of_provider.get(p, 0) for p in (*shard.providers, ANY_PROVIDER))
        return max(self._of_all, self._of_shard.get(shard.id, 0), *of_providers)

    def view_for(self, shard: ShardRow) -> OwnershipView:
        domains, keys = self.domains()
        attached = {*shard.providers, ANY_PROVIDER}
        overrides = {
            row.machine: MachineOverride(row.machine, row.shard, row.home, row.transfer)
            for row in self.tables.overrides.rows.values()
            if row.provider in attached
        }
        defaults = {row.provider: row.owner for row in self.tables.defaults.rows.values()}
        return OwnershipView(self.revision_for(shard), domains, overrides, defaults, keys)

    def domains(self) -> tuple[Mapping[Pair, str], tuple[str, ...]]:
        """Owners by pair, and the order of the keys; the same objects until they change."""
        if self._shown is None:
            keys = key_order(self.partition_keys, self.tables.domains.by_first)
            self._owners = self._owners.with_changes(self._moved)
            self._moved = {}
            self._shown = (self._owners, keys)
        return self._shown

    # -- what may be forgotten -------------------------------------------------------------------

    def memory(self, shard: str) -> ShardMemory:
        return self.shards.setdefault(shard, ShardMemory())

    def is_fresh(self, shard: str, at: Instant) -> bool:
        """Whether it reported lately."""
        heard = self.memory(shard).heard_at if shard in self.shards else None
        return heard is not None and at - heard <= self._stale_after

    def is_syncing(self, shard: str, at: Instant) -> bool:
        """Whether its present life has synced lately: only then may it be told to move machines."""
        row, known = self.shard(shard), self.shards.get(shard)
        if row is None or known is None or known.sync is None or known.synced_at is None:
            return False
        return known.sync.epoch == row.epoch and at - known.synced_at <= self._stale_after

    def sizes(self) -> dict[str, Any]:
        """Of everything that could grow: the rows of each table, and what may be forgotten."""
        known = self.shards.values()
        return {
            "rows": {table.name: len(table.rows) for table in self.tables},
            "events": len(self.events),
            "pastPauses": len(self.past_pauses),
            "shardsHeard": len(known),
            "earlyAcknowledgements": sum(len(each.early) for each in known),
            "retriedInstructions": sum(len(each.retried) for each in known),
            "declinedOffers": sum(len(each.declined) for each in known),
            "returnableMachines": sum(len(each.returnable_since) for each in known),
            "sweptShortfalls": sum(len(each.swept) for each in known),
        }

    @property
    def _stale_after(self) -> int:
        return round(self.settings.stale_after * SECOND)


def _shows_otherwise(table: DraftTable[DomainRow] | DraftTable[DefaultRow]) -> bool:
    """Whether a view differs for it: a hand-over that goes on is not seen."""
    before = table.table.rows
    for key, row in table.changed.items():
        old = before.get(key)
        if (row.owner if row is not None else None) != (old.owner if old is not None else None):
            return True
    return False


def _attached_anew(row: ShardRow, before: ShardRow | None) -> bool:
    return before is None or row.providers != before.providers
