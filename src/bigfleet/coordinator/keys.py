"""How rows are written down: names by path, values as canonical JSON with a schema number.

Names and numbers are part of the store's format: they outlive the process that wrote them.
"""

from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from bigfleet.coordinator.stores.contract import Rows
from bigfleet.coordinator.tables import Key, Tables

SCHEMA = 1


class UnreadableRow(Exception):
    """A row of another version, or damaged; says which and what to do."""


def key_text(table: str, key: Key) -> str:
    return "/".join((table, *(quote(part, safe="") for part in key)))


def key_parts(text: str) -> tuple[str, Key]:
    head, slash, last = text.rpartition("/")
    if not slash:
        return text, ()
    table, parts = _head_parts(head)
    return table, (*parts, unquote(last) if "%" in last else last)


@lru_cache(maxsize=1024)
def _head_parts(head: str) -> tuple[str, Key]:
    """Of all but the last: a fail-over reads a hundred thousand names, and most share it."""
    table, *parts = head.split("/")
    return table, tuple(map(unquote, parts))


def value_bytes(row: Any) -> bytes:
    return msgspec.json.encode({"schema": SCHEMA, **msgspec.to_builtins(row)}, order="sorted")


class _Schema(msgspec.Struct):
    schema: int


#: How nearly every row says its schema; no text within a row can look so, its quotes are escaped.
_KNOWN = (b'"schema":%d,' % SCHEMA, b'"schema":%d}' % SCHEMA)


def tables_of(rows: Rows) -> Tables:
    """Raises UnreadableRow; tables of a later version are an error, not skipped."""
    tables = Tables()
    read: dict[str, dict[Key, Any]] = {table.name: {} for table in tables}
    decoded = {table.name: msgspec.json.Decoder(table.row_type).decode for table in tables}
    for text, value in rows.items():
        name, key = key_parts(text)
        if name not in read:
            raise UnreadableRow(f"row {text}: this version knows no table {name}; {_ADVICE}")
        try:
            if _KNOWN[0] not in value and _KNOWN[1] not in value:
                _check_schema(text, value)
            read[name][key] = decoded[name](value)
        except msgspec.MsgspecError as problem:
            raise UnreadableRow(f"row {text} cannot be read: {problem}; {_ADVICE}") from problem
    for table in tables:
        table.fill(read[table.name])
    return tables


def _check_schema(text: str, value: bytes) -> None:
    schema = msgspec.json.decode(value, type=_Schema).schema
    if schema != SCHEMA:
        said = f"row {text} has schema {schema}, this version knows {SCHEMA}"
        raise UnreadableRow(f"{said}; {_ADVICE}")


_ADVICE = "run the version that wrote it, or restore a snapshot"
