"""Digests: SHA-256 over canonical JSON lines, so that any version and machine can compare them.

Sorted keys, no spaces, floats in their shortest form. A digest of inputs is chained: it covers what
changed and the digest before, and so costs what changed.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import orjson

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.fleetfile import machine_line
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.journal import InputChange, NeedTable
from bigfleet.model.needs import NeedKey

#: Of a machine that no Need claims.
UNCLAIMED = np.iinfo(np.int64).min
_KIND_TEXT = {int(kind): kind.label.encode() for kind in ActionKind}
#: `action_line`, filled in by hand: a fleet that has just connected has tens of thousands.
_ACTION = (
    b'{"cluster":%s,"graceSeconds":%d,"kind":"%s","machine":%s,"need":%s,"preemptorPriority":%d}\n'
)


def line(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def input_digest(before: bytes, change: InputChange) -> bytes:
    """Of a change after inputs of this digest."""
    digest = hashlib.sha256(before)
    for each in _input_lines(change):
        digest.update(each)
    return digest.digest()


def _input_lines(change: InputChange) -> Iterable[bytes]:
    yield line({"now": change.now})
    yield from map(machine_line, change.machines)
    if change.removed:
        yield line({"removed": list(change.removed)})
    if change.needs is not None:
        yield from _need_lines(change.needs)
    for held in change.reservations:
        holder = _need_document(held.holder)
        yield line(
            {
                "reserved": held.machine,
                "kind": held.kind.value,
                "holder": holder,
                "until": held.expires_at,
            }
        )
    if change.unreserved:
        yield line({"unreserved": list(change.unreserved)})
    for name, ages in (("parking", change.parking), ("shortfalls", change.shortfall_ages)):
        for key, age in sorted(ages.items()):
            yield line({name: _need_document(key), "age": age})
    if change.reported is not None:
        yield line({"reported": sorted(change.reported)})


def _need_lines(table: NeedTable) -> Iterable[bytes]:
    yield line({"clusters": list(table.clusters), "groups": list(table.groups)})
    for profile in table.profiles:
        yield line({"profile": profile.fingerprint})
    for vector in table.vectors:
        yield line(dict(vector.amounts))
    for name, column in sorted(table.columns.items()):
        yield line({name: column.tolist()})


def output_digest(decision: Decision) -> bytes:
    """Of all actions, in the order of the engine: SHA-256 of their lines (`action_line`)."""
    outcome, columns = decision.outcome, decision.outcome.action_columns
    snapshot = outcome.scene.snapshot
    needs = {-1: b"null"}
    needs |= {n: _json(_need_document(outcome.key(n))) for n in set(columns.need.tolist()) - {-1}}
    taken = np.isin(columns.kind, (ActionKind.BOOTSTRAP, ActionKind.PROVISION))
    deleted = columns.kind == ActionKind.DELETE
    number = snapshot.columns.cluster[columns.row]
    names = [_json(name) for name in snapshot.tables.clusters.rows]
    preempts = columns.kind == ActionKind.PREEMPT
    priority = np.zeros(len(columns), np.int64)
    priority[preempts] = outcome.needs.priority[columns.need[preempts]]
    wanting = outcome.scene.demand.tables.clusters.rows
    lines = []
    for kind, row, n, grace, bought, gone, bound, level in zip(
        columns.kind.tolist(),
        columns.row.tolist(),
        columns.need.tolist(),
        columns.grace_seconds.tolist(),
        taken.tolist(),
        deleted.tolist(),
        number.tolist(),
        priority.tolist(),
        strict=True,
    ):
        if bought:
            cluster = _json(wanting[outcome.normalised.cluster[n]])
        else:
            cluster = b'""' if gone else names[bound]
        label, machine = _KIND_TEXT[kind], _json(snapshot.ids[row])
        lines.append(_ACTION % (cluster, grace, label, machine, needs[n], level))
    return hashlib.sha256(b"".join(lines)).digest()


def action_line(decision: Decision, action: Action) -> bytes:
    need = None if action.need is None else decision.outcome.key(action.need)
    return line(
        {
            "cluster": action.cluster,
            "graceSeconds": action.grace_seconds,
            "kind": action.kind.label,
            "machine": action.machine,
            "need": None if need is None else _need_document(need),
            "preemptorPriority": action.preemptor_priority,
        }
    )


def claims_of(decision: Decision) -> Int64s:
    """Which Need claims each machine, as a number that stays the same from cycle to cycle."""
    holder = decision.outcome.credit.holder
    claimed = holder >= 0
    claims: Int64s = np.full(len(holder), UNCLAIMED, np.int64)
    claims[claimed] = decision.outcome.normalised.identity[holder[claimed]]
    return claims


def claimed_digest(decision: Decision, rows: Int64s) -> bytes:
    """Of these machines: who claims them."""
    holders, ids = (
        decision.outcome.credit.holder[rows].tolist(),
        decision.outcome.scene.snapshot.ids,
    )
    names = {n: decision.outcome.key(n).need_id for n in set(holders) if n >= 0}
    digest = hashlib.sha256()
    for row, n in zip(rows.tolist(), holders, strict=True):
        digest.update(line({"machine": ids[row], "need": names.get(n, "")}))
    return digest.digest()


def _need_document(key: NeedKey) -> dict[str, str]:
    return {"cluster": key.cluster, "fingerprint": key.fingerprint, "group": key.group}
