"""A transport whose requests are never broken off half way.

Whoever is cancelled while httpx opens a connection leaves a socket nobody closes, and the warning
about it fails whatever test runs when it is collected. Here the caller goes and the request comes
to its end.
"""

import asyncio

import httpx2


class Unhurried(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        #: Requests whose caller has gone.
        self._left: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = asyncio.create_task(self._inner.handle_async_request(request))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            left = asyncio.create_task(_ended(asked))
            self._left.add(left)
            left.add_done_callback(self._left.discard)
            raise

    async def aclose(self) -> None:
        """Each has a time limit of its own, so this has one too."""
        await asyncio.gather(*self._left)
        await self._inner.aclose()


async def _ended(asked: asyncio.Task[httpx2.Response]) -> None:
    """Nobody is left to be told how it went."""
    await asyncio.wait({asked})
    if not asked.cancelled() and asked.exception() is None:
        await asked.result().aclose()
