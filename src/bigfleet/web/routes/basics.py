"""Whether the page's server lives, and what fleet it shows."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.routing import Route

from bigfleet.model.provider_calls import Rejected
from bigfleet.model.shard_views import ShardStatus
from bigfleet.web.fleet import Fleet
from bigfleet.web.further_schemas import Status
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.schemas import Config, Health
from bigfleet.wire import coordination
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.shard_views import STATUS

_REAL = ["the engine", "the shard", "the coordinator", "the journal", "the protocols"]
_SIMULATED = ["machines", "prices", "latencies", "pods and their scheduler"]
#: Seconds that a silent replica may hold up a status.
_REPLICA_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Basics:
    fleet: Fleet

    async def health(self, _asked: Asked) -> dict[str, Any]:
        return {"status": "ok"}

    async def config(self, _asked: Asked) -> dict[str, Any]:
        """The product has what the older dashboard takes from Prometheus and kubeconfigs."""
        return {
            "grafanaUrl": "",
            "prometheusWired": True,
            "coordinatorWired": self.fleet.coordinator is not None,
            "kubeconfigWired": True,
        }

    async def status(self, _asked: Asked) -> dict[str, Any]:
        fleet = self.fleet
        told = await fleet.ask(lambda shard: shard.status())
        head: dict[str, Any] = {
            "version": fleet.version,
            "serverTimeUnixNanos": fleet.clock.now(),
            "face": fleet.face,
            "simulated": fleet.simulated,
            "writes": fleet.writes,
            "real": _REAL,
            "simulatedParts": _SIMULATED if fleet.simulated else [],
        }
        if fleet.coordinator is not None:
            head["coordinator"] = await _coordinator(fleet.coordinator, fleet.coordinator_addresses)
        documents = {shard: STATUS.document(status) for shard, status in told.said.items()}
        pauses = {p["pauseId"]: p for each in documents.values() for p in each.get("pauses", [])}
        silent = [{"shardId": name, "error": why.text} for name, why in told.failed.items()]
        dry_run = any(status.dry_run for status in told.said.values())
        return {
            **head,
            "shards": [*documents.values(), *silent],
            "rails": {"pauses": list(pauses.values()), "dryRun": dry_run},
            "journal": {shard: journal_of(status) for shard, status in told.said.items()},
            **told.head(),
        }


def journal_of(status: ShardStatus) -> dict[str, Any]:
    """The cycles that can be looked at; null where none is recorded."""
    first = status.journal_first_cycle or None
    return {
        "epoch": status.epoch,
        "firstCycle": first,
        "lastCycle": max(status.cycle, first) if first else None,
        "degraded": status.journal_degraded,
        "error": status.journal_error,
    }


async def _coordinator(
    coordinator: CoordinatorAdminClient, addresses: Sequence[str]
) -> dict[str, Any]:
    """Of the leader, or of any replica that answers; why not, where none does."""
    found: dict[str, Any] = {}
    for address in addresses:
        try:
            async with asyncio.timeout(_REPLICA_SECONDS):
                status = await coordinator.status(address)
        except Rejected as problem:
            found = found or {"error": problem.text}
            continue
        except TimeoutError:
            found = found or {"error": f"{address} took too long"}
            continue
        found = {"address": address, **coordination.STATUS.document(status)}
        if status.is_leader:
            break
    return found


def operations(fleet: Fleet) -> list[Operation]:
    basics = Basics(fleet)
    return [
        Operation(
            "/health",
            "getHealth",
            "Whether the page's server lives.",
            basics.health,
            Health,
            compatible=True,
            example="/health",
        ),
        Operation(
            "/config",
            "getConfig",
            "What the older dashboard may show.",
            basics.config,
            Config,
            compatible=True,
            example="/config",
        ),
        Operation(
            "/status",
            "getStatus",
            "Versions, shards with their epochs and cycles, pauses, journals, what is simulated.",
            basics.status,
            Status,
            example="/status",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
