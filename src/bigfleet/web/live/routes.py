"""Routes of what is live: the stream of events, the map, and what was measured before."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bigfleet.web.answers import error
from bigfleet.web.further_schemas import HistoryShape
from bigfleet.web.live.cost_series import PREFIX
from bigfleet.web.live.hub import Client, HubFull
from bigfleet.web.live.live import Live, known_topics
from bigfleet.web.live.maps import BYS, By
from bigfleet.web.live.rings import BOUND, COST, IDLE, TOTAL
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.past import past_cycle

#: A comment after so long without an event: proxies close what is silent.
COMMENT_SECONDS = 15.0
_COMMENT = b": still here\n\n"
_RETRY = b"retry: 1000\n\n"
#: Seconds after which one that found no place may ask again.
RETRY_AFTER = "5"
#: Bytes from which a map is compressed.
_WORTH_PACKING = 64 * 1024
BINARY = "application/octet-stream"
_DAY, _HOUR = 24 * 3600, 3600


@dataclass(frozen=True, slots=True)
class LiveRoutes:
    live: Live

    async def stream(self, request: Request) -> Response:
        query = request.query_params
        by = query.get("by", "zone")
        topics = known_topics(query.get("topics", "overview"), by if by in BYS else "zone")
        if not topics:
            known = "overview, decisions, map, needs, costs, alerts, scenario"
            text = "topics names none that there is"
            return error(HTTPStatus.BAD_REQUEST, text, field="topics", remedy=f"name {known}")
        news = asyncio.Event()
        last_id = request.headers.get("last-event-id", "") or query.get("lastEventId", "")
        try:
            client = self.live.join(topics.values(), last_id[:80], news.set)
        except HubFull:
            text = "as many pages are open as may be"
            answer = error(HTTPStatus.SERVICE_UNAVAILABLE, text, remedy="close some of them")
            answer.headers["retry-after"] = RETRY_AFTER
            return answer
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(
            self._frames(client, news), 200, headers, media_type="text/event-stream"
        )

    async def _frames(self, client: Client, news: asyncio.Event) -> AsyncIterator[bytes]:
        try:
            yield _RETRY
            while True:
                if frames := client.take():
                    yield frames
                if client.is_closed or self.live.is_over:
                    return
                if not await _told_within(news, COMMENT_SECONDS):
                    yield _COMMENT
                news.clear()
        finally:
            self.live.leave(client)

    async def fleet_map(self, asked: Asked) -> Response:
        found: list[By] = [by for by in BYS if by == asked.text("by")]
        [by], at = found, asked.text("at")
        past = past_cycle(self.live.fleet, at, asked.text("shard")) if at else None
        body = await (self.live.past_map_body(by, past) if past else self.live.map_body(by))
        headers = {"cache-control": "no-store", "vary": "accept-encoding"}
        packs = "gzip" in asked.request.headers.get("accept-encoding", "")
        if packs and len(body) > _WORTH_PACKING:
            body = await asyncio.to_thread(gzip.compress, body, 1, mtime=0)
            headers["content-encoding"] = "gzip"
        return Response(body, 200, headers, BINARY)

    async def history(self, asked: Asked) -> dict[str, Any]:
        seconds = asked.duration("duration", _HOUR, _DAY)
        step = asked.duration("step", 30, _HOUR)
        rings, now = self.live.rings, self.live.fleet.clock.now() // 1_000_000_000
        names = [name for name in rings.names() if not name.startswith(("shard/", PREFIX))]
        times, found = rings.series(names, now, seconds, step)

        def below(prefix: str) -> dict[str, Any]:
            shown = (each for each in found if each.startswith(prefix))
            return {name.removeprefix(prefix): found[name] for name in shown}

        none = [None] * len(times)
        single = (TOTAL, IDLE, "cycleP99Seconds", COST, BOUND)
        return {
            "timestamps": times,
            "machinesByState": below("machines/"),
            "needsByState": below("needs/"),
            **{name: found.get(name, none) for name in single},
        }


async def _told_within(news: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return False
    return True


def operations(live: Live | None) -> list[Operation]:
    """None: only to be described, as in a document."""
    routes = LiveRoutes(cast(Live, live))
    return [
        Operation(
            "/fleet/map",
            "getFleetMap",
            "Every machine in a byte or two of each column; a JSON header says what they mean.",
            routes.fleet_map,
            dict[str, Any],
            (
                Param("by", "What machines are grouped by.", default="zone", choices=BYS),
                Param("at", "As of a past cycle of one shard, 18231 or 3:18231."),
                Param("shard", "With `at`: whose cycle it is.", example="shard-0"),
            ),
            media=(BINARY,),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/fleet/map?by=cluster",
        ),
        Operation(
            "/fleet/history",
            "getFleetHistory",
            "Machines and Needs by state, dollars and cycle times as they were; none is a gap.",
            routes.history,
            HistoryShape,
            (
                Param("duration", "How far back, at most a day.", default="1h", example="30m"),
                Param("step", "Between two samples, at most an hour.", default="30s"),
            ),
            example="/fleet/history?duration=30m",
        ),
    ]


def live_routes(live: Live) -> list[Route]:
    # Not an operation: a stream of events has no end and no shape of its own to be described by.
    stream = Route("/stream", LiveRoutes(live).stream)
    return [stream, *(each.route() for each in operations(live))]
