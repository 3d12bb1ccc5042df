"""Snapshots: the whole state of a coordinator as one canonical document, and back.

The document is what the store holds, row by row under the names they have there, so two equal
states are equal bytes from every kind of store. An import starts over: its term is far above the
stored one, so that no shard hears an older term than it knows, and it is marked as merging, so
that no shard is given anything before all shards have told what they hold.
"""

from dataclasses import replace
from hashlib import sha256

import msgspec

from bigfleet.coordinator.keys import UnreadableRow, key_text, tables_of, value_bytes
from bigfleet.coordinator.stores.contract import Rows
from bigfleet.coordinator.tables import SeqRow, Tables, TermRow
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import Instant
from bigfleet.wire.coordinator_handlers import Snapshot, SnapshotMeta
from bigfleet.wire.snapshot_frames import meta_json, meta_of

VERSION = 1
#: More terms than can have passed since a snapshot that is worth restoring.
TERMS_AHEAD = 1000
#: Tables that are never empty: with nothing but them there is nothing to save.
_ALWAYS_THERE = frozenset({"term", "seq", "partition_keys"})


def copied(tables: Tables) -> Tables:
    """The rows as they are now, to be read in another thread."""
    copy = Tables()
    for table in tables:
        target = copy.named(table.name)
        assert target is not None, "a copy has the same tables"
        target.rows = dict(table.rows)
    return copy


def holds_anything(tables: Tables) -> bool:
    return any(table.rows for table in tables if table.name not in _ALWAYS_THERE)


def export(tables: Tables, revision: int, backend: str, at: Instant) -> Snapshot:
    """`revision` is the store's."""
    rows = {
        key_text(table.name, key): value_bytes(row)
        for table in tables
        for key, row in table.rows.items()
    }
    # Joined by hand: encoded in one piece it would keep every other thread waiting.
    lines = [msgspec.json.encode(key) + b":" + rows[key] for key in sorted(rows)]
    content = b'{"rows":{' + b",".join(lines) + b'},"version":%d}' % VERSION
    term = (tables.term.get() or TermRow(0)).term
    meta = SnapshotMeta(
        id=f"{term}-{revision}-{at}",
        index=revision,
        term=term,
        size=len(content),
        version=VERSION,
        backend=backend,
        sha256=sha256(content).hexdigest(),
        created_unix_nanos=at,
    )
    return Snapshot(meta, content)


def imported(snapshot: Snapshot, restored: str = "") -> Rows:
    """What an empty store is to hold; raises BadInput where the snapshot is not whole.

    `restored`: who restores it and why, for the first leader to tell.
    """
    _check(snapshot)
    try:
        document = msgspec.json.decode(snapshot.data, type=_Document)
        rows = {key: bytes(value) for key, value in document.rows.items()}
        tables = tables_of(rows)
    except (msgspec.MsgspecError, UnreadableRow) as problem:
        raise _bad(str(problem)) from problem
    _check_names(tables)
    stored = max((tables.term.get() or TermRow(0)).term, snapshot.meta.term, 0)
    rows[key_text("term", ())] = value_bytes(TermRow(stored + TERMS_AHEAD))
    numbers = tables.seq.get() or SeqRow()
    rows[key_text("seq", ())] = value_bytes(
        replace(numbers, merging=True, merge_from=0, restored=restored)
    )
    return rows


# -- as a file -----------------------------------------------------------------------------------


def file_bytes(snapshot: Snapshot) -> bytes:
    """Two lines of JSON: what it is, and the state."""
    return meta_json(snapshot.meta) + b"\n" + snapshot.data + b"\n"


def snapshot_of(content: bytes) -> Snapshot:
    """A file's; raises BadInput. Whether the state is whole is seen when it is imported."""
    head, newline, rest = content.partition(b"\n")
    if not newline:
        raise _bad("the file has one line; a snapshot has two, what it is and the state")
    try:
        return Snapshot(meta_of(head), rest.removesuffix(b"\n"))
    except ValueError as problem:
        raise _bad(f"the first line does not say what the snapshot is: {problem}") from None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    rows: dict[str, msgspec.Raw]
    version: int


def _check(snapshot: Snapshot) -> None:
    meta, content = snapshot.meta, snapshot.data
    if meta.version != VERSION:
        text = f"it is of version {meta.version}, this program knows {VERSION}"
        raise _bad(f"{text}; restore it with the program that wrote it")
    if len(content) != meta.size:
        raise _bad(f"it has {len(content)} bytes of state and should have {meta.size}; {_CUT}")
    if sha256(content).hexdigest() != meta.sha256:
        raise _bad(f"its checksum is not the one it was saved with; {_CUT}")


def _check_names(tables: Tables) -> None:
    """The checksum only finds accidental changes."""
    for table in tables:
        for key, row in table.rows.items():
            if table.key_of(row) != key:
                text = f"row {key_text(table.name, key)} says that it is another"
                raise _bad(f"{text}: {key_text(table.name, table.key_of(row))}; take another one")


_CUT = "it was cut off or changed: take another one"


def _bad(text: str) -> BadInput:
    return BadInput([Problem("snapshot", text)])
