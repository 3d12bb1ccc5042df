"""Reports as text: a line for people, an object for programs."""

from collections.abc import Mapping
from typing import Any

from bigfleet.model.actions import ActionKind
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import MachineState
from bigfleet.up.reports import CycleReport

_ORDER = (
    ActionKind.BOOTSTRAP,
    ActionKind.PROVISION,
    ActionKind.PREEMPT,
    ActionKind.RECLAIM,
    ActionKind.DELETE,
)


def started_text(started: Mapping[ActionKind, int]) -> str:
    """`+41 Bootstrap +12 Provision`; empty: nothing was started."""
    return " ".join(f"+{started[kind]} {kind.label}" for kind in _ORDER if started.get(kind))


def situation_text(report: CycleReport, demand_change: Mapping[str, int]) -> str:
    """What changed in the demand, else whether it is met."""
    changes = [f"{name} {change:+,} units" for name, change in demand_change.items() if change]
    return ", ".join(changes) if changes else met_text(report)


def met_text(report: CycleReport) -> str:
    if not report.needs:
        return "no demand yet"
    if not report.unmet:
        return "all demand met"
    return f"{len(report.unmet)} of {report.needs} needs unmet"


def line_of(
    clock: str, report: CycleReport, started: Mapping[ActionKind, int], changes: Mapping[str, int]
) -> str:
    """One line of the terminal; `started` and `changes` since the last one."""
    text = started_text(started) or "-"
    situation = situation_text(report, changes)
    head = f"{clock}  cycle {report.cycle:<5} {text:<34}  {situation:<34}"
    return f"{head}  ${report.dollars_per_hour:,.2f}/h"


def document_of(report: CycleReport) -> dict[str, Any]:
    return {
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
        "dollarsPerHour": round(report.dollars_per_hour, 4),
        "clusters": {
            cluster.name: {
                "connected": cluster.connected,
                "pods": cluster.pods,
                "running": cluster.running,
                "nodes": cluster.nodes,
                "needs": cluster.needs,
                "needsMet": cluster.needs_met,
            }
            for cluster in report.clusters
        },
        "unmet": [
            {
                "cluster": need.key.cluster,
                "needId": need.key.need_id,
                "group": need.key.group,
                "reason": need.reason,
                "ageCycles": need.age,
                "free": need.free,
            }
            for need in report.unmet
        ],
    }
