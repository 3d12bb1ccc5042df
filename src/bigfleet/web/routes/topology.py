"""The coordinator, the shards it knows, who owns which domain, and what shards reported to it."""

from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.edge.clock import SECOND
from bigfleet.model.coordination import CoordinatorStatus, ReportView, ShardEntry
from bigfleet.model.penalties import ENUM_NAMES
from bigfleet.model.provider_calls import Rejected
from bigfleet.web.answers import queried_at
from bigfleet.web.fleet import Fleet, not_found
from bigfleet.web.further_schemas import Quotas, Shortfalls, Transfers
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import Problem
from bigfleet.web.schemas import ShardReports, Topology
from bigfleet.wire import coordination
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

_BUCKET_NAMES = {bucket: name for name, bucket in ENUM_NAMES.items()}
_MOST_TRANSFERS = 1_000
_SHORTFALLS, _MOST_SHORTFALLS = 100, 1_000


@dataclass(frozen=True, slots=True)
class TopologyRoutes:
    fleet: Fleet

    async def topology(self, _asked: Asked) -> dict[str, Any]:
        shards = await self.fleet.lead(lambda lead: lead.shards())
        domains = await self.fleet.lead(lambda lead: lead.domains())
        pending = await self.fleet.lead(lambda lead: lead.instructions())
        waiting = Counter(each.shard for each in pending)
        warnings: list[str] = []
        try:
            status = await self.fleet.lead(self._leader)
        except Problem as problem:
            status, warnings = None, [problem.text]
        return {
            "coordinator": _coordinator(status, len(pending)),
            "shards": [_shard(entry, waiting[entry.shard_id]) for entry in shards],
            "domainAssignments": [
                {"topologyKey": each.key, "topologyValue": each.value, "shardId": each.shard}
                for each in domains
            ],
            **({"warnings": warnings} if warnings else {}),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def _leader(self, coordinator: CoordinatorAdminClient) -> CoordinatorStatus:
        """Of the leader; of another replica where none says that it leads."""
        found: CoordinatorStatus | None = None
        why: Rejected | None = None
        for address in self.fleet.coordinator_addresses:
            try:
                status = await coordinator.status(address)
            except Rejected as rejected:
                why = rejected
                continue
            if status.is_leader:
                return status
            found = found or status
        if found is None:
            assert why is not None, "a fleet with a coordinator has its addresses"
            raise why
        return found

    async def reports(self, asked: Asked) -> dict[str, Any]:
        wanted = asked.text("shard")
        found = await self.fleet.lead(lambda lead: lead.reports(shard_id=wanted))
        if wanted and not found:
            await self._require_shard(wanted)
        now = queried_at(self.fleet.clock.now())
        return {"reports": [_report(each) for each in found], "queriedAt": now}

    async def _require_shard(self, wanted: str) -> None:
        known = [each.shard_id for each in await self.fleet.lead(lambda lead: lead.shards())]
        if wanted not in known:
            raise not_found("shard", wanted, known)

    async def shortfalls(self, asked: Asked) -> dict[str, Any]:
        wanted, limit = asked.text("shard"), asked.number("limit")
        found = await self.fleet.lead(lambda lead: lead.shortfalls(shard_id=wanted, limit=limit))
        if wanted and not (found.total or found.unknown_shards):
            await self._require_shard(wanted)
        return {
            "shortfalls": [coordination.SHORTFALL_VIEW.document(each) for each in found.shortfalls],
            "total": found.total,
            "unknownShardIds": list(found.unknown_shards),
            **asked.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def quotas(self, _asked: Asked) -> dict[str, Any]:
        found = await self.fleet.lead(lambda lead: lead.quotas())
        now = queried_at(self.fleet.clock.now())
        return {"quotas": [coordination.QUOTA.document(each) for each in found], "queriedAt": now}

    async def transfers(self, asked: Asked) -> dict[str, Any]:
        limit, finished = asked.number("limit"), asked.flag("finished")
        found = await self.fleet.lead(
            lambda lead: lead.transfers(include_finished=finished, limit=limit)
        )
        return {
            "transfers": [coordination.TRANSFER.document(each) for each in found],
            **asked.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def _coordinator(status: CoordinatorStatus | None, pending: int) -> dict[str, Any]:
    """Rates of a Raft log are 0: changes are rows of a store here."""
    head = {
        "raftTerm": status.term if status else 0,
        "applyRatePerSec": 0.0,
        "applyErrorRatePerSec": 0.0,
        "pendingInstructionsTotal": pending,
    }
    if status is None:
        return head
    return {
        **head,
        "replicaId": status.replica_id,
        "isLeader": status.is_leader,
        "leaderAddress": status.leader_address,
        "storeRevision": status.store_revision,
        "openTransfers": status.open_transfers,
    }


def _shard(entry: ShardEntry, waiting: int) -> dict[str, Any]:
    return {
        "shardId": entry.shard_id,
        "address": entry.address,
        "registeredAtUnixSec": entry.registered_at // SECOND,
        "lastHeartbeatUnixSec": (entry.last_heartbeat_at or 0) // SECOND,
        "pendingInstructions": waiting,
    }


def _report(view: ReportView) -> dict[str, Any]:
    summary = view.summary
    return {
        "shardId": view.shard_id,
        "cycle": view.cycle,
        "receivedAtUnixNs": view.received_at,
        "summary": {
            "totalMachines": summary.total_machines,
            "freeMachines": summary.free_machines,
            "instanceTypeCounts": dict(summary.count_of_instance_type),
            "zoneCounts": dict(summary.count_of_zone),
            "providerAddress": summary.provider_address,
        },
        "shortfalls": [
            {
                "priority": each.priority,
                "deficit": each.deficit.texts(),
                "ageCycles": each.age_cycles,
                "penaltyBucket": _BUCKET_NAMES[each.interruption_bucket],
            }
            for each in view.shortfalls
        ],
    }


def operations(fleet: Fleet) -> list[Operation]:
    routes = TopologyRoutes(fleet)
    unwired = (HTTPStatus.SERVICE_UNAVAILABLE,)
    return [
        Operation(
            "/topology",
            "getTopology",
            "The coordinator, its shards with their heartbeats, and who owns which domain.",
            routes.topology,
            Topology,
            problems=unwired,
            compatible=True,
            example="/topology",
        ),
        Operation(
            "/shard-reports",
            "listShardReports",
            "What shards last reported to the coordinator: totals, and what is short.",
            routes.reports,
            ShardReports,
            (Param("shard", "Only of this shard.", example="shard-0"),),
            problems=(HTTPStatus.NOT_FOUND, *unwired),
            compatible=True,
            example="/shard-reports",
        ),
        Operation(
            "/shortfalls",
            "listShortfalls",
            "What shards are short of, the most urgent first, and why no other shard helps.",
            routes.shortfalls,
            Shortfalls,
            (
                Param("shard", "Only of this shard.", example="shard-0"),
                Param(
                    "limit",
                    "Rows at most.",
                    kind="integer",
                    default=_SHORTFALLS,
                    most=_MOST_SHORTFALLS,
                ),
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, *unwired),
            example="/shortfalls?shard=shard-0",
        ),
        Operation(
            "/quotas",
            "listQuotas",
            "Quotas of providers, and what each shard may use and uses of them.",
            routes.quotas,
            Quotas,
            problems=unwired,
            example="/quotas",
        ),
        Operation(
            "/transfers",
            "listTransfers",
            "Machines on their way between shards.",
            routes.transfers,
            Transfers,
            (
                Param("finished", "Those that have ended too.", kind="boolean"),
                Param(
                    "limit",
                    "Rows at most.",
                    kind="integer",
                    default=_MOST_TRANSFERS,
                    most=_MOST_TRANSFERS,
                ),
            ),
            problems=(HTTPStatus.BAD_REQUEST, *unwired),
            example="/transfers?finished=true",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
