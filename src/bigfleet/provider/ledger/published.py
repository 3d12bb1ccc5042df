"""What a List answers: the published machines, and the cursors that continue a List.

The machines as callers see them, with the order and the indices that answer a List.

A slot is a place in the walk order and never moves. Three columns run along it: the entry, its
bytes as they lie in an answer, and its state as one byte, so that the next machine of a state is
found by scanning bytes. `_changes` lists (revision, slot) in the order of commits; a machine that
changed again leaves its older line behind, and lines are swept once half of them are such.

List cursors: opaque to callers, checked by us, and never a reason for an error.

A cursor names the store's incarnation, so that a cursor of another life is recognised, and carries
a checksum, so that an altered one is. Bytes that do not read back exactly are not a cursor: the
caller gets the full list.

Equal maps of many machines kept once: a hundred thousand slots have a few dozen shapes.
"""

import re
import sys
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import ListCall, MachineRecord
from bigfleet.provider.ledger.entries import Entry

_VERSION = "1"
_TEXT = re.compile(rb"1\.([0-9a-z]{1,32})\.([dw](?:\.(?:0|[1-9][0-9]{0,18}))+)\.([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Delta:
    """Everything that changed after `revision`."""

    revision: int


@dataclass(frozen=True, slots=True)
class Walk:
    """A capped walk over all slots, begun at `start` when the head was `revision`.

    It goes from `start` to the last slot, then from the first one up to `start`; `position` is the
    next slot to look at. Once round, it turns into the delta of what changed meanwhile.
    """

    revision: int
    start: int
    position: int


Cursor = Delta | Walk


def cursor_bytes(cursor: Cursor, incarnation: str) -> bytes:
    if isinstance(cursor, Delta):
        body = f"d.{cursor.revision}"
    else:
        body = f"w.{cursor.revision}.{cursor.start}.{cursor.position}"
    text = f"{_VERSION}.{incarnation}.{body}".encode()
    return text + b".%08x" % zlib.crc32(text)


def cursor_of(text: bytes, incarnation: str) -> Cursor | None:
    """The cursor, None for anything this store did not write itself."""
    match = _TEXT.fullmatch(text)
    if match is None or match[1] != incarnation.encode():
        return None
    if zlib.crc32(text[:-9]) != int(match[3], 16):
        return None
    kind, *numbers = match[2].decode().split(".")
    values = [int(number) for number in numbers]
    if kind == "d" and len(values) == 1:
        return Delta(*values)
    if kind == "w" and len(values) == 3:
        return Walk(*values)
    return None


#: Maps seen more often than this differ anyway (labels with host names): only their keys are kept.
_LIMIT = 4096


class SharedMaps:
    def __init__(self) -> None:
        self._seen: dict[frozenset[tuple[str, str]], Mapping[str, str]] = {}

    def shared(self, mapping: Mapping[str, str]) -> Mapping[str, str]:
        key = frozenset(mapping.items())
        found = self._seen.get(key)
        if found is not None:
            return found
        kept = {sys.intern(name): sys.intern(value) for name, value in mapping.items()}
        if len(self._seen) < _LIMIT:
            self._seen[key] = kept
        return kept

    def record(self, record: MachineRecord) -> MachineRecord:
        return replace(
            record,
            instance_type=sys.intern(record.instance_type),
            zone=sys.intern(record.zone),
            resources=self.shared(record.resources),
            allocatable=self.shared(record.allocatable),
            labels=self.shared(record.labels),
            shard_metadata=self.shared(record.shard_metadata),
        )


_FREE = 0


@dataclass(frozen=True, slots=True)
class Published:
    entry: Entry
    #: The machine as it lies in a MachineList.
    chunk: bytes


@dataclass(frozen=True, slots=True)
class ListPage:
    """The chunks of an answer and the cursor that goes with them."""

    chunks: Sequence[bytes]
    cursor: Delta | Walk


def _class_of(entry: Entry) -> tuple[MachineState, CapacityType]:
    return entry.record.state, entry.record.capacity_type


class PublishedMachines:
    def __init__(self) -> None:
        self._by_id: dict[str, Published] = {}
        self._slots: list[str | None] = []
        self._chunks: list[bytes] = []
        self._states = bytearray()
        #: Kept up to date, so that a reader need not walk the fleet.
        self._counts: Counter[tuple[MachineState, CapacityType]] = Counter()
        self._changed_at: list[int] = []
        self._changed_slot: list[int] = []
        #: Where the next capped walk begins: behind the last record handed out.
        self._rotation = 0
        self.head = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, machine_id: str) -> bool:
        return machine_id in self._by_id

    def get(self, machine_id: str) -> Published | None:
        return self._by_id.get(machine_id)

    def entry(self, machine_id: str) -> Entry | None:
        found = self._by_id.get(machine_id)
        return found.entry if found else None

    def entries(self) -> list[Entry]:
        return [published.entry for published in self._by_id.values()]

    @property
    def next_slot(self) -> int:
        return len(self._slots)

    def restore(self, machines: Iterable[Published], head: int) -> None:
        """Takes stored machines over; only while nothing is published."""
        for published in sorted(machines, key=lambda p: p.entry.revision):
            self.publish(published)
        self.head = head

    def publish(self, published: Published) -> None:
        """Shows a committed entry; its revision is above every one shown before."""
        entry = published.entry
        slot = entry.slot
        while slot >= len(self._slots):
            self._slots.append(None)
            self._chunks.append(b"")
            self._states.append(_FREE)
        before = self._by_id.get(entry.id)
        if before is not None:
            self._counts[_class_of(before.entry)] -= 1
        self._counts[_class_of(entry)] += 1
        self._by_id[entry.id] = published
        self._slots[slot] = entry.id
        self._chunks[slot] = published.chunk
        self._states[slot] = entry.state
        self._changed_at.append(entry.revision)
        self._changed_slot.append(slot)
        self.head = max(self.head, entry.revision)
        if len(self._changed_at) > 2 * len(self._by_id) + 1024:
            self._sweep()

    def keep(self, entry: Entry) -> None:
        """Takes over an entry whose record, and so its revision, did not change."""
        self._by_id[entry.id] = Published(entry, self._by_id[entry.id].chunk)

    def retire(self, machine_id: str, revision: int) -> None:
        entry = self._by_id.pop(machine_id).entry
        self._counts[_class_of(entry)] -= 1
        slot = entry.slot
        self._slots[slot] = None
        self._chunks[slot] = b""
        self._states[slot] = _FREE
        self.head = max(self.head, revision)

    def _sweep(self) -> None:
        lines = [(r, s) for r, s in self._lines(0) if self._is_current(r, s)]
        self._changed_at = [revision for revision, _ in lines]
        self._changed_slot = [slot for _, slot in lines]

    def _lines(self, start: int) -> Iterator[tuple[int, int]]:
        for index in range(start, len(self._changed_at)):
            yield self._changed_at[index], self._changed_slot[index]

    def _is_current(self, revision: int, slot: int) -> bool:
        machine_id = self._slots[slot]
        return machine_id is not None and self._by_id[machine_id].entry.revision == revision

    @property
    def counts(self) -> Mapping[tuple[MachineState, CapacityType], int]:
        """Machines by state and capacity type."""
        return self._counts

    def page(self, call: ListCall, cursor: Delta | Walk | None) -> ListPage:
        """The answer to a List; a cursor from the future counts as none."""
        cap = max(0, call.max_results)
        states = frozenset(call.states)
        if cursor is not None and cursor.revision > self.head:
            cursor = None
        if isinstance(cursor, Delta):
            return self._delta(cursor.revision, states, cap)
        if isinstance(cursor, Walk):
            return self._walk(cursor, states, cap)
        if not cap:
            return ListPage(self._all(states), Delta(self.head))
        start = self._rotation if self._rotation < len(self._slots) else 0
        return self._walk(Walk(self.head, start, start), states, cap)

    def _all(self, states: frozenset[MachineState]) -> Sequence[bytes]:
        if not states:
            return self._chunks.copy()
        return [self._chunks[slot] for slot in self._slots_in(states, 0, len(self._slots))]

    def _slots_in(self, states: frozenset[MachineState], start: int, end: int) -> Iterator[int]:
        wanted = bytes(sorted(s.value for s in states if s.value != _FREE))
        if states and not wanted:
            return
        pattern = b"[" + re.escape(wanted) + b"]" if states else rb"[^\0]"
        for match in re.compile(pattern, re.DOTALL).finditer(self._states, start, end):
            yield match.start()

    def _delta(self, revision: int, states: frozenset[MachineState], cap: int) -> ListPage:
        chunks: list[bytes] = []
        reached = revision
        for changed_at, slot in self._lines(bisect_right(self._changed_at, revision)):
            if not self._is_current(changed_at, slot):
                continue
            if states and self._states[slot] not in states:
                continue
            if cap and len(chunks) == cap:
                return ListPage(chunks, Delta(reached))
            chunks.append(self._chunks[slot])
            reached = changed_at
        return ListPage(chunks, Delta(self.head))

    def _walk(self, walk: Walk, states: frozenset[MachineState], cap: int) -> ListPage:
        chunks: list[bytes] = []
        last = -1
        for slot in self._slots_from(walk, states):
            if cap and len(chunks) == cap:
                return ListPage(chunks, Walk(walk.revision, walk.start, slot))
            chunks.append(self._chunks[slot])
            last = slot
            self._rotation = last + 1
        return ListPage(chunks, Delta(walk.revision))

    def _slots_from(self, walk: Walk, states: frozenset[MachineState]) -> Iterator[int]:
        if walk.position >= walk.start:
            yield from self._slots_in(states, walk.position, len(self._slots))
            yield from self._slots_in(states, 0, walk.start)
        else:
            yield from self._slots_in(states, walk.position, walk.start)
