"""From a file to a Fleet: which format it is, and all of it checked before any of it is used."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import yaml

from bigfleet.fleetfile.complaints import Complaints, LineOf, Path, shown
from bigfleet.fleetfile.json_dialect import BadJson, decode_json
from bigfleet.fleetfile.limits import check_size, unpacked
from bigfleet.fleetfile.machines import machines_of
from bigfleet.fleetfile.needs import needs_of
from bigfleet.fleetfile.records import Record
from bigfleet.fleetfile.settings import costs_of, memory_of, options_of, provenance_of
from bigfleet.fleetfile.yaml_dialect import decode_yaml, lines_of
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.fleet import Fleet

#: Finding line numbers reads the text a second time; past this size the path must do.
_LARGEST_TEXT_WITH_LINES = 4_000_000
_GZIP_MAGIC = b"\x1f\x8b"

_HEADER_KEYS = frozenset({"version", "kind", "name", "provenance", "options", "memory", "costs"})
_KEYS = _HEADER_KEYS | {"machines", "needs"}
_LINE_KEYS = frozenset({"machine", "need"})


def load_fleet(content: bytes, name: str) -> Fleet:
    """The fleet in `content`; `name` tells the format by its suffix, else the content does.

    Raises BadInput with every problem found.
    """
    with _collector_at_rest():
        return _fleet_in(_plain(content), name)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Loading makes many objects and no garbage; looking for some takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _fleet_in(content: bytes, name: str) -> Fleet:
    suffix = PurePath(name.removesuffix(".gz")).suffix.lower()
    if suffix not in (".yaml", ".yml", ".json", ".jsonl"):
        suffix = _suffix_by_content(content)
    match suffix:
        case ".jsonl":
            return _fleet_of_lines(content)
        case ".json":
            return _fleet_of_json(content)
        case _:
            return _fleet_of_yaml(content)


def _plain(content: bytes) -> bytes:
    check_size(content)
    if content.startswith(_GZIP_MAGIC):
        content = unpacked(content)
    return content.removeprefix(b"\xef\xbb\xbf")


def _suffix_by_content(content: bytes) -> str:
    """JSON starts with a brace; lines of JSON are whole documents, one a line."""
    head, _, rest = content.lstrip().partition(b"\n")
    if not head.startswith(b"{"):
        return ".yaml"
    first = rest.lstrip()[:20].replace(b" ", b"")
    return ".jsonl" if first.startswith((b'{"machine":', b'{"need":')) else ".json"


def _text_of(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise BadInput([Problem("", f"not UTF-8 text: {error}")]) from None


def _fleet_of_yaml(content: bytes) -> Fleet:
    text = _text_of(content)
    try:
        document = decode_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise BadInput([Problem("", f"not valid YAML: {error.problem}{place}")]) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadInput([Problem("", f"not valid YAML: {error}")]) from None
    return _fleet_of_document(document, text)


def _fleet_of_json(content: bytes) -> Fleet:
    try:
        document = decode_json(content)
    except BadJson as error:
        raise BadInput([Problem("", str(error))]) from None
    return _fleet_of_document(document, content)


def _fleet_of_document(document: object, text: str | bytes) -> Fleet:
    complaints = Complaints()
    if not isinstance(document, dict):
        complaints.add((), f"{shown(document)}: a fleet file is a mapping: version: 1, kind: Fleet")
        complaints.raise_if_any()
        return Fleet()
    root = Record(document, (), complaints)
    root.check_keys(_KEYS)
    fleet = _fleet_of(root, root.records("machines"), root.records("needs"))
    if len(complaints):
        complaints.raise_if_any(_line_finder(text))
    return fleet


def _line_finder(text: str | bytes) -> LineOf | None:
    if len(text) > _LARGEST_TEXT_WITH_LINES:
        return None
    return lines_of(text if isinstance(text, str) else text.decode())


def _fleet_of(header: Record, machines: Iterator[Record], needs: Iterator[Record]) -> Fleet:
    _check_header(header)
    now, options, plan = options_of(header.record("options"))
    return Fleet(
        machines=machines_of(machines),
        needs=needs_of(needs),
        now=now,
        options=options,
        plan=plan,
        memory=memory_of(header.record("memory")),
        name=header.text("name"),
        provenance=provenance_of(header.record("provenance")),
        costs=costs_of(header.record("costs")),
    )


def _check_header(header: Record) -> None:
    version, kind = header.raw.get("version"), header.raw.get("kind")
    if version is None:
        header.miss("version", "write version: 1")
    elif type(version) is not int or version != 1:
        header.refuse("version", "this BigFleet reads version 1")
    if kind is None:
        header.miss("kind", "write kind: Fleet")
    elif kind != "Fleet":
        header.refuse("kind", "a fleet file is of kind Fleet")


def _fleet_of_lines(content: bytes) -> Fleet:
    """One JSON document a line: the header, then machines and needs."""
    complaints = Complaints()
    header: dict[str, Any] | None = None
    found: dict[str, list[dict[str, Any]]] = {"machine": [], "need": []}
    numbers: dict[str, list[int]] = {"machine": [], "need": []}
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = decode_json(line)
        except BadJson as error:
            complaints.add((), f"line {number}: {error}")
            # What stood there is unknown; a header that may be sound spares the other lines.
            header = header or {"version": 1, "kind": "Fleet"}
            continue
        if not isinstance(entry, dict):
            complaints.add((), f"line {number}: {shown(entry)}: every line is one JSON object")
        elif header is None:
            header = entry
        else:
            _sort_line(entry, number, found, numbers, complaints)
    if header is None:
        complaints.add((), 'empty; the first line is the header: {"version":1,"kind":"Fleet"}')
        complaints.raise_if_any()
        return Fleet()
    root = Record(header, (), complaints)
    root.check_keys(_HEADER_KEYS)
    fleet = _fleet_of(
        root, _listed(root, "machines", found["machine"]), _listed(root, "needs", found["need"])
    )
    complaints.raise_if_any(lambda path: _line_of(path, numbers))
    return fleet


def _sort_line(
    entry: dict[str, Any],
    number: int,
    found: dict[str, list[dict[str, Any]]],
    numbers: dict[str, list[int]],
    complaints: Complaints,
) -> None:
    keys = [key for key in entry if not key.startswith("x-")]
    if len(keys) == 1 and keys[0] in _LINE_KEYS and type(entry[keys[0]]) is dict:
        found[keys[0]].append(entry[keys[0]])
        numbers[keys[0]].append(number)
    else:
        remedy = 'after the header write {"machine":{}} or {"need":{}}'
        complaints.add((), f"line {number}: {shown(entry)}: {remedy}")


def _listed(root: Record, key: str, records: list[dict[str, Any]]) -> Iterator[Record]:
    for index, raw in enumerate(records):
        yield Record(raw, (key, index), root.complaints)


def _line_of(path: Path, numbers: dict[str, list[int]]) -> int | None:
    match path:
        case ("machines", int(index), *_):
            return numbers["machine"][index]
        case ("needs", int(index), *_):
            return numbers["need"][index]
        case (str(key), *_) if key in _HEADER_KEYS:
            return 1
        case _:
            return None
