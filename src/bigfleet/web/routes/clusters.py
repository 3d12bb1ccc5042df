"""Clusters: what each asks for, has and waits for, as its operator and its shard tell."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.model.coordination import ClusterBinding
from bigfleet.model.figures import CostAxis, ShardFigures
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.pauses import Pause
from bigfleet.model.shard_views import SessionView
from bigfleet.web.answers import queried_at
from bigfleet.web.fleet import Fleet, not_found
from bigfleet.web.live.overview import pods_document
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import Problem
from bigfleet.web.schemas import ClusterDetail, Clusters
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.shard_views import PAUSE, SESSION

_PENDING = "Pending"
#: The phases that a CapacityRequest may be in.
_PHASES = (_PENDING, "Acknowledged")
#: Machines that a cluster has.
_ITS_OWN = (MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING)
#: Of a report: told as numbers, under these names.
_LISTS = {
    "emptyMachineIds": "emptyMachinesCount",
    "unusableMachineIds": "unusableMachinesCount",
    "lost": "lostCount",
    "stuck": "stuckCount",
    "ask": "askCount",
    "refused": "refusedCount",
    "sources": "sourcesCount",
}
_SILENT = "its operator sends no reports; what it counts is not known here"


@dataclass(frozen=True, slots=True)
class ServedClusters:
    """What one shard knows of clusters."""

    figures: ShardFigures
    sessions: tuple[SessionView, ...]
    pauses: tuple[Pause, ...]

    @classmethod
    async def of(cls, shard: ShardAdminClient) -> "ServedClusters":
        return cls(
            await shard.figures(axes=(CostAxis.CLUSTER,)),
            tuple(await shard.sessions()),
            (await shard.status()).pauses,
        )

    def lines(self, shard: str) -> dict[str, dict[str, Any]]:
        """By cluster: those that are known, and those that only have machines."""
        machines: defaultdict[str, int] = defaultdict(int)
        dollars: defaultdict[str, float] = defaultdict(float)
        for row in self.figures.spending:
            dollars[row.name] += row.dollars_per_hour
            machines[row.name] += row.machines if row.state in _ITS_OWN else 0
        views = {view.cluster: view for view in self.sessions}
        return {
            name: {
                **line_of(name, views.get(name)),
                "shardId": shard,
                "machines": machines[name],
                "dollarsPerHour": dollars[name],
                "pauses": [PAUSE.document(p) for p in self.pauses if holds(p, name, shard)],
            }
            for name in sorted({*views, *(name for name in machines if machines[name])} - {""})
        }


def line_of(name: str, view: SessionView | None) -> dict[str, Any]:
    """Counts are of the cluster's last report; `error` says where it is missing or old."""
    report = view.report.report if view and view.report else None
    requests = report.requests_by_phase if report else {}
    line: dict[str, Any] = {
        "id": name,
        "capacityRequests": sum(requests.values()),
        "capacityRequestsPending": sum(requests.values()) - requests.get("Acknowledged", 0),
        "upcomingNodes": sum(report.upcoming_by_phase.values()) if report else 0,
    }
    if report is None:
        line["error"] = _SILENT
    elif view is not None and view.report is not None and view.report.stale:
        line["error"] = "its last report is old; its present state is not known"
    if view is not None:
        line |= {
            "connected": view.connected,
            "stuckPods": view.stuck_pods,
            "session": session_document(view),
        }
        if (pods := view.pods) is not None:
            line["pods"] = pods_document(pods)
        if view.need_states is not None:
            line["needs"] = {s.label: view.need_states.count(s) for s in NeedState}
    return line


def session_document(view: SessionView) -> dict[str, Any]:
    """Without the lists of machines in its report: they name every machine of the cluster."""
    document = SESSION.document(view)
    if (report := document.get("report")) is not None:
        for name, count in _LISTS.items():
            report[count] = len(report.pop(name))
    return document


def holds(pause: Pause, cluster: str, shard: str) -> bool:
    """Whether it stops actions of any kind for the cluster."""
    scope = pause.scope
    here = not scope.shard_ids or shard in scope.shard_ids
    its = not scope.cluster_ids or cluster in scope.cluster_ids
    return here and its and not scope.rebalance_only


@dataclass(frozen=True, slots=True)
class ClusterRoutes:
    fleet: Fleet

    async def all(self, _asked: Asked) -> dict[str, Any]:
        lines, warnings = await self._lines()
        more = {"warnings": warnings} if warnings else {}
        return {"clusters": lines, "queriedAt": queried_at(self.fleet.clock.now()), **more}

    async def one(self, asked: Asked) -> dict[str, Any]:
        wanted = asked.text("id")
        lines, _warnings = await self._lines()
        line = next((each for each in lines if each["id"] == wanted), None)
        if line is None:
            raise not_found("cluster", wanted, (each["id"] for each in lines))
        report = line.get("session", {}).get("report", {})
        requests = {**dict.fromkeys(_PHASES, 0), **report.get("requestsByPhase", {})}
        upcoming = report.get("upcomingByPhase", {})
        return {
            "id": wanted,
            "capacityRequestsTotal": line["capacityRequests"],
            "capacityRequestsByPhase": requests,
            "upcomingNodesTotal": line["upcomingNodes"],
            "upcomingNodesByPhase": upcoming,
            "queriedAt": queried_at(self.fleet.clock.now()),
            **({"error": line["error"]} if "error" in line else {}),
            "cluster": line,
        }

    async def _lines(self) -> tuple[list[dict[str, Any]], list[str]]:
        """By id; a cluster whose shard gave no answer has an error instead of counts."""
        told = (await self.fleet.ask(ServedClusters.of)).require()
        found: dict[str, dict[str, Any]] = {}
        for shard, each in told.said.items():
            for name, line in each.lines(shard).items():
                known = found.get(name)
                # A cluster that has just moved is known twice: the shard it is connected to tells.
                if known is None or (line.get("connected") and not known.get("connected")):
                    found[name] = line
        warnings = told.warnings
        try:
            bound = await self._bound()
        except Problem as problem:
            warnings, bound = [*warnings, problem.text], ()
        for binding in bound:
            line = found.setdefault(binding.cluster, line_of(binding.cluster, None))
            if binding.shard in told.failed:
                line["error"] = f"{binding.shard} gave no answer"
            line.setdefault("shardId", binding.shard)
            line["boundUnixNanos"] = binding.bound_at
        return [found[name] for name in sorted(found)], warnings

    async def _bound(self) -> Iterable[ClusterBinding]:
        if self.fleet.coordinator is None:
            return ()
        return await self.fleet.lead(lambda coordinator: coordinator.bindings())


def operations(fleet: Fleet) -> list[Operation]:
    clusters = ClusterRoutes(fleet)
    return [
        Operation(
            "/clusters",
            "listClusters",
            "Every cluster: its requests, nodes, machines, Needs by state, dollars and session.",
            clusters.all,
            Clusters,
            compatible=True,
            example="/clusters",
        ),
        Operation(
            "/clusters/{id}",
            "getCluster",
            "One cluster, with its requests and nodes by phase.",
            clusters.one,
            ClusterDetail,
            (Param("id", "Id of a cluster.", in_path=True, rooted=True, example="shop"),),
            problems=(HTTPStatus.NOT_FOUND,),
            compatible=True,
            example="/clusters/shop",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
