"""A shard's line to a provider: call records out, records back, every failure a Rejected.

Deadlines where the caller gives none: 30 s for mutations and Get, 2 min for List.
"""

import asyncio
from collections.abc import Callable
from typing import Self, TypeVar

from grpc_health.v1 import health_pb2

from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.wire import provider_requests as requests
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.machines import ack_of, list_of, record_of

#: Method, request (a call record, a machine id, or raw bytes), code, answer (records or bytes;
#: Rejected where the code is not OK), seconds. Told once per finished call.
Record = Callable[[str, object, Code, object, float], None]
#: The records and the revision.
Listing = tuple[tuple[MachineRecord, ...], bytes]
T = TypeVar("T")

UNARY_DEADLINE = 30.0
LIST_DEADLINE = 120.0
_EVERYTHING = ListCall()
_HEALTH = "/grpc.health.v1.Health/Check"


class ProviderClient:
    def __init__(
        self, address: str, tls: TlsFiles | None = None, *, record: Record | None = None
    ) -> None:
        self._line = ClientLine(address, tls)
        self._record = record

    async def create(self, call: CreateCall, deadline: float = UNARY_DEADLINE) -> Ack:
        return await self._mutate("Create", call, deadline)

    async def configure(self, call: ConfigureCall, deadline: float = UNARY_DEADLINE) -> Ack:
        return await self._mutate("Configure", call, deadline)

    async def drain(self, call: DrainCall, deadline: float = UNARY_DEADLINE) -> Ack:
        return await self._mutate("Drain", call, deadline)

    async def delete(self, call: DeleteCall, deadline: float = UNARY_DEADLINE) -> Ack:
        return await self._mutate("Delete", call, deadline)

    async def get(self, machine_id: str, deadline: float = UNARY_DEADLINE) -> MachineRecord:
        request = requests.get_bytes(machine_id)
        return await self._call("Get", machine_id, request, record_of, deadline)

    async def list(self, call: ListCall = _EVERYTHING, deadline: float = LIST_DEADLINE) -> Listing:
        request = requests.list_request_bytes(call)
        return await self._call("List", call, request, list_of, deadline)

    async def list_bytes(
        self, call: ListCall = _EVERYTHING, deadline: float = LIST_DEADLINE
    ) -> bytes:
        """The serialised MachineList, for callers that decode it by columns."""
        request = requests.list_request_bytes(call)
        return await self._call("List", call, request, bytes, deadline)

    async def raw_call(
        self, method: str, request: bytes, deadline: float = UNARY_DEADLINE
    ) -> bytes:
        """Any bytes to any method of the service."""
        return await self._call(method, request, request, bytes, deadline)

    async def health(self, service: str = "", deadline: float = UNARY_DEADLINE) -> str:
        """SERVING, NOT_SERVING or another word of grpc.health.v1."""
        request = health_pb2.HealthCheckRequest(service=service).SerializeToString()
        return await self._call(_HEALTH, service, request, _health_word, deadline)

    async def connected(self, deadline: float = UNARY_DEADLINE) -> None:
        """Returns once the provider answers the line."""
        await self._line.connected(deadline)

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()

    async def _mutate(self, method: str, call: Mutation, deadline: float) -> Ack:
        return await self._call(method, call, requests.mutation_bytes(call), ack_of, deadline)

    async def _call(
        self,
        method: str,
        asked: object,
        request: bytes,
        read: Callable[[bytes], T],
        deadline: float,
    ) -> T:
        path = method if method.startswith("/") else f"/{requests.SERVICE}/{method}"
        began = asyncio.get_running_loop().time()
        try:
            answer = read(await self._line.call(path, request, deadline))
        except Rejected as rejected:
            self._tell(method, asked, rejected.code, rejected, began)
            raise
        except ValueError as problem:
            unread = Rejected(Code.INTERNAL, f"the answer to {method} cannot be read: {problem}")
            self._tell(method, asked, unread.code, unread, began)
            raise unread from None
        self._tell(method, asked, Code.OK, answer, began)
        return answer

    def _tell(self, method: str, asked: object, code: Code, answer: object, began: float) -> None:
        if self._record is not None:
            seconds = asyncio.get_running_loop().time() - began
            self._record(method, asked, code, answer, seconds)


def _health_word(answer: bytes) -> str:
    status = health_pb2.HealthCheckResponse.FromString(answer).status
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(status))
