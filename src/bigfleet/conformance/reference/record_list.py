"""What readers see: published records as bytes, in slot order and in order of change.

Cursors of List: readable by their writer only, and never half right.

`delta(r)`: what changed after r. `walk(r, position)`: a capped read of the whole list that began
at revision r and has come to a position in slot order; its last page hands over to delta(r).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from bigfleet.model.provider_calls import ListCall, MachineRecord
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes

_FORM = re.compile(
    rb"(?P<body>(?P<life>[0-9a-f]+)-(?P<rev>[0-9]+)(?:-(?P<pos>[0-9]+))?)\.(?P<crc>[0-9a-f]{8})"
)


@dataclass(frozen=True, slots=True)
class Cursor:
    revision: int
    #: None: a delta.
    position: int | None = None


def written(life: str, cursor: Cursor) -> bytes:
    body = f"{life}-{cursor.revision}"
    if cursor.position is not None:
        body += f"-{cursor.position}"
    return f"{body}.{crc32(body.encode()):08x}".encode()


def read(life: str, content: bytes, head: int) -> Cursor | None:
    """None for bytes we did not write, or wrote in a future that was lost: a full list."""
    match = _FORM.fullmatch(content)
    if match is None or int(match["crc"], 16) != crc32(match["body"]):
        return None
    if match["life"].decode() != life or int(match["rev"]) > head:
        return None
    return Cursor(int(match["rev"]), int(match["pos"]) if match["pos"] else None)


class RecordList:
    def __init__(self, life: str) -> None:
        self.life = life
        self.head = 0
        self.records: dict[str, MachineRecord] = {}
        self.content: dict[str, bytes] = {}
        self.entries: dict[str, bytes] = {}
        #: Revision of the last change, oldest change first.
        self.changed: dict[str, int] = {}

    def publish(self, record: MachineRecord) -> bool:
        """Whether anything was new; only then the head moves."""
        content = machine_bytes(record)
        if self.content.get(record.id) == content:
            return False
        self.head += 1
        self.records[record.id] = record
        self.content[record.id] = content
        self.entries[record.id] = list_entry(content)
        self.changed.pop(record.id, None)
        self.changed[record.id] = self.head
        return True

    def remove(self, machine_id: str) -> None:
        self.head += 1
        for part in (self.records, self.content, self.entries, self.changed):
            part.pop(machine_id, None)

    def answer(self, call: ListCall) -> bytes:
        ids, cursor = self.page(call, self.cursor_of(call.since_revision))
        return list_bytes(self.listed(ids), written(self.life, cursor))

    def listed(self, ids: Iterable[str]) -> list[bytes]:
        return [self.entries[machine_id] for machine_id in ids]

    def cursor_of(self, content: bytes) -> Cursor | None:
        return read(self.life, content, self.head) if content else None

    def page(self, call: ListCall, cursor: Cursor | None) -> tuple[Sequence[str], Cursor]:
        cap = call.max_results
        if cursor is not None and cursor.position is None:
            return self.delta(call, cursor.revision, cap)
        wanted = self.matching(call, self.records)
        if cap <= 0:
            return wanted, Cursor(self.head)
        began = cursor.revision if cursor else self.head
        start = (cursor.position or 0) if cursor else 0
        page = wanted[start : start + cap]
        if start + cap >= len(wanted):
            return page, Cursor(began)
        return page, Cursor(began, start + cap)

    def delta(self, call: ListCall, since: int, cap: int) -> tuple[Sequence[str], Cursor]:
        wanted = self.matching(call, self.changed_after(since))
        if cap <= 0 or len(wanted) <= cap:
            return wanted, Cursor(self.head)
        page = wanted[:cap]
        return page, Cursor(self.changed[page[-1]])

    def changed_after(self, since: int) -> list[str]:
        ids: list[str] = []
        for machine_id, revision in reversed(self.changed.items()):
            if revision <= since:
                break
            ids.append(machine_id)
        return ids[::-1]

    def matching(self, call: ListCall, ids: Iterable[str]) -> list[str]:
        if not call.states:
            return list(ids)
        wanted = frozenset(call.states)
        return [machine_id for machine_id in ids if self.records[machine_id].state in wanted]
