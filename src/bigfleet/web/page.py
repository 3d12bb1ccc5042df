"""A page that is served: its application, its server, and what keeps it current."""

from bigfleet.edge.logs import Log
from bigfleet.web.app import application
from bigfleet.web.fleet import Fleet
from bigfleet.web.live.live import Live
from bigfleet.web.live.rings import Rings
from bigfleet.web.safety import WebPolicy
from bigfleet.web.server import WebServer


class WebPage:
    def __init__(self, fleet: Fleet, rings: Rings, policy: WebPolicy, log: Log) -> None:
        """`rings`: where the fleet's history is kept."""
        self.live = Live(fleet, rings, log)
        self._server = WebServer(application(self.live, policy, log), self.live.end_streams)

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
