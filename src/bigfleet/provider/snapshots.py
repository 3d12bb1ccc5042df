"""A provider's state as one JSON document: our own form, and that of existing Go providers.

Our form carries everything but the journal. The Go form has the keys machines, fences, ops, rev and
next_op; its machines have PascalCase keys and states and capacity types by name. Reading is lenient
about letter case and about lists or objects by id, because several of those providers exist.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.ledger.entries import FRESH, Entry, Standing
from bigfleet.provider.ledger.fences import Mark, MarkKey
from bigfleet.provider.ledger.transitions import Kind

OWN = "bigfleet-provider/1"
GO = "go"


@dataclass(frozen=True, slots=True)
class Snapshot:
    revision: int = 0
    #: The number of the last operation id.
    counter: int = 0
    entries: tuple[Entry, ...] = ()
    marks: dict[MarkKey, Mark] = field(default_factory=dict)


def written(snapshot: Snapshot, form: str) -> bytes:
    if form == GO:
        document = _go_document(snapshot)
    elif form in ("", "bigfleet"):
        document = _own_document(snapshot)
    else:
        raise BadInput([Problem("format", f"{form!r} is neither bigfleet nor go")])
    return msgspec.json.format(msgspec.json.encode(document), indent=1)


def read(content: bytes) -> Snapshot:
    """Either form; the document says which it is."""
    try:
        document = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise BadInput([Problem("", f"the snapshot is not JSON: {error}")]) from None
    if not isinstance(document, dict) or "machines" not in document:
        raise BadInput([Problem("", "a state document is an object with machines")])
    try:
        if document.get("format") == OWN:
            return _own_snapshot(document)
        return _go_snapshot(document)
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise BadInput([Problem("", f"the document cannot be read: {error!r}")]) from None


def _own_document(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "format": OWN,
        "revision": snapshot.revision,
        "counter": snapshot.counter,
        "machines": [
            {**_record_fields(entry.record), "slot": entry.slot, "standing": entry.standing}
            for entry in snapshot.entries
        ],
        "marks": [[*key, *mark] for key, mark in snapshot.marks.items()],
    }


def _record_fields(record: MachineRecord) -> dict[str, Any]:
    host = record.host
    return {
        "id": record.id,
        "state": record.state.name,
        "host": {"provider": host.provider, "ref": host.ref} if host else None,
        "instance_type": record.instance_type,
        "zone": record.zone,
        "capacity_type": record.capacity_type.name,
        "price_per_hour": record.price_per_hour,
        "interruption_probability": record.interruption_probability,
        "resources": dict(record.resources),
        "labels": dict(record.labels),
        "last_error": record.last_error,
        "allocatable": dict(record.allocatable),
        "cluster": record.cluster,
        "shard_metadata": dict(record.shard_metadata),
    }


def _own_snapshot(document: Mapping[str, Any]) -> Snapshot:
    entries = [
        Entry(
            _record(machine),
            int(machine["slot"]),
            standing=msgspec.convert(machine["standing"], Standing),
        )
        for machine in document["machines"]
    ]
    marks = {
        MarkKey(str(shard), str(machine)): Mark(int(epoch), int(sequence))
        for shard, machine, epoch, sequence in document["marks"]
    }
    return Snapshot(int(document["revision"]), int(document["counter"]), tuple(entries), marks)


def _go_document(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "machines": {
            entry.id: {_pascal(key): value for key, value in _record_fields(entry.record).items()}
            for entry in snapshot.entries
        },
        "fences": [
            {
                "shard_id": key.shard_id,
                "machine_id": key.machine_id,
                "epoch": mark.epoch,
                "sequence": mark.sequence,
            }
            for key, mark in snapshot.marks.items()
        ],
        "ops": [
            {"machine_id": entry.id, "kind": kind, "operation_id": operation_id}
            for entry in snapshot.entries
            for kind, operation_id in entry.standing.operations.items()
        ],
        "rev": snapshot.revision,
        "next_op": snapshot.counter + 1,
    }


def _pascal(key: str) -> str:
    return "ID" if key == "id" else "".join(word.capitalize() for word in key.split("_"))


def _go_snapshot(document: Mapping[str, Any]) -> Snapshot:
    operations: dict[str, dict[str, str]] = {}
    for op in _rows(document.get("ops"), ("machine_id", "kind"), "operation_id"):
        kind = Kind(str(op["kind"]).lower())
        operations.setdefault(str(op["machineid"]), {})[kind.value] = str(op["operationid"])
    entries = []
    for slot, machine in enumerate(_rows(document["machines"], ("id",), "")):
        record = _record(machine)
        known = operations.get(record.id)
        standing = Standing(operations=known) if known else FRESH
        entries.append(Entry(record, slot, standing=standing))
    marks = {
        MarkKey(str(row["shardid"]), str(row["machineid"])): Mark(
            int(row["epoch"]), int(row["sequence"])
        )
        for row in _rows(document.get("fences"), ("shard_id", "machine_id"), "")
    }
    counter = max(0, int(document.get("next_op", 1)) - 1)
    return Snapshot(int(document.get("rev", 0)), counter, tuple(entries), marks)


def _rows(found: Any, keys: tuple[str, ...], value: str) -> Iterator[dict[str, Any]]:
    """Rows of a list, or of an object whose key is the row's (joined by `/`); keys flattened."""
    if found is None:
        return
    if isinstance(found, list):
        for row in found:
            yield _flat(row)
        return
    for name, row in found.items():
        parts = dict(zip(map(_plain, keys), name.rsplit("/", len(keys) - 1), strict=True))
        yield {**parts, **(_flat(row) if isinstance(row, dict) else {_plain(value): row})}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {_plain(key): value for key, value in row.items()}


