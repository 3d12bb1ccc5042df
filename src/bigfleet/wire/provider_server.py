"""A provider's line to its shards: requests in as call records, answers out as ready bytes.

The provider decides; this only carries. A mutation that has begun is finished although its caller
hung up, so that it is applied wholly or not at all. Health says NOT_SERVING until `set_serving`.
"""

from collections.abc import Sequence
from typing import Protocol

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection as grpc_reflection

from bigfleet.model.provider_calls import (
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    Peer,
)
from bigfleet.wire import provider_requests as requests
from bigfleet.wire.handler_runner import Failed, HandlerRunner, Observe
from bigfleet.wire.lines import SERVER_OPTIONS, TlsFiles, bind


class ProviderHandler(Protocol):
    """What answers. Each raises Rejected where the contract says so and returns serialised bytes:
    a TransitionAck, a Machine, a MachineList."""

    async def create(self, call: CreateCall, peer: Peer) -> bytes: ...
    async def configure(self, call: ConfigureCall, peer: Peer) -> bytes: ...
    async def drain(self, call: DrainCall, peer: Peer) -> bytes: ...
    async def delete(self, call: DeleteCall, peer: Peer) -> bytes: ...
    async def get(self, machine_id: str, peer: Peer) -> bytes: ...
    async def list(self, call: ListCall, peer: Peer) -> bytes: ...


class ExtraService(Protocol):
    """Another service on the same port, such as the admin face."""

    @property
    def name(self) -> str: ...
    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler: ...


class ProviderEndpoint:
    def __init__(
        self,
        handler: ProviderHandler,
        *,
        address: str = "127.0.0.1:0",
        tls: TlsFiles | None = None,
        reflection: bool = True,
        extra_services: Sequence[ExtraService] = (),
        observe: Observe | None = None,
        failed: Failed | None = None,
    ) -> None:
        self._handler = handler
        self._address = address
        self._tls = tls
        self._reflection = reflection
        self._extra_services = extra_services
        self._serving = HandlerRunner(secured=tls is not None, observe=observe, failed=failed)
        self._health = health.aio.HealthServicer()
        self._server: grpc.aio.Server | None = None
        #: 0 until started.
        self.port = 0

    async def start(self) -> int:
        """The port; OSError where the address is taken or the certificates do not fit."""
        self._server = server = grpc.aio.server(options=SERVER_OPTIONS)
        extra = [service.rpc_handler(self._serving) for service in self._extra_services]
        server.add_generic_rpc_handlers((_provider_rpcs(self._handler, self._serving), *extra))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        if self._reflection:
            extra_names = [service.name for service in self._extra_services]
            names = [requests.SERVICE, *extra_names, health.SERVICE_NAME]
            grpc_reflection.enable_server_reflection((*names, grpc_reflection.SERVICE_NAME), server)
        self.port = bind(server, self._address, self._tls)
        await self.set_serving(False)
        await server.start()
        return self.port

    async def set_serving(self, serving: bool) -> None:
        status = health_pb2.HealthCheckResponse
        word = status.SERVING if serving else status.NOT_SERVING
        for service in ("", requests.SERVICE):
            await self._health.set(service, word)

    async def stop(self, grace: float = 0.0) -> None:
        """No new calls; running ones get the grace, and mutations are finished in any case."""
        await self.set_serving(False)
        if self._server is not None:
            await self._server.stop(grace)
        await self._serving.settled()


def _provider_rpcs(handler: ProviderHandler, serving: HandlerRunner) -> grpc.GenericRpcHandler:
    async def create(request: bytes, peer: Peer) -> bytes:
        return await handler.create(requests.create_call(request), peer)

    async def configure(request: bytes, peer: Peer) -> bytes:
        return await handler.configure(requests.configure_call(request), peer)

    async def drain(request: bytes, peer: Peer) -> bytes:
        return await handler.drain(requests.drain_call(request), peer)

    async def delete(request: bytes, peer: Peer) -> bytes:
        return await handler.delete(requests.delete_call(request), peer)

    async def get(request: bytes, peer: Peer) -> bytes:
        return await handler.get(requests.machine_id_of(request), peer)

    async def list_(request: bytes, peer: Peer) -> bytes:
        return await handler.list(requests.list_call(request), peer)

    return grpc.method_handlers_generic_handler(
        requests.SERVICE,
        {
            "Create": serving.writes("Create", create),
            "Configure": serving.writes("Configure", configure),
            "Drain": serving.writes("Drain", drain),
            "Delete": serving.writes("Delete", delete),
            "Get": serving.reads("Get", get),
            "List": serving.reads("List", list_),
        },
    )
