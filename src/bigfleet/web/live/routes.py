"""Routes of what is live: the stream of events, the map, and what was measured before."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bigfleet.model.durations import seconds_of
from bigfleet.web.answers import Json, error
from bigfleet.web.live.cost_series import PREFIX
from bigfleet.web.live.hub import Client, HubFull
from bigfleet.web.live.live import Live, known_topics
from bigfleet.web.live.maps import BYS, By
from bigfleet.web.live.rings import BOUND, COST, IDLE, TOTAL
from bigfleet.web.past import past_cycle
from bigfleet.web.problems import Problem

#: A comment after so long without an event: proxies close what is silent.
COMMENT_SECONDS = 15.0
_COMMENT = b": still here\n\n"
_RETRY = b"retry: 1000\n\n"
#: Seconds after which one that found no place may ask again.
RETRY_AFTER = "5"
#: Bytes from which a map is compressed.
_WORTH_PACKING = 64 * 1024
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

    async def fleet_map(self, request: Request) -> Response:
        asked = request.query_params.get("by", "zone")
        found: list[By] = [by for by in BYS if by == asked]
        if not found:
            text = f"by: {asked[:40]!r} is none of {', '.join(BYS)}"
            return error(HTTPStatus.BAD_REQUEST, text, field="by", remedy="name one of them")
        [by] = found
        at, shard = (request.query_params.get(name, "")[:300] for name in ("at", "shard"))
        try:
            past = past_cycle(self.live.fleet, at, shard) if at else None
            body = await (self.live.past_map_body(by, past) if past else self.live.map_body(by))
        except Problem as problem:
            return error(problem.status, problem.text, field=problem.field, remedy=problem.remedy)
        headers = {"cache-control": "no-store", "vary": "accept-encoding"}
        packs = "gzip" in request.headers.get("accept-encoding", "")
        if packs and len(body) > _WORTH_PACKING:
            body = await asyncio.to_thread(gzip.compress, body, 1, mtime=0)
            headers["content-encoding"] = "gzip"
        return Response(body, 200, headers, "application/octet-stream")

    async def history(self, request: Request) -> Response:
        seconds = _clamped(request.query_params.get("duration", ""), _HOUR, _DAY)
        step = _clamped(request.query_params.get("step", ""), 30, _HOUR)
        rings, now = self.live.rings, self.live.fleet.clock.now() // 1_000_000_000
        names = [name for name in rings.names() if not name.startswith(("shard/", PREFIX))]
        times, found = rings.series(names, now, seconds, step)

        def below(prefix: str) -> dict[str, Any]:
            shown = (each for each in found if each.startswith(prefix))
            return {name.removeprefix(prefix): found[name] for name in shown}

        none = [None] * len(times)
        single = (TOTAL, IDLE, "cycleP99Seconds", COST, BOUND)
        return Json(
            {
                "timestamps": times,
                "machinesByState": below("machines/"),
                "needsByState": below("needs/"),
                **{name: found.get(name, none) for name in single},
            }
        )


async def _told_within(news: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return False
    return True


def _clamped(text: str, otherwise: int, most: int) -> int:
    """Of a duration such as 30s; the default where it is none."""
    found = seconds_of(text) if text else None
    return otherwise if found is None or found < 1 else min(most, int(found))


def live_routes(live: Live) -> list[Route]:
    routes = LiveRoutes(live)
    return [
        Route("/stream", routes.stream),
        Route("/fleet/map", routes.fleet_map),
        Route("/fleet/history", routes.history),
    ]
