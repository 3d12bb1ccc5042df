"""The coordinator's port: both services, health, and before them who leads and who may call.

A replica that does not lead says so before it looks at anything else, and says who does: only its
status is its own. An unknown RPC is refused by every replica.
"""

import asyncio
from contextlib import suppress

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection as grpc_reflection

from bigfleet.model.provider_calls import Peer, Rejected
from bigfleet.wire.authorisation import Authorisation
from bigfleet.wire.coordinator_admin import (
    COORDINATOR,
    COORDINATOR_ADMIN,
    GET_STATUS,
    JOIN_RAFT_CLUSTER,
)
from bigfleet.wire.coordinator_handlers import CoordinatorAdminHandler, CoordinatorHandler
from bigfleet.wire.handler_runner import Failed, HandlerRunner, Observe, ignore
from bigfleet.wire.lines import SERVER_OPTIONS, TlsFiles, bind
from bigfleet.wire.real_times import WireTimes, interceptors_of
from bigfleet.wire.rpc_service import RpcService

_LED = (f"/{COORDINATOR.name}/", f"/{COORDINATOR_ADMIN.name}/")
_OF_EVERY_REPLICA = (GET_STATUS.path, JOIN_RAFT_CLUSTER.path)
#: What the end of all streams, and of what is being written, may take beyond the grace at a stop.
STOP_MARGIN_SECONDS = 4.0


class CoordinatorEndpoint:
    def __init__(
        self,
        handler: CoordinatorHandler,
        admin: CoordinatorAdminHandler,
        *,
        address: str = "127.0.0.1:0",
        tls: TlsFiles | None = None,
        reflection: bool = True,
        observe: Observe | None = None,
        failed: Failed | None = None,
        times: WireTimes | None = None,
    ) -> None:
        self._times = times
        self._handler = handler
        self._address = address
        self._tls = tls
        self._reflection = reflection
        self._services = (
            RpcService(COORDINATOR, handler),
            RpcService(COORDINATOR_ADMIN, admin),
        )
        self._observe = observe or ignore
        self._serving = HandlerRunner(secured=tls is not None, observe=observe, failed=failed)
        self._health = health.aio.HealthServicer()
        self._server: grpc.aio.Server | None = None
        #: 0 until started.
        self.port = 0

    async def start(self) -> int:
        """The port; OSError where the address is taken or the certificates do not fit."""
        guard = Authorisation(
            secured=self._tls is not None, denied=self._denied, first=self._require_leader
        )
        self._server = server = grpc.aio.server(
            interceptors=interceptors_of(guard, self._times), options=SERVER_OPTIONS
        )
        handlers = [service.rpc_handler(self._serving) for service in self._services]
        server.add_generic_rpc_handlers(tuple(handlers))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        if self._reflection:
            names = [*(service.name for service in self._services), health.SERVICE_NAME]
            grpc_reflection.enable_server_reflection((*names, grpc_reflection.SERVICE_NAME), server)
        self.port = bind(server, self._address, self._tls)
        await self._health.set("", health_pb2.HealthCheckResponse.SERVING)
        await self.set_leader_known(False)
        await server.start()
        return self.port

    async def set_leader_known(self, known: bool) -> None:
        """Whether a caller can be answered, here or by the one it is sent to."""
        status = health_pb2.HealthCheckResponse
        await self._health.set(COORDINATOR.name, status.SERVING if known else status.NOT_SERVING)

    async def stop(self, grace: float = 0.0) -> None:
        """No new calls; running ones get the grace, and those that write some seconds more."""
        await self._health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
        await self.set_leader_known(False)
        with suppress(TimeoutError):
            async with asyncio.timeout(grace + STOP_MARGIN_SECONDS):
                if self._server is not None:
                    await self._server.stop(grace)
                await self._serving.settled()

    def _require_leader(self, path: str) -> None:
        if path.startswith(_LED) and path not in _OF_EVERY_REPLICA:
            self._handler.require_leader()

    def _denied(self, path: str, _peer: Peer, rejected: Rejected) -> None:
        self._observe(path.rpartition("/")[2], rejected.code, 0.0)
