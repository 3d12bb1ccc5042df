"""A page that is served: its application, its server, and what keeps it current."""

from bigfleet.edge.logs import Log
from bigfleet.web.app import application
from bigfleet.web.fleet import Fleet
from bigfleet.web.safety import WebPolicy
from bigfleet.web.server import WebServer


class WebPage:
    def __init__(self, fleet: Fleet, policy: WebPolicy, log: Log) -> None:
        self.fleet = fleet
        self._server = WebServer(application(fleet, policy, log), lambda: None)

    @property
    def port(self) -> int:
        return self._server.port

    async def start(self, address: str) -> int:
        """Its port; OSError where the address is taken."""
        return await self._server.start(address)

    async def stop(self) -> None:
        """Ends open streams; returns within two seconds."""
        await self._server.stop()
