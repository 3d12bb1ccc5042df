"""Decisions as rows of JSON: what was decided, why in one sentence, and what became of it."""

from typing import Any

from bigfleet.model.actions import ActionKind
from bigfleet.model.reasons import TEMPLATES, ToldReason
from bigfleet.model.shard_views import ActionView

_TAKEN_AWAY = (ActionKind.RECLAIM, ActionKind.PREEMPT)


def decision_document(view: ActionView, shard: str) -> dict[str, Any]:
    """What its shard does not tell of its cost is null, never 0."""
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
        "reasons": [reason_document(each.told, view.cycle) for each in view.reasons],
        "disposition": view.disposition.name.lower() if view.disposition is not None else "",
        "outcome": view.outcome or None,
        "sentence": sentence_of(view),
        "deltaHourlyCost": view.bill_change,
        "shardId": shard,
    }
    if view.grace_seconds:
        shown["graceSeconds"] = view.grace_seconds
    if view.preemptor_priority:
        shown["preemptorPriority"] = view.preemptor_priority
    return shown


def reason_document(reason: ToldReason, cycle: int) -> dict[str, Any]:
    """The tier of a code of a later version is not known."""
    return {
        "code": reason.code,
        "tier": TEMPLATES[reason.code][0] if reason.code in TEMPLATES else None,
        "text": reason.text,
        "facts": dict(reason.facts),
        "refs": list(reason.refs),
        "cycle": cycle,
    }


def sentence_of(view: ActionView) -> str:
    """`Bootstrap bm-0031 for shop: idle match at $0.00/h: cheapest of 14 free`."""
    word = "from" if view.kind in _TAKEN_AWAY else "for"
    whom = f" {word} {view.cluster}" if view.cluster else ""
    said = f"{view.kind.label} {view.machine}{whom}"
    return f"{said}: {view.reason}" if view.reason else said
