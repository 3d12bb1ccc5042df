"""A transaction being made: rows as they will be, over rows as they are.

An operation reads and writes through a draft and changes nothing else that lasts. The driver
commits `changes()` to the store and only then calls `apply`; a draft that is dropped has never
happened, what it noted included.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from bigfleet.coordinator.keys import key_text, value_bytes
from bigfleet.coordinator.stores.contract import RowChange
from bigfleet.coordinator.tables import (
    AllocationRow,
    ClusterRow,
    CooldownRow,
    DefaultRow,
    DomainRow,
    InstructionRow,
    Key,
    OverrideRow,
    PartitionKeysRow,
    ProviderRow,
    QuotaRow,
    SeqRow,
    ShardRow,
    Table,
    Tables,
    TransferRow,
    sequence_key,
)
from bigfleet.model.coordinator_calls import CoordinatorInstruction
from bigfleet.model.machines import Instant
from bigfleet.model.pauses import Pause

R = TypeVar("R")


class DraftTable(Generic[R]):
    def __init__(self, table: Table[R]) -> None:
        self.table = table
        self.changed: dict[Key, R | None] = {}

    def get(self, *key: str) -> R | None:
        return self.changed[key] if key in self.changed else self.table.rows.get(key)

    def put(self, row: R) -> R:
        key = self.table.key_of(row)
        if self.get(*key) != row:
            self.changed[key] = row
        return row

    def delete(self, *key: str) -> None:
        if self.get(*key) is not None:
            self.changed[key] = None

    def values(self) -> Iterator[R]:
        """Every row, committed order first; do not write to this table meanwhile."""
        yield from self._over(self.table.rows)
        yield from (
            row
            for key, row in self.changed.items()
            if row is not None and key not in self.table.rows
        )

    def of_first(self, first: str) -> list[R]:
        """Rows by the first component of their names."""
        rows = list(self._over(self.table.by_first.get(first, {})))
        rows += [
            row
            for key, row in self.changed.items()
            if row is not None and key[0] == first and key not in self.table.rows
        ]
        return rows

    def _over(self, rows: dict[Key, R]) -> Iterator[R]:
        if not self.changed:
            yield from rows.values()
            return
        for key, row in rows.items():
            current = self.changed.get(key, row)
            if current is not None:
                yield current


@dataclass(frozen=True, slots=True)
class EventNote:
    """Becomes a CoordinatorEvent once the transaction is committed."""

    kind: str
    subject: str
    #: A sentence.
    text: str
    peer: str = ""


@dataclass(slots=True)
class Count:
    name: str
    labels: dict[str, str] = field(default_factory=dict)
    amount: float = 1


class Draft:
    def __init__(self, tables: Tables, at: Instant) -> None:
        self.at = at
        self.notes: list[EventNote] = []
        self.counts: list[Count] = []
        self.partition_keys: DraftTable[PartitionKeysRow] = DraftTable(tables.partition_keys)
        self.seq: DraftTable[SeqRow] = DraftTable(tables.seq)
        self.shards: DraftTable[ShardRow] = DraftTable(tables.shards)
        self.clusters: DraftTable[ClusterRow] = DraftTable(tables.clusters)
        self.domains: DraftTable[DomainRow] = DraftTable(tables.domains)
        self.overrides: DraftTable[OverrideRow] = DraftTable(tables.overrides)
        self.defaults: DraftTable[DefaultRow] = DraftTable(tables.defaults)
        self.quotas: DraftTable[QuotaRow] = DraftTable(tables.quotas)
        self.allocations: DraftTable[AllocationRow] = DraftTable(tables.allocations)
        self.providers: DraftTable[ProviderRow] = DraftTable(tables.providers)
        self.instructions: DraftTable[InstructionRow] = DraftTable(tables.instructions)
        self.transfers: DraftTable[TransferRow] = DraftTable(tables.transfers)
        self.cooldowns: DraftTable[CooldownRow] = DraftTable(tables.cooldowns)
        self.pauses: DraftTable[Pause] = DraftTable(tables.pauses)
        self._tables: list[DraftTable[Any]] = [
            each for each in vars(self).values() if isinstance(each, DraftTable)
        ]

    @property
    def size(self) -> int:
        """Rows that it changes; a store takes only so many at once."""
        return sum(len(table.changed) for table in self._tables)

    def note(self, kind: str, subject: str, text: str, peer: str = "") -> None:
        self.notes.append(EventNote(kind, subject, text, peer))

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Counted when the transaction is committed."""
        self.counts.append(Count(name, labels, amount))

    # -- numbers ---------------------------------------------------------------------------------

    @property
    def numbers(self) -> SeqRow:
        return self.seq.get() or SeqRow()

    def next_number(self) -> int:
        """For an instruction or a transfer; never given twice."""
        row = self.numbers
        self.seq.put(replace(row, next=row.next + 1))
        return row.next

    def new_revision(self) -> int:
        """Who owns what is changed by this draft: one revision, however often it is said."""
        committed = (self.seq.table.get() or SeqRow()).revision
        row = self.numbers
        if row.revision <= committed:
            row = self.seq.put(replace(row, revision=committed + 1))
        return row.revision

    # -- instructions ----------------------------------------------------------------------------

    def instruct(self, shard: str, instruction: CoordinatorInstruction) -> None:
        """Queues it; its sequence is given here, its term when it is sent."""
        number = self.next_number()
        told = replace(instruction, sequence=number, term=0)
        revision = self.numbers.revision
        self.instructions.put(InstructionRow(shard, number, told, self.at, revision=revision))

    def drop_instruction(self, row: InstructionRow) -> None:
        self.instructions.delete(row.shard, sequence_key(row.sequence))

    # -- ending ----------------------------------------------------------------------------------

    def changes(self) -> list[RowChange]:
        found = []
        for table in self._tables:
            for key, row in table.changed.items():
                if table.table.rows.get(key) == row:
                    continue
                value = value_bytes(row) if row is not None else None
                found.append(RowChange(key_text(table.table.name, key), value))
        return found

    def apply(self) -> None:
        """The store has it: make the tables say so."""
        for table in self._tables:
            for key, row in table.changed.items():
                table.table.apply(key, row)
