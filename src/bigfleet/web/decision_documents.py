"""Decisions as rows of JSON: what was decided, why in one sentence, and what became of it."""

from typing import Any

from bigfleet.model.shard_views import ActionView


def decision_document(view: ActionView, shard: str) -> dict[str, Any]:
    """Its cost is not told by a shard: it is null, never 0."""
    need = view.need
    shown: dict[str, Any] = {
        "id": f"action/{view.cycle}.{view.index}",
        "cycle": view.cycle,
        "index": view.index,
        "atUnixNanos": view.at,
        "kind": view.kind.label,
        "machine": view.machine,
        "cluster": view.cluster,
        "need": f"need/{need.cluster}/{need.need_id}" if need is not None else "",
        "reasons": [],
        "disposition": view.disposition.name.lower() if view.disposition is not None else "",
        "outcome": view.outcome or None,
        "sentence": sentence_of(view),
        "deltaHourlyCost": None,
        "shardId": shard,
    }
    if view.grace_seconds:
        shown["graceSeconds"] = view.grace_seconds
    if view.preemptor_priority:
        shown["preemptorPriority"] = view.preemptor_priority
    return shown


def sentence_of(view: ActionView) -> str:
    """`Bootstrap bm-0031 for shop: idle match at $0.00/h: cheapest of 14 free`."""
    whom = f" for {view.cluster}" if view.cluster else ""
    said = f"{view.kind.label} {view.machine}{whom}"
    return f"{said}: {view.reason}" if view.reason else said
