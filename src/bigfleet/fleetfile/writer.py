"""From a Fleet to its canonical file: one order of keys, canonical quantities, defaults left out.

Dumping, loading and dumping again gives the same bytes. Machines are written in id order (their
order never matters), needs in the order they have (it is each cluster's own). What a file cannot
say is not written: the amounts of remembered shortfalls, which every cycle computes anew.
"""

import gzip
import math
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from bigfleet.fleetfile.json_dialect import encode_json
from bigfleet.fleetfile.machines import DEFAULT_PROVIDER, HOSTED
from bigfleet.fleetfile.needs import OPERATORS_OF_DUMPS, WHEN_UNSATISFIABLE
from bigfleet.fleetfile.yaml_dialect import encode_yaml
from bigfleet.model.fleet import Costs, Fleet, FleetMachine, FleetNeed, Held, Provenance
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Assigned, Host, Machine
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.penalties import UNSPECIFIED, bucket_label

Document = dict[str, Any]

_RECORDS = ("machines", "needs")
_AFTER_RECORDS: tuple[str, ...] = ("options", "memory", "costs")

_OPERATOR_NAMES = {operator: name for name, operator in OPERATORS_OF_DUMPS.items()}
_WHEN_NAMES = {when: name for name, when in WHEN_UNSATISFIABLE.items()}


def dump_fleet(fleet: Fleet, name: str) -> bytes:
    """The file `name` should hold: YAML, JSON or lines of JSON by its suffix, packed for `.gz`."""
    plain = name.removesuffix(".gz")
    match PurePath(plain).suffix.lower():
        case ".jsonl":
            content = b"".join(_lines_of(fleet))
        case ".json":
            content = _json_of(fleet)
        case _:
            content = encode_yaml(document_of(fleet)).encode()
    return gzip.compress(content, mtime=0) if plain != name else content


def document_of(fleet: Fleet) -> Document:
    head = _header_of(fleet)
    records = {
        "machines": [machine_document(m) for m in _in_id_order(fleet)],
        "needs": [need_document(n) for n in fleet.needs],
    }
    tail = {key: head.pop(key) for key in _AFTER_RECORDS if key in head}
    return head | records | tail


def _in_id_order(fleet: Fleet) -> list[FleetMachine]:
    return sorted(fleet.machines, key=lambda m: m.machine.id)


def _lines_of(fleet: Fleet) -> Iterator[bytes]:
    yield header_line(fleet)
    yield from map(machine_line, _in_id_order(fleet))
    yield from map(need_line, fleet.needs)


def header_line(fleet: Fleet) -> bytes:
    """The first line of a .jsonl file: everything but machines and needs."""
    return encode_json(_header_of(fleet)) + b"\n"


def machine_line(entry: FleetMachine) -> bytes:
    return encode_json({"machine": machine_document(entry)}) + b"\n"


def need_line(entry: FleetNeed) -> bytes:
    return encode_json({"need": need_document(entry)}) + b"\n"


def _json_of(fleet: Fleet) -> bytes:
    """A record a line, so that two dumps compare line by line."""
    parts = [
        encode_json(key) + b": " + (_list_of(value) if key in _RECORDS else encode_json(value))
        for key, value in document_of(fleet).items()
    ]
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def _list_of(records: list[Document]) -> bytes:
    if not records:
        return b"[]"
    return b"[\n  " + b",\n  ".join(map(encode_json, records)) + b"\n]"


def _header_of(fleet: Fleet) -> Document:
    return {"version": 1, "kind": "Fleet"} | _given(
        name=fleet.name,
        provenance=_provenance_document(fleet.provenance),
        options=_options_document(fleet),
        memory=_memory_document(fleet.memory),
        costs=_costs_document(fleet.costs),
    )


def _given(**values: Any) -> Document:
    """Without what is absent: None, empty text, zero, false and empty collections."""
    return {key: value for key, value in values.items() if value}


def machine_document(entry: FleetMachine) -> Document:
    machine, marks = entry.machine, entry.marks
    allocatable = machine.allocatable if machine.allocatable != machine.resources else None
    return {"id": machine.id, "state": machine.state.label} | _given(
        cluster=machine.cluster,
        instanceType=machine.instance_type,
        zone=machine.zone,
        capacityType=machine.capacity_type.label,
        pricePerHour=_number(machine.price_per_hour),
        interruptionProbability=_number(machine.interruption_probability),
        resources=machine.resources.texts(),
        allocatable=allocatable.texts() if allocatable else None,
        labels=dict(sorted(machine.labels.items())),
        host=_host_document(machine),
        idleSince=instant_text(marks.idle_since) if marks.idle_since is not None else None,
        lastError=machine.last_error,
        held=_held_document(marks.held) if marks.held else None,
        overdue=marks.overdue,
        empty=marks.empty,
        assigned=_assigned_document(machine.assigned),
    )


