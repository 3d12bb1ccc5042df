"""The durable rows of the coordinator, and the tables they lie in.

A row is a frozen record; its table says how it is named. Tables change only by `apply`, after the
store has taken the change, so what is read here is what is committed. Everything a coordinator must
remember over a fail-over is here; what may be forgotten is the book's memory.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from bigfleet.model.coordination import Transfer
from bigfleet.model.coordinator_calls import AckOutcome, CoordinatorInstruction
from bigfleet.model.machines import Instant
from bigfleet.model.ownership import Pair
from bigfleet.model.pauses import Pause
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources

#: The components of a row's name; none for a table of one row.
Key = tuple[str, ...]

#: The provider of an override learned from a shard with several: all shards are told.
ANY_PROVIDER = ""


@dataclass(frozen=True, slots=True)
class TermRow:
    term: int


@dataclass(frozen=True, slots=True)
class SeqRow:
    #: The next number for an instruction or a transfer; each is used once.
    next: int = 1
    #: Of ownership: every change of who owns what has a higher one.
    revision: int = 0
    #: Restored from a snapshot, and not yet agreed with the shards about who holds what.
    merging: bool = False
    #: The first number after what was used before the restore; 0: not yet known.
    merge_from: int = 0
    #: Who restored the snapshot and why, until the first leader has told it; empty: told.
    restored: str = ""


@dataclass(frozen=True, slots=True)
class PartitionKeysRow:
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardRow:
    id: str
    address: str
    epoch: int
    registered_at: Instant
    #: Addresses of the providers it is attached to.
    providers: tuple[str, ...] = ()
    #: It takes part in nothing any more; its rows are being swept away.
    removed: bool = False
    #: It has called SyncShard: it acts on views, and what it acknowledges is judged by the one it
    #: has. Others act on instructions alone.
    syncs: bool = False


@dataclass(frozen=True, slots=True)
class ClusterRow:
    cluster: str
    shard: str
    bound_at: Instant


@dataclass(frozen=True, slots=True)
class DomainRow:
    key: str
    value: str
    #: Who owns it, or will when no shard holds it any more; empty: the row is deleted then.
    shard: str
    #: Who may still act there; while there is one, the domain has no owner.
    holders: tuple[str, ...] = ()

    @property
    def pair(self) -> Pair:
        return self.key, self.value

    @property
    def owner(self) -> str:
        return "" if self.holders else self.shard


@dataclass(frozen=True, slots=True)
class DefaultRow:
    """Like a domain, of everything a provider has outside of the domains."""

    provider: str
    shard: str
    holders: tuple[str, ...] = ()

    @property
    def owner(self) -> str:
        return "" if self.holders else self.shard


@dataclass(frozen=True, slots=True)
class OverrideRow:
    machine: str
    shard: str
    home: str
    transfer: str
    #: The address of the machine's provider, or ANY_PROVIDER.
    provider: str
    moved_at: Instant


@dataclass(frozen=True, slots=True)
class QuotaRow:
    provider: str
    region: str
    total: int


@dataclass(frozen=True, slots=True)
class AllocationRow:
    provider: str
    region: str
    shard: str
    #: Slots the shard may use as far as it knows; no other shard gets them.
    allocated: int
    #: It is being told of fewer; the others are free once it says that it has heard so.
    shrinks_to: int | None = None


@dataclass(frozen=True, slots=True)
class ProviderRow:
    name: str
    address: str
    region: str = ""
    supports_delete: bool = False


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """Kept until it is acknowledged; the term is stamped when it is sent."""

    shard: str
    sequence: int
    instruction: CoordinatorInstruction
    created_at: Instant
    attempts: int = 0
    last_outcome: AckOutcome = AckOutcome.UNSPECIFIED
    last_reason: str = ""
    #: Not sent again before.
    not_before: Instant = 0
    #: Of ownership: the first view that shows what it is about.
    revision: int = 0


@dataclass(frozen=True, slots=True)
class TransferRow:
    transfer: Transfer
    #: The address of the machines' provider.
    provider: str
    requirements: tuple[Requirement, ...] = ()
    min_unit: Resources = Resources()
    deficit: Resources = Resources()
    #: How many machines may be taken at most.
    most: int = 0
    #: Until when the step it is in may last; None: as long as it takes.
    due: Instant | None = None
    #: Slots by (provider name, region), for the quotas that move with them.
    quota: tuple[tuple[str, str, int], ...] = ()
    #: Donors that declined or kept silent, each with the address of the provider it was asked for.
    asked: tuple[tuple[str, str], ...] = ()
    #: Transfers before it, one after another, that left the shortfall as large as it was.
    stalls: int = 0
    #: The donor has released the machines, and the receiver could not be given them yet.
    released: bool = False
    #: When the machines became the receiver's; None: they are not.
    granted_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class CooldownRow:
    """Something that must not happen again before a time; `scope` says what."""

    scope: str
    until: Instant
    #: Nor before this cycle of the shard it is about.
    until_cycle: int = 0
    #: Failed tries, where it counts them.
    count: int = 0
    #: The deficit of the last try, where progress is judged.
    deficit: Resources = Resources()
    #: A sentence.
    reason: str = ""
    #: The shard it is about.
    shard: str = ""
    #: What its last transfer was about, where machines that are like it matter too.
    requirements: tuple[Requirement, ...] = ()
    min_unit: Resources = Resources()


R = TypeVar("R")


@dataclass(slots=True)
class Table(Generic[R]):
    name: str
    row_type: type[R]
    key_of: Callable[[R], Key]
    #: Names under which a row is counted, for questions about all rows; kept by `apply`.
    marks_of: Callable[[R], Iterable[Hashable]] = lambda row: ()
    rows: dict[Key, R] = field(default_factory=dict)
    #: All and only rows by the first component of their names.
    by_first: dict[str, dict[Key, R]] = field(default_factory=dict)
    #: How many rows have each mark.
    counts: Counter[Hashable] = field(default_factory=Counter)
    #: Grows with every change: what was made of the rows is stale when it differs.
    version: int = 0

    def get(self, *key: str) -> R | None:
        return self.rows.get(key)

    def fill(self, rows: dict[Key, R]) -> None:
        """An empty table with all of them at once: a new leader is waited for."""
        self.rows = rows
        for key, row in rows.items():
            if key:
                self.by_first.setdefault(key[0], {})[key] = row
        self.counts.update(mark for row in rows.values() for mark in self.marks_of(row))
        self.version += 1

    def apply(self, key: Key, row: R | None) -> None:
        old = self.rows.pop(key, None)
        if old is not None:
            self.counts.subtract(self.marks_of(old))
        if row is not None:
            self.rows[key] = row
            self.counts.update(self.marks_of(row))
        if key:
            group = self.by_first.setdefault(key[0], {})
            group.pop(key, None)
            if row is not None:
                group[key] = row
            if not group:
                del self.by_first[key[0]]
        self.version += 1


def sequence_key(sequence: int) -> str:
    """Sorts as text in the order of the numbers."""
    return f"{sequence:020d}"


def told_about(shard: str, pair: Pair) -> Hashable:
    """Marks instructions to a shard about a domain."""
    return (shard, pair)


def _marks_of_domain(row: DomainRow) -> Iterable[Hashable]:
    if not row.holders:
        return ((row.key, row.shard),) if row.shard else ()
    return [(row.key, shard) for shard in {row.shard, *row.holders} - {""}]


def _marks_of_instruction(row: InstructionRow) -> list[Hashable]:
    told = row.instruction
    if not told.topology_key:
        return []
    return [told_about(row.shard, (told.topology_key, told.topology_value))]


class Tables:
    """One attribute per table; the names are those of the store."""

    def __init__(self) -> None:
        self.term: Table[TermRow] = Table("term", TermRow, lambda row: ())
        self.seq: Table[SeqRow] = Table("seq", SeqRow, lambda row: ())
        self.partition_keys: Table[PartitionKeysRow] = Table(
            "partition_keys", PartitionKeysRow, lambda row: ()
        )
        self.shards: Table[ShardRow] = Table("shards", ShardRow, lambda row: (row.id,))
        self.clusters: Table[ClusterRow] = Table(
            "clusters", ClusterRow, lambda row: (row.cluster,), lambda row: (row.shard,)
        )
        self.domains: Table[DomainRow] = Table(
            "domains",
            DomainRow,
            lambda row: (row.key, row.value),
            _marks_of_domain,
        )
        self.overrides: Table[OverrideRow] = Table(
            "overrides", OverrideRow, lambda row: (row.machine,), lambda row: (row.provider,)
        )
        self.defaults: Table[DefaultRow] = Table(
            "defaults", DefaultRow, lambda row: (row.provider,)
        )
        self.quotas: Table[QuotaRow] = Table(
            "quotas", QuotaRow, lambda row: (row.provider, row.region)
        )
        self.allocations: Table[AllocationRow] = Table(
            "allocations", AllocationRow, lambda row: (row.provider, row.region, row.shard)
        )
        self.providers: Table[ProviderRow] = Table(
            "providers", ProviderRow, lambda row: (row.name,)
        )
        self.instructions: Table[InstructionRow] = Table(
            "instructions",
            InstructionRow,
            lambda row: (row.shard, sequence_key(row.sequence)),
            _marks_of_instruction,
        )
        self.transfers: Table[TransferRow] = Table(
            "transfers", TransferRow, lambda row: (row.transfer.id,)
        )
        self.cooldowns: Table[CooldownRow] = Table(
            "cooldowns", CooldownRow, lambda row: (row.scope,)
        )
        self.pauses: Table[Pause] = Table("pauses", Pause, lambda row: (row.pause_id,))

    def __iter__(self) -> Iterator[Table[Any]]:
        return iter(vars(self).values())

    def named(self, name: str) -> Table[Any] | None:
        return vars(self).get(name)
