"""Rows of events: decisions and Needs as the routes show them."""

from typing import Any

from bigfleet.model.shard_views import ActionView, NeedRow


def decision_row(shard: str, view: ActionView) -> dict[str, Any]:
    need = view.need
    return {
        "id": f"action/{view.cycle}.{view.index}",
        "shardId": shard,
        "cycle": view.cycle,
        "atUnixNanos": view.at,
        "kind": view.kind.label,
        "machine": view.machine,
        "cluster": view.cluster,
        "need": f"need/{need.cluster}/{need.need_id}" if need is not None else None,
        "disposition": view.disposition.name if view.disposition is not None else None,
        "outcome": view.outcome or None,
        "sentence": view.reason,
    }


def need_row(shard: str, row: NeedRow) -> dict[str, Any]:
    need, reason = row.view.need, row.reason
    return {
        "needId": need.key.need_id,
        "clusterId": need.cluster,
        "shardId": shard,
        "priority": need.profile.priority,
        "state": row.state.label,
        "sinceUnixNanos": row.since,
        "satisfied": row.view.satisfied,
        "residualDeficit": row.view.deficit.positive().texts(),
        "reasons": [{"code": reason.code, "text": reason.text}] if reason.code else [],
        "remedy": row.remedy,
        "arrivingMachines": row.arriving,
        "stuckPods": row.stuck_pods,
    }
