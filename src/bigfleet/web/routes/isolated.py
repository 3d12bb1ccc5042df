"""What one pool for all clusters saves against a pool for each of them, on the recorded demand."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.costs.isolated_totals import totals_document
from bigfleet.model.errors import BadInput
from bigfleet.model.instants import instant_of
from bigfleet.model.isolated import IsolatedCall, Split, call_of
from bigfleet.web.answers import queried_at
from bigfleet.web.departures import unless_gone
from bigfleet.web.fleet import Fleet
from bigfleet.web.further_schemas import Isolated
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import bad
from bigfleet.wire.isolated import ISOLATED_REPORT
from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE


@dataclass(frozen=True, slots=True)
class IsolatedRoutes:
    fleet: Fleet

    async def isolated(self, asked: Asked) -> dict[str, Any]:
        call = _call_of(asked)
        answers = await unless_gone(
            asked.request,
            self.fleet.ask(
                lambda client: client.isolated(call), asked.text("shard"), WHAT_IF_DEADLINE
            ),
        )
        told = answers.require()
        return {
            "reports": [
                {
                    "shardId": shard,
                    "report": ISOLATED_REPORT.document(each),
                    **totals_document(each),
                }
                for shard, each in told.said.items()
            ],
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def _call_of(asked: Asked) -> IsolatedCall:
    """Raises Problem."""
    try:
        headroom = float(asked.text("headroom") or 0)
    except ValueError:
        raise bad("headroom", "headroom is not a number; 0.1 means 10 %") from None
    times = []
    for name in ("from", "to"):
        said = asked.text(name)
        found = instant_of(said) if said else 0
        if found is None:
            raise bad(name, f"{said[:40]!r} is not a time; write 2026-11-18T14:00:00Z")
        times.append(found)
    try:
        return call_of(asked.text("split"), headroom, *times)
    except BadInput as problem:
        first = problem.problems[0]
        raise bad("to" if first.path == "until" else first.path, str(first)) from None


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/costs/isolated",
            "getIsolated",
            "What one pool saves against a pool per cluster, on the demand of the journal; the "
            "newest part of it, unless `from` says since when. Takes up to a minute.",
            IsolatedRoutes(fleet).isolated,
            Isolated,
            (
                Param(
                    "split",
                    "By what committed machines are divided.",
                    default=str(Split.PEAK),
                    choices=tuple(Split),
                ),
                Param(
                    "headroom",
                    "What an isolated pool keeps on top of its demand, 0 unless said; 0.1 is 10 %.",
                ),
                Param("from", "Since when, in RFC 3339."),
                Param("to", "Until when, in RFC 3339; now unless said."),
                Param("shard", "Only of this shard.", example="shard-0"),
            ),
            problems=(
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.NOT_FOUND,
                HTTPStatus.SERVICE_UNAVAILABLE,
            ),
            example="/costs/isolated?headroom=0.1",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
