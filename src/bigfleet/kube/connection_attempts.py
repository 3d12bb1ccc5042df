"""Connections that are broken off while they open are closed, at once.

Our own time limits and a stop cancel calls at any moment, also in the middle of a TLS handshake.
The library then forgets the socket beneath, and it stays open until it is collected: before a
server that does not answer, one for every attempt. Its trace, the documented way to see a
connection open, gives us that socket.
"""

from collections.abc import Mapping
from typing import Protocol

import httpx2


class _Stream(Protocol):
    async def aclose(self) -> None: ...


class _ConnectionAttempt:
    """What is known of the connection that one request may have to open."""

    def __init__(self) -> None:
        #: Connected, and nothing more yet.
        self._beneath: _Stream | None = None

    async def __call__(self, event: str, facts: Mapping[str, _Stream]) -> None:
        if event == "connection.connect_tcp.complete":
            self._beneath = facts["return_value"]
        elif event == "connection.start_tls.failed" and self._beneath is not None:
            await self._beneath.aclose()


class ClosedWhenBrokenOff(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "trace": _ConnectionAttempt()}
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
