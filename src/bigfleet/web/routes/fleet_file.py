"""The live fleet as a fleet file, sent as it comes: what `bigfleet snapshot fleet` writes."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus

from starlette.responses import StreamingResponse
from starlette.routing import Route

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.web.fleet import DEADLINE_SECONDS, Fleet, not_found, problem_of
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import bad

LINES = "application/x-ndjson"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9.-]")


@dataclass(frozen=True, slots=True)
class FleetFileRoutes:
    fleet: Fleet

    async def file(self, asked: Asked) -> StreamingResponse:
        shard = self._shard(asked.text("shard"))
        pieces = self.fleet.shards[shard].fleet()
        try:
            # A shard that has nothing to tell says so before the file begins.
            first = await _next(pieces)
        except Rejected as why:
            await pieces.aclose()
            raise problem_of(why, f"shard {shard}") from None
        name = f"{_NOT_IN_A_NAME.sub('-', shard)}.jsonl"
        headers = {
            "content-disposition": f'attachment; filename="{name}"',
            "cache-control": "no-store",
        }
        return StreamingResponse(_whole(first, pieces), 200, headers, media_type=LINES)

    def _shard(self, named: str) -> str:
        known = sorted(self.fleet.shards)
        if named and named not in known:
            raise not_found("shard", named, known)
        if not named and len(known) != 1:
            some = ", ".join(known[:8]) or "none is known yet"
            text = "a fleet file is of one shard; bigfleet snapshot fleet writes one of all"
            raise bad("shard", text, f"name one: {some}")
        return named or known[0]


async def _whole(first: bytes, pieces: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """A file that breaks off is cut in the middle, and the browser says that it is not whole."""
    async with aclosing(pieces):
        piece = first
        while piece:
            yield piece
            piece = await _next(pieces)


async def _next(pieces: AsyncGenerator[bytes, None]) -> bytes:
    """Empty at the end; raises Rejected."""
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await anext(pieces, b"")
    except TimeoutError:
        text = f"no piece of the fleet within {DEADLINE_SECONDS:g} s"
        raise Rejected(Code.DEADLINE_EXCEEDED, text) from None


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/fleet/file",
            "getFleetFile",
            "A shard's last cycle as a fleet file in lines of JSON, for `bigfleet plan` and "
            "`bigfleet whatif --fleet`.",
            FleetFileRoutes(fleet).file,
            str,
            (
                Param(
                    "shard", "Of this shard; may be left out where there is one.", example="shard-0"
                ),
            ),
            problems=(
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.NOT_FOUND,
                HTTPStatus.SERVICE_UNAVAILABLE,
            ),
            media=(LINES,),
            example="/fleet/file?shard=shard-0",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
