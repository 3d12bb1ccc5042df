"""Answers of the server, changed on their way to a tab: a real fleet is rarely in every state.

The requests are real, and so is every answer that is not changed.
"""

import asyncio
import json
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.async_api import Page, Route

#: `(path below /api/v1, answer)`, the new answer out.
Change = Callable[[str, Any], Any]

EVERYTHING = ""
_API = "/api/v1"
_STREAM = "/stream"
#: What is asked beside the content of a page: without it no page knows which shards there are.
_ASIDE = (_STREAM, "/status", "/search")
_MAP = "/fleet/map"
_HEAD = struct.Struct("<I")
_ROOM = 16 * 1024


class Answers:
    """Of one tab. The newest change of a path counts; `as_they_are` takes all away."""

    def __init__(self, tab: Page) -> None:
        self._tab = tab

    async def as_they_are(self) -> None:
        await self._tab.unroute_all(behavior="ignoreErrors")

    async def without_stream(self) -> None:
        """Else a page that is refused an answer hears it from there."""
        await self._route(_STREAM, lambda route: route.abort("connectionrefused"))

    async def streamed(self, *events: tuple[str, Mapping[str, Any]]) -> None:
        """These and then the end, again and again, instead of the stream."""
        body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
        headers = {"content-type": "text/event-stream"}
        await self._route(_STREAM, lambda route: route.fulfill(body=body, headers=headers))

    async def held(self, path: str = EVERYTHING) -> asyncio.Event:
        """Nothing comes before the event is set."""
        may_come = asyncio.Event()

        async def wait(route: Route) -> None:
            await may_come.wait()
            await route.continue_()

        await self._route(path, wait)
        return may_come

    async def refused(self, path: str, status: int, error: str, remedy: str) -> None:
        body = {"error": error, "remedy": remedy}
        await self._route(path, lambda route: route.fulfill(status=status, json=body))

    async def unreachable(self, path: str = EVERYTHING) -> None:
        await self._route(path, lambda route: route.abort("connectionrefused"))

    async def fixed(self, path: str, body: Any) -> None:
        await self._route(path, lambda route: route.fulfill(json=body))

    async def changed(self, change: Change, path: str = EVERYTHING) -> None:
        """The server's own, changed; of a map it is the header that changes."""

        async def answer(route: Route) -> None:
            response = await route.fetch()
            where = _below_api(route.request.url)
            if not response.ok:
                await route.fulfill(response=response)
            elif where == _MAP:
                await route.fulfill(response=response, body=_map(await response.body(), change))
            else:
                told = change(where, await response.json())
                await route.fulfill(response=response, json=told)

        await self._route(path, answer)

    async def _route(self, path: str, answer: Callable[[Route], Any]) -> None:
        def is_meant(url: str) -> bool:
            where = _below_api(url)
            if path == EVERYTHING:
                return where != "" and where not in _ASIDE
            return where == path or re.fullmatch(path, where) is not None

        await self._tab.route(is_meant, answer)


def _below_api(url: str) -> str:
    """Empty: it is not an answer of the fleet."""
    path = unquote(urlsplit(url).path)
    return path.removeprefix(_API) if path.startswith(_API + "/") else ""


def _map(body: bytes, change: Change) -> bytes:
    """With room for a longer header: offsets count from the beginning of the answer."""
    [size] = _HEAD.unpack_from(body)
    start = _HEAD.size + size
    header = change(_MAP, json.loads(body[_HEAD.size : start]))
    for column in header["columns"]:
        column["offset"] += _ROOM
    header["ids"]["offset"] += _ROOM
    packed = json.dumps(header).encode().ljust(size + _ROOM)
    assert len(packed) == size + _ROOM, "the header has grown beyond its room"
    return _HEAD.pack(len(packed)) + packed + body[start:]


def emptied(path: str, body: Any) -> Any:
    """As of a fleet of nothing."""
    if path == "/scenario":
        why = "the tour is about one pool; start it with one shard"
        nothing: dict[str, list[Any]] = {"demand": [], "faults": [], "running": [], "notHere": []}
        tour = {"available": False, "why": why}
        return {**body, "tour": tour, "assertions": [], "controls": nothing}
    if path == _MAP:
        return {**body, "count": 0, "groups": []}
    kept = {key: body[key] for key in ("cycle", "epoch") if key in body}
    return {key: _nothing(value) for key, value in body.items() if key != "next"} | kept


def _nothing(value: Any) -> Any:
    if isinstance(value, list):
        return []
    if isinstance(value, dict):
        return {key: _nothing(each) for key, each in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0
    return value


def warned(warning: str) -> Change:
    return lambda _path, body: {**body, "warnings": [warning]}


def rebuilding(path: str, body: Any) -> Any:
    """Of a shard that has started and not decided yet."""
    if path == "/fleet/overview":
        return {**emptied(path, body), "demandMetFraction": None, "rebuilding": True}
    return {**emptied(path, body), "cycle": 0} if path == "/needs" else body
