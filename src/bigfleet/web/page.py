"""A page that is served: its application, its server, and what keeps it current."""

import ssl
from collections.abc import Callable

from starlette.types import ASGIApp

from bigfleet.edge.logs import Log
from bigfleet.web.app import application
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.live import Live
from bigfleet.web.live.rings import Rings
from bigfleet.web.members import Members
from bigfleet.web.safety import WebPolicy
from bigfleet.web.server import WebServer

Around = Callable[[ASGIApp], ASGIApp]


class WebPage:
    def __init__(
        self,
        fleet: Fleet,
        rings: Rings,
        policy: WebPolicy,
        log: Log,
        *,
        members: Members | None = None,
        tls: ssl.SSLContext | None = None,
        around: Around = lambda app: app,
    ) -> None:
        """`rings`: where the fleet's history is kept; `members`: shards that come and go; `around`:
        what a load test puts around the application."""
        self.live = Live(fleet, rings, log, members)
        app = around(application(self.live, policy, log))
        self._server = WebServer(app, self.live.end_streams, tls)

    @property
    def port(self) -> int:
        return self._server.port

    async def start(self, address: str) -> int:
        """Its port; OSError where the address is taken."""
        port = await self._server.start(address)
        self.live.start()
        return port

    async def stop(self) -> None:
        """Ends open streams; returns within two seconds."""
        await self._server.stop()
        await self.live.stop()
