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
from bigfleet.fleetfile import machine_line, need_line
from bigfleet.model.actions import Action
from bigfleet.model.fleet import FleetNeed
from bigfleet.model.journal import InputChange
from bigfleet.model.needs import NeedKey

_UNCLAIMED = np.iinfo(np.int64).min


def line(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


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
    for cluster, needs in sorted(change.demand.items()):
        yield line({"cluster": cluster, "needs": len(needs)})
        yield from (need_line(FleetNeed(need)) for need in needs)
        yield line({"arrivals": [need.arrival_unix_nanos for need in needs]})
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


def output_digest(decision: Decision) -> bytes:
    """Of all actions, in the order of the engine."""
    digest = hashlib.sha256()
    for action in decision.actions:
        digest.update(action_line(decision, action))
    return digest.digest()


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
    claims: Int64s = np.full(len(holder), _UNCLAIMED, np.int64)
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