def _host_document(machine: Machine) -> str | Document | None:
    host = machine.host
    if host == Host(DEFAULT_PROVIDER, machine.id) and machine.state in HOSTED:
        return None
    if host.empty:
        return None
    if "/" in host.provider:
        return _given(provider=host.provider, ref=host.ref)
    return f"{host.provider}/{host.ref}"


def _held_document(held: Held) -> Document:
    return {"by": held.by.value} | _given(
        until=instant_text(held.until) if held.until is not None else None
    )


def _assigned_document(assigned: Assigned) -> Document:
    return _given(
        priority=assigned.priority,
        interruptionPenalty=_dollars(assigned.interruption_penalty),
        reclamationPenalty=_dollars(assigned.reclamation_penalty),
        cluster=assigned.cluster,
        needFingerprint=assigned.need_fingerprint,
        group=assigned.group,
    )


def need_document(entry: FleetNeed) -> Document:
    need = entry.need
    profile = need.profile
    return (
        {"cluster": need.cluster, "priority": profile.priority}
        | _given(
            requirements=[
                {"key": r.key, "operator": _OPERATOR_NAMES[r.operator]}
                | _given(values=list(r.values))
                for r in profile.requirements
            ],
            spread=[
                {
                    "topologyKey": s.topology_key,
                    "maxSkew": s.max_skew,
                    "whenUnsatisfiable": _WHEN_NAMES[s.when_unsatisfiable],
                }
                for s in profile.spread
            ],
            interruptionPenaltyBucket=_bucket(profile.interruption_bucket),
            reclamationPenaltyBucket=_bucket(profile.reclamation_bucket),
        )
        | {"aggregateResources": need.aggregate.texts()}
        | _given(
            minUnit=need.min_unit.texts(),
            group=need.group,
            acquisitionParked=need.parked,
            arrival=need.arrival_unix_nanos,
            name=entry.name,
            source=entry.source,
        )
    )


def _options_document(fleet: Fleet) -> Document:
    options, default, plan = fleet.options, EngineOptions(), fleet.plan
    ready = options.clusters_ready
    document: Document = {}
    if fleet.now is not None:
        document["now"] = instant_text(fleet.now)
    if ready is not None:
        document["clustersReady"] = sorted(ready)
    if options.release_holds != default.release_holds:
        document["releaseHolds"] = {
            kind.label: _number(hold) for kind, hold in sorted(options.release_holds.items())
        }
    for key, name in _OPTION_FIELDS.items():
        if getattr(options, name) != getattr(default, name):
            document[key] = _option(getattr(options, name))
    return document | _given(
        reclaimCapFraction=_number(plan.reclaim_cap_fraction),
        maxActionsPerCycle=plan.max_actions_per_cycle,
        cycles=plan.cycles if plan.cycles != 1 else None,
    )


_OPTION_FIELDS = {
    "victimWeights": "victim_weights",
    "drainSeconds": "drain_seconds",
    "reservationMargin": "reservation_margin_seconds",
    "parking": "parking",
    "fold": "fold",
}


def _option(value: Any) -> Any:
    names = getattr(value, "__slots__", None)
    if names:
        return {name: _option(getattr(value, name)) for name in names}
    return _number(value) if isinstance(value, float) else value


def _memory_document(memory: EngineMemory) -> Document:
    return _given(
        reservations=[
            {"machine": r.machine, "kind": r.kind.value}
            | _key_document(r.holder)
            | _given(expiresAt=instant_text(r.expires_at) if r.expires_at is not None else None)
            for _, r in sorted(memory.reservations.items())
        ],
        parking=_ages_document(memory.parking),
        shortfalls=_ages_document({key: s.age for key, s in memory.shortfalls.items()}),
    )


def _ages_document(ages: Mapping[NeedKey, int]) -> list[Document]:
    return [_key_document(key) | {"age": age} for key, age in sorted(ages.items())]


def _key_document(key: NeedKey) -> Document:
    return _given(cluster=key.cluster, needFingerprint=key.fingerprint, group=key.group)


def _provenance_document(provenance: Provenance) -> Document:
    at = provenance.captured_at
    return _given(
        shard=provenance.shard,
        cycle=provenance.cycle,
        engineVersion=provenance.engine_version,
        capturedAt=instant_text(at) if at is not None else None,
        redacted=provenance.redacted,
    )


def _costs_document(costs: Costs) -> Document:
    return _given(
        imputed={name: _number(price) for name, price in sorted(costs.imputed.items())},
        teams=dict(sorted(costs.team_of_cluster.items())),
    )


def _number(value: float) -> float | int:
    """Whole numbers without a point, the form a person would write."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _dollars(value: float) -> float | int | str:
    return "pinned" if math.isinf(value) else _number(value)


def _bucket(bucket: int) -> str | None:
    return bucket_label(bucket) if bucket != UNSPECIFIED else None
