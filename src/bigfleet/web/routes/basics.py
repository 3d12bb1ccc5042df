"""Whether the page's server lives, and what fleet it shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bigfleet.model.provider_calls import Rejected
from bigfleet.web.answers import Json
from bigfleet.web.fleet import Fleet
from bigfleet.wire import coordination
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.shard_views import STATUS

_REAL = ["the engine", "the shard", "the coordinator", "the journal", "the protocols"]
_SIMULATED = ["machines", "prices", "latencies", "pods and their scheduler"]


@dataclass(frozen=True, slots=True)
class Basics:
    fleet: Fleet

    async def health(self, _request: Request) -> Response:
        return Json({"status": "ok"})

    async def status(self, _request: Request) -> Response:
        fleet = self.fleet
        head: dict[str, Any] = {
            "version": fleet.version,
            "serverTimeUnixNanos": fleet.clock.now(),
            "face": fleet.face,
            "simulated": fleet.simulated,
            "writes": fleet.writes,
            "real": _REAL,
            "simulatedParts": _SIMULATED if fleet.simulated else [],
        }
        shards: list[dict[str, Any]] = []
        pauses: dict[str, Any] = {}
        dry_run = False
        for name, client in fleet.shards.items():
            try:
                status = await client.status()
            except Rejected as problem:
                shards.append({"shardId": name, "error": problem.text})
                continue
            document = STATUS.document(status)
            pauses |= {pause["pauseId"]: pause for pause in document.get("pauses", [])}
            dry_run |= status.dry_run
            shards.append(document)
        if fleet.coordinator is not None:
            head["coordinator"] = await _coordinator(fleet.coordinator, fleet.coordinator_addresses)
        rails = {"pauses": list(pauses.values()), "dryRun": dry_run}
        return Json({**head, "shards": shards, "rails": rails})


async def _coordinator(
    coordinator: CoordinatorAdminClient, addresses: Sequence[str]
) -> dict[str, Any]:
    """Of the leader, or of any replica that answers; why not, where none does."""
    found: dict[str, Any] = {}
    for address in addresses:
        try:
            status = await coordinator.status(address)
        except Rejected as problem:
            found = found or {"error": problem.text}
            continue
        found = {"address": address, **coordination.STATUS.document(status)}
        if status.is_leader:
            break
    return found


def routes(fleet: Fleet) -> list[Route]:
    basics = Basics(fleet)
    return [Route("/health", basics.health), Route("/status", basics.status)]
