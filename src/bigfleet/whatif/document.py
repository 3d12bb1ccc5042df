"""The answer of a what-if as a JSON document."""

from typing import Any

from bigfleet.model.latencies import Latencies
from bigfleet.model.what_if import (
    ClusterDelta,
    ClusterSide,
    Fate,
    NeedChange,
    SettledSide,
    Settling,
    Sweep,
    WhatIfAnswer,
    WhatIfSide,
)

Document = dict[str, Any]


def document_of(answer: WhatIfAnswer) -> Document:
    return {
        "cycle": answer.cycle,
        "overlay": list(answer.overlay),
        "warnings": list(answer.warnings),
        "removedMachines": answer.removed,
        "base": side_document(answer.base),
        "changed": side_document(answer.changed),
        "clusters": [_cluster(each) for each in answer.clusters],
        "newlyUnmet": [_need(each) for each in answer.newly_unmet],
        "newlyUnmetCount": answer.newly_unmet_count,
        "newlyMet": [_need(each) for each in answer.newly_met],
        "newlyMetCount": answer.newly_met_count,
        "moved": [
            {"fromCluster": m.from_cluster, "toCluster": m.to_cluster, "machines": m.machines}
            for m in answer.moved
        ],
        "added": [
            {"need": n.name, "covered": n.covered, "code": n.code, "sentence": n.sentence}
            for n in answer.added
        ],
        **({} if answer.settling is None else {"settling": _settling(answer.settling)}),
        **({} if answer.sweep is None else {"sweep": sweep_document(answer.sweep)}),
        **({} if answer.fates is None else {"fates": [_fate(each) for each in answer.fates]}),
    }


def sweep_document(sweep: Sweep) -> Document:
    names = [axis.name for axis in sweep.axes]
    return {
        "axes": [{"name": axis.name, "values": list(axis.values)} for axis in sweep.axes],
        "pointCount": sweep.size,
        "complete": sweep.is_complete,
        "base": side_document(sweep.points[0].answer.base) if sweep.points else None,
        "points": [
            {
                "values": dict(zip(names, point.values, strict=True)),
                "overlay": list(point.answer.overlay),
                "warnings": list(point.answer.warnings),
                "newlyUnmetCount": point.answer.newly_unmet_count,
                "newlyMetCount": point.answer.newly_met_count,
                "changed": side_document(point.answer.changed),
            }
            for point in sweep.points
        ],
    }


def _fate(fate: Fate) -> Document:
    return {
        "removed": fate.removed,
        "before": {"kind": fate.before, "cluster": fate.before_cluster},
        "after": {"kind": fate.after, "cluster": fate.after_cluster},
        "machines": fate.machines,
        "machineIds": list(fate.machine_ids),
    }


def _settling(settling: Settling) -> Document:
    return {
        **latencies_document(settling.latencies),
        "shortAtFirst": settling.short_at_first,
        "recovered": settling.recovered,
        "waits": [
            {
                "need": wait.name,
                "cluster": wait.key.cluster,
                "priority": wait.priority,
                "coveredAfterSeconds": wait.covered_after,
                "sentence": wait.sentence,
            }
            for wait in settling.waits
        ],
    }


def latencies_document(latencies: Latencies) -> Document:
    measured = {"latencySamples": dict(latencies.samples)} if latencies.samples else {}
    assumed = Latencies(latencies.assumed).texts
    return {"latencies": latencies.texts, **measured, "assumedLatencies": assumed}


def _rest(rest: SettledSide) -> Document:
    return {
        "quietAfterCycles": rest.quiet_after_cycles,
        "seconds": rest.seconds,
        "timeToCoverSeconds": {
            "p50": rest.time_to_cover(0.5),
            "p95": rest.time_to_cover(0.95),
            "max": rest.time_to_cover(1.0),
        },
        "coveredAfter": [
            {"seconds": seconds, "needs": needs} for seconds, needs in rest.covered_after
        ],
        "uncovered": rest.uncovered,
    }


def side_document(side: WhatIfSide) -> Document:
    return {
        "actionsByKind": dict(side.actions_by_kind),
        "satisfiedNeeds": side.satisfied_needs,
        "unsatisfiedNeeds": side.unsatisfied_needs,
        "shortfallsByPriority": {str(p): n for p, n in side.shortfalls_by_priority.items()},
        "costPerHour": side.cost_per_hour,
        "expectedInterruptionPerHour": side.expected_interruption_per_hour,
        "declaredPenalties": side.declared_penalties,
        "pinnedVictims": side.pinned_victims,
        "machinesByState": dict(side.machines_by_state),
        **({} if side.settled is None else {"settled": _rest(side.settled)}),
    }


def _cluster(delta: ClusterDelta) -> Document:
    return {
        "cluster": delta.cluster,
        "lostMachines": delta.lost,
        "before": _cluster_side(delta.before),
        "after": _cluster_side(delta.after),
    }


def _cluster_side(side: ClusterSide) -> Document:
    return {
        "machines": side.machines,
        "unmet": side.unmet,
        "costPerHour": side.cost_per_hour,
        "actionsByKind": dict(side.actions_by_kind),
    }


def _need(change: NeedChange) -> Document:
    return {
        "need": change.name,
        "cluster": change.key.cluster,
        "priority": change.priority,
        "deficit": change.deficit.texts(),
        "sentence": change.sentence,
    }
