"""The HTTP server of the page, in the event loop of the process that shows it.

uvicorn without what belongs to the process: signals, logs and the loop. Streams end first at a
stop, so that none of them holds it up.
"""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from bigfleet.model.provider_calls import Peer
from bigfleet.web.safety import PEER

#: Open connections; streams are at most 256 of them.
MOST_CONNECTIONS = 512
KEEP_ALIVE_SECONDS = 30
#: What a request gets to end at a stop.
STOP_SECONDS = 1
#: Bytes of a request line and its headers.
LARGEST_HEAD = 16 * 1024


class _Protocol(H11Protocol):
    """Tells the application by which certificate a request comes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if (secured := transport.get_extra_info("ssl_object")) is not None:
            self.app_state = {**self.app_state, PEER: peer_in(secured.getpeercert() or {})}


def peer_in(certificate: Mapping[str, Any]) -> Peer:
    """Several `bigfleet:` names are as good as none; without a certificate it is unknown."""
    if not certificate:
        return Peer()
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "URI"]
    ours = [name for name in names if name.startswith("bigfleet:")]
    return Peer(ours[0] if len(ours) == 1 else None, authenticated=True)


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's business."""
        yield


class WebServer:
    def __init__(
        self, app: ASGIApp, end_streams: Callable[[], None], tls: ssl.SSLContext | None = None
    ) -> None:
        """`end_streams`: called at a stop."""
        self._app = app
        self._end_streams = end_streams
        self._tls = tls
        self._server: _Uvicorn | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port = 0

    async def start(self, address: str) -> int:
        """Its port; OSError where the address is taken or is none."""
        # What it would say, an answer says to the one that asked.
        logging.getLogger("uvicorn.error").disabled = True
        listening = bound(address)
        self.port = int(listening.getsockname()[1])
        tls = self._tls
        config = uvicorn.Config(
            self._app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
            h11_max_incomplete_event_size=LARGEST_HEAD,
            ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        )
        self._server = _Uvicorn(config)
        self._serving = asyncio.create_task(self._server.serve([listening]), name="web")
        return self.port

    async def stop(self) -> None:
        """Returns within two seconds; a second call is harmless."""
        self._end_streams()
        server, serving = self._server, self._serving
        if server is None or serving is None:
            return
        server.should_exit = True
        await asyncio.wait({serving}, timeout=STOP_SECONDS + 1)
        for connection in tuple(server.server_state.connections):
            connection.transport.abort()
        serving.cancel()


def bound(address: str) -> socket.socket:
    """A listening socket. OSError that names the address, and what to do."""
    host, _, port = address.rpartition(":")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host.strip("[]") or "127.0.0.1", int(port)))
            listening.listen(128)
            listening.setblocking(False)
        except BaseException:
            listening.close()
            raise
    except OSError as problem:
        known = os.strerror(problem.errno) if problem.errno and problem.errno > 0 else problem
        text = f"cannot serve the page on {address}: {known}; free that address, or choose another"
        told = OSError(text)
        told.errno = problem.errno
        raise told from problem
    except (ValueError, OverflowError):
        text = "it is not HOST:PORT with a port from 0 to 65535; name another"
        raise OSError(f"cannot serve the page on {address}: {text}") from None
    return listening