def _plain(key: str) -> str:
    """`shard_epoch`, `ShardEpoch` and `shardEpoch` are one key."""
    return re.sub(r"[^a-z]", "", key.lower())


def _record(machine: Mapping[str, Any]) -> MachineRecord:
    row = _flat(machine)
    host = _flat(row.get("host") or {})
    return MachineRecord(
        id=str(row["id"]),
        state=_member(MachineState, row["state"]),
        host=Host(str(host.get("provider", "")), str(host.get("ref", ""))) if host else None,
        instance_type=str(row.get("instancetype", "")),
        zone=str(row.get("zone", "")),
        capacity_type=_member(CapacityType, row.get("capacitytype", 0)),
        price_per_hour=float(row.get("priceperhour") or 0.0),
        interruption_probability=float(row.get("interruptionprobability") or 0.0),
        resources=_texts(row.get("resources")),
        labels=_texts(row.get("labels")),
        last_error=str(row.get("lasterror") or ""),
        allocatable=_texts(row.get("allocatable")),
        cluster=str(row.get("cluster") or ""),
        shard_metadata=_texts(row.get("shardmetadata")),
    )


def _texts(found: Any) -> dict[str, str]:
    """A map of text; Go writes resources one level deeper."""
    fields: Mapping[str, Any] = found or {}
    if set(map(_plain, fields)) == {"resources"} and isinstance(next(iter(fields.values())), dict):
        fields = next(iter(fields.values()))
    return {str(key): str(value) for key, value in fields.items()}


def _member(kind: Any, found: Any) -> Any:
    """By number or by name, with or without its prefix."""
    if isinstance(found, int):
        return kind(found)
    name = _plain(str(found)).removeprefix(_plain(kind.__name__))
    return next(member for member in kind if _plain(member.name) == name)


def why_not_importable(snapshot: Snapshot, current: Mapping[str, Entry]) -> list[Problem]:
    """A machine that is in use here is never overwritten by a document."""
    return [
        Problem(entry.id, f"is {current[entry.id].state.name} here; it is not overwritten")
        for entry in snapshot.entries
        if entry.id in current and current[entry.id].state is not MachineState.SPECULATIVE
    ]


def imported(
    snapshot: Snapshot, current: Mapping[str, Entry], new_slots: Iterable[int]
) -> list[Entry]:
    """The document's machines as entries of this inventory; slots of known ids are kept."""
    fresh = iter(new_slots)
    return [
        Entry(
            entry.record,
            current[entry.id].slot if entry.id in current else next(fresh),
            standing=entry.standing,
        )
        for entry in snapshot.entries
    ]
