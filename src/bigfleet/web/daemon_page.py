"""The page of one process: a shard shows itself, a coordinator the whole fleet."""

import ssl
from collections.abc import Mapping

from bigfleet.edge.logs import Log
from bigfleet.process import Process
from bigfleet.web.fleet import Face, Fleet
from bigfleet.web.live.rings import Rings
from bigfleet.web.members import Members
from bigfleet.web.page import Around, WebPage
from bigfleet.web.safety import WebPolicy
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.shard_admin import ShardAdminClient


class DaemonPage:
    def __init__(
        self,
        process: Process,
        address: str,
        policy: WebPolicy,
        tls: TlsFiles | None,
        asks: TlsFiles | None,
        log: Log,
        version: str,
        around: Around = lambda app: app,
    ) -> None:
        """`tls`: with which it is served; `asks`: with which it asks the fleet."""
        self._address = address
        self._coordinator: CoordinatorAdminClient | None = None
        self._members: Members | None = None
        self._shard: ShardAdminClient | None = None
        shards: Mapping[str, ShardAdminClient]
        face: Face = "shard"
        if process.component == "coordinator":
            face = "coordinator"
            self._coordinator = CoordinatorAdminClient([process.address], asks)
            self._members = Members(self._coordinator, asks)
            shards = self._members.clients
        else:
            self._shard = ShardAdminClient(process.address, asks)
            shards = {process.name: self._shard}
        rings = Rings()
        replicas = [process.address] if self._coordinator is not None else []
        fleet = Fleet(
            shards,
            self._coordinator,
            replicas,
            process.context.clock,
            face=face,
            version=version,
            writes=policy.writes,
            history=rings,
        )
        context = server_context(tls, policy) if tls is not None else None
        self._page = WebPage(
            fleet, rings, policy, log, members=self._members, tls=context, around=around
        )

    @property
    def port(self) -> int:
        return self._page.port

    def forget_who_left(self) -> None:
        self._page.live.hub.forget_who_left()

    async def start(self) -> int:
        """OSError where the address is taken."""
        return await self._page.start(self._address)

    async def stop(self) -> None:
        await self._page.stop()
        for client in (self._shard, self._coordinator, self._members):
            if client is not None:
                await client.close()


def server_context(tls: TlsFiles, policy: WebPolicy) -> ssl.SSLContext:
    """Callers show a certificate, or a token where there is one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls.cert, tls.key)
    context.load_verify_locations(tls.ca)
    context.verify_mode = ssl.CERT_OPTIONAL if policy.token else ssl.CERT_REQUIRED
    return context
