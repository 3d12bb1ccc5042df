"""What clusters could still get, for each profile they ask for."""

from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from starlette.routing import Route

from bigfleet.model.figures import AvailableCall, AvailableRow
from bigfleet.model.reasons import dollars_text
from bigfleet.web.answers import queried_at
from bigfleet.web.fleet import Fleet
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.schemas import AvailableCapacity


@dataclass(frozen=True, slots=True)
class AvailableRoutes:
    fleet: Fleet

    async def available(self, _asked: Asked) -> dict[str, Any]:
        told = (await self.fleet.ask(lambda client: client.available(AvailableCall()))).require()
        items: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        warnings = told.warnings
        for shard, found in told.said.items():
            for row in found.rows:
                items[row.cluster].append(item_of(row))
            if len(found.rows) < found.total:
                warnings.append(f"{shard} tells {len(found.rows):,} of {found.total:,} profiles")
        return {
            "clusters": [{"id": name, "items": items[name]} for name in sorted(items)],
            **({"warnings": warnings} if warnings else {}),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def item_of(row: AvailableRow) -> dict[str, Any]:
    """Named by its fingerprint, as the AvailableCapacity objects of a cluster are not seen here."""
    digest = sha256(row.fingerprint.encode()).hexdigest()[:8]
    has_any = row.idle + row.speculative > 0
    return {
        "name": f"priority-{row.priority}-{digest}",
        "availableCount": row.idle + row.speculative,
        "availability": row.availability,
        "cost": f"{dollars_text(row.cost_per_hour)}/h" if has_any else "",
        **({"requirements": list(row.requirements)} if row.requirements else {}),
    }


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/available-capacity",
            "listAvailableCapacity",
            "How many free machines match each profile a cluster asks for, and what one costs.",
            AvailableRoutes(fleet).available,
            AvailableCapacity,
            compatible=True,
            example="/available-capacity",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
