"""Reports as text: a line for people, an object for programs."""

from collections.abc import Mapping
from typing import Any

from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import Transfer, TransferTier
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, scope_text
from bigfleet.up.reports import ClusterReport, CycleReport

_ORDER = (
    ActionKind.BOOTSTRAP,
    ActionKind.PROVISION,
    ActionKind.PREEMPT,
    ActionKind.RECLAIM,
    ActionKind.DELETE,
)
_MOVED = {
    TransferTier.IDLE: "idle",
    TransferTier.SPECULATIVE: "speculative",
    TransferTier.DRAIN: "drained",
    TransferTier.RETURN: "returning",
}


def started_text(started: Mapping[ActionKind, int]) -> str:
    """`+41 Bootstrap +12 Provision`; empty: nothing was started."""
    return " ".join(f"+{started[kind]} {kind.label}" for kind in _ORDER if started.get(kind))


def situation_text(report: CycleReport, demand_change: Mapping[str, int]) -> str:
    """What changed in the demand, else whether it is met."""
    changes = [f"{name} {change:+,} units" for name, change in demand_change.items() if change]
    return ", ".join(changes) if changes else met_text(report)


def met_text(report: CycleReport) -> str:
    """That all is met is said only where all is, by the shard's own judgement, and no pod waits."""
    counts = report.need_states
    if not counts.total:
        return "no demand yet"
    if counts.met == counts.total:
        # The shard hears of them with the next report of their cluster.
        waiting = sum(cluster.waiting for cluster in report.clusters)
        return f"machines there, {waiting:,} pods wait" if waiting else "all demand met"
    others = [state for state in NeedState if state is not NeedState.MET and counts.count(state)]
    said = ", ".join(f"{counts.count(state)} {state.label}" for state in others)
    return f"{said} of {counts.total} needs"


def pods_text(report: CycleReport) -> str:
    """`pods: shop 519/598 (3 stuck), ml 16`: running of all; clusters without pods are left out."""
    words = [f"{each.name} {_running_text(each)}" for each in report.clusters if each.pods]
    return f"pods: {', '.join(words)}" if words else "no pods yet"


def _running_text(cluster: ClusterReport) -> str:
    if not cluster.waiting:
        return f"{cluster.running:,}"
    stuck = f" ({cluster.stuck:,} stuck)" if cluster.stuck else ""
    return f"{cluster.running:,}/{cluster.pods:,}{stuck}"


def pause_text(pause: Pause) -> str:
    """`every action of cluster shop by ada until 2027-01-15T08:00:00Z: strange reclaims`."""
    owner = f" by {pause.who}" if pause.who else ""
    until = "until it is lifted"
    if pause.expires_at is not None:
        until = f"until {instant_text(pause.expires_at // SECOND * SECOND)}"
    reason = f": {pause.reason}" if pause.reason else ""
    return f"{scope_text(pause.scope)}{owner} {until}{reason}"


def line_of(
    clock: str,
    report: CycleReport,
    started: Mapping[ActionKind, int],
    changes: Mapping[str, int],
    shard: str = "",
) -> str:
    """One line of the terminal; `started` and `changes` since the last one; `shard`: if named."""
    text = started_text(started) or "-"
    situation = situation_text(report, changes)
    who = f"{shard}  " if shard else ""
    head = f"{clock}  {who}cycle {report.cycle:<5} {text:<34}  {situation:<34}"
    return f"{head}  {f'${report.dollars_per_hour:,.2f}/h':<9}  {pods_text(report)}"


def moved_text(transfer: Transfer) -> str:
    """`12 idle machines`; without a number while none are named."""
    count = len(transfer.machine_ids)
    words = f"{_MOVED[transfer.tier]} {'machine' if count == 1 else 'machines'}"
    return f"{count} {words}" if count else words


def transfer_line_of(clock: str, transfer: Transfer) -> str:
    """One line of the terminal: who gives what to whom, what became of it, and why."""
    way = f"{transfer.from_shard} -> {transfer.to_shard}"
    head = f"{clock}  transfer {transfer.id:<6} {way}  {moved_text(transfer)}"
    return f"{head}  {transfer.state.label}: {transfer.reason}"


def transfer_document_of(transfer: Transfer) -> dict[str, Any]:
    return {
        "kind": "transfer",
        "transfer": transfer.id,
        "at": instant_text(transfer.updated_at),
        "tier": transfer.tier.label,
        "state": transfer.state.label,
        "from": transfer.from_shard,
        "to": transfer.to_shard,
        "machines": list(transfer.machine_ids),
        "priority": transfer.priority,
        "reason": transfer.reason,
    }


def document_of(report: CycleReport) -> dict[str, Any]:
    return {
        "kind": "cycle",
        "shard": report.shard,
        "cycle": report.cycle,
        "at": instant_text(report.at),
        "seconds": round(report.seconds, 6),
        "started": {kind.label: n for kind, n in sorted(report.started.items())},
        "actions": [
            {
                "kind": action.kind.label,
                "machine": action.machine,
                "cluster": action.cluster,
                "needId": action.need.need_id if action.need else "",
                "disposition": action.disposition.name if action.disposition else "",
                "reason": action.reason,
            }
            for action in report.actions
        ],
        "machines": {state.label: report.machines.get(state, 0) for state in MachineState if state},
        "pauses": [
            {
                "pause": pause.pause_id,
                "scope": scope_text(pause.scope),
                "owner": pause.owner,
                "reason": pause.reason,
                "until": instant_text(pause.expires_at) if pause.expires_at else "",
            }
            for pause in report.pauses
        ],
        "dollarsPerHour": round(report.dollars_per_hour, 4),
        "clusters": {
            cluster.name: {
                "connected": cluster.connected,
                "pods": cluster.pods,
                "running": cluster.running,
                "waiting": cluster.waiting,
                "stuck": cluster.stuck,
                "overdue": [
                    {
                        "pod": each.pod,
                        "pods": each.pods,
                        "seconds": round(each.seconds, 3),
                        "verdict": each.verdict,
                        "machine": each.machine,
                    }
                    for each in cluster.overdue
                ],
                "nodes": cluster.nodes,
                "needs": cluster.needs,
                "needsMet": cluster.needs_met,
            }
            for cluster in report.clusters
        },
        "needStates": {state.label: report.need_states.count(state) for state in NeedState},
        "unmet": [
            {
                "cluster": need.key.cluster,
                "needId": need.key.need_id,
                "group": need.key.group,
                "state": need.state.label,
                "reason": need.reason,
                "text": need.text,
                "remedy": need.remedy,
                "stuckPods": need.stuck_pods,
                "ageCycles": need.age,
                "free": need.free,
            }
            for need in report.unmet
        ],
    }
