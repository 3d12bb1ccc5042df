"""The admin face of a provider on the wire: verbs with arguments in, JSON objects out.

One table names the verbs, the RPC each one is, and who may call it. A verb that writes needs an
owner and a reason. A handler gets the arguments under their field names, `owner` and `reason`
beside them; it returns a JSON object, whose `content`, if it is bytes, travels beside the JSON.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import grpc
import orjson
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import common_pb2
from bigfleet.admin.v1alpha1 import provider_admin_pb2 as pb
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire.audits import require_admin, require_reader
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.rpcs import Answering

Argument = str | int | bool | bytes
Arguments = Mapping[str, Argument]
JsonObject = Mapping[str, object]
AdminHandler = Callable[[Arguments, Peer], Awaitable[JsonObject]]

SERVICE = "bigfleet.admin.v1alpha1.ProviderAdmin"


class Verb(StrEnum):
    MACHINES = "machines"
    OPS = "ops"
    FENCES = "fences"
    FAILED = "failed"
    PRUNE_FENCES = "fences prune"
    REPAIR = "failed repair"
    ADOPT = "failed adopt"
    FORGET = "failed forget"
    ACCEPT_DESCRIBE = "describe accept"
    EXPORT = "state export"
    IMPORT = "state import"
    BACKUP = "state backup"


@dataclass(frozen=True, slots=True)
class _Rpc:
    method: str
    request: type[Message]
    gate: Callable[[Peer], None]

    @property
    def path(self) -> str:
        return f"/{SERVICE}/{self.method}"

    @property
    def writes(self) -> bool:
        return "audit" in self.request.DESCRIPTOR.fields_by_name


RPCS: Mapping[Verb, _Rpc] = {
    Verb.MACHINES: _Rpc("ListMachines", pb.ListProviderMachinesRequest, require_reader),
    Verb.OPS: _Rpc("ListOperations", pb.ListOperationsRequest, require_reader),
    Verb.FENCES: _Rpc("ListFences", pb.ListFencesRequest, require_reader),
    Verb.FAILED: _Rpc("ListFailed", pb.ListFailedRequest, require_reader),
    Verb.PRUNE_FENCES: _Rpc("PruneFences", pb.PruneFencesRequest, require_admin),
    Verb.REPAIR: _Rpc("RepairFailed", pb.RepairFailedRequest, require_admin),
    Verb.ADOPT: _Rpc("AdoptFailed", pb.AdoptFailedRequest, require_admin),
    Verb.FORGET: _Rpc("ForgetFailed", pb.ForgetFailedRequest, require_admin),
    Verb.ACCEPT_DESCRIBE: _Rpc("AcceptDescribe", pb.AcceptDescribeRequest, require_admin),
    # A state holds bindings and metadata of every cluster: not for the read-only role.
    Verb.EXPORT: _Rpc("ExportState", pb.ExportStateRequest, require_admin),
    Verb.IMPORT: _Rpc("ImportState", pb.ImportStateRequest, require_admin),
    Verb.BACKUP: _Rpc("BackupState", pb.BackupStateRequest, require_admin),
}


@dataclass(frozen=True, slots=True)
class AdminAnswer:
    answer: dict[str, object]
    content: bytes = b""


class ProviderAdminService:
    """Serves the verbs it has handlers for; the others are UNIMPLEMENTED."""

    name = SERVICE

    def __init__(self, handlers: Mapping[Verb, AdminHandler]) -> None:
        self._handlers = handlers

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        served = {
            RPCS[verb].method: serving.writes(RPCS[verb].method, _answering(RPCS[verb], handler))
            for verb, handler in self._handlers.items()
        }
        return grpc.method_handlers_generic_handler(SERVICE, served)


def _answering(rpc: _Rpc, handler: AdminHandler) -> Answering:
    async def answer(request: bytes, peer: Peer) -> bytes:
        rpc.gate(peer)
        message = rpc.request()
        message.ParseFromString(request)
        arguments = _arguments_of(message)
        if rpc.writes and not (arguments["owner"] and arguments["reason"]):
            raise Rejected(Code.INVALID_ARGUMENT, "who changes this, and why? both are needed")
        fields = dict(await handler(arguments, peer))
        content = fields.pop("content", b"")
        json = orjson.dumps(fields).decode()
        return pb.ProviderAnswer(
            json=json, content=content if isinstance(content, bytes) else b""
        ).SerializeToString()

    return answer


def _arguments_of(message: Message) -> dict[str, Argument]:
    found: dict[str, Argument] = {}
    for name in message.DESCRIPTOR.fields_by_name:
        value = getattr(message, name)
        if isinstance(value, common_pb2.Audit):
            found |= {"owner": value.owner, "reason": value.reason}
        else:
            found[name] = value
    return found


class ProviderAdminClient:
    def __init__(self, address: str, tls: TlsFiles | None = None) -> None:
        self._line = ClientLine(address, tls)

    async def do(
        self, verb: Verb, arguments: Arguments | None = None, deadline: float = 30.0
    ) -> AdminAnswer:
        """TypeError where the verb has no such argument; else what the provider says."""
        rpc = RPCS[verb]
        request = _request_of(rpc, arguments or {}).SerializeToString()
        answer = pb.ProviderAnswer.FromString(await self._line.call(rpc.path, request, deadline))
        return AdminAnswer(orjson.loads(answer.json or "{}"), answer.content)

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()


def _request_of(rpc: _Rpc, arguments: Arguments) -> Message:
    fields: dict[str, object] = dict(arguments)
    if rpc.writes:
        audit = {word: fields.pop(word, "") for word in ("owner", "reason")}
        fields["audit"] = audit
    known = rpc.request.DESCRIPTOR.fields_by_name
    if unknown := sorted(set(fields) - set(known)):
        raise TypeError(f"{rpc.method} takes no {', '.join(unknown)}")
    return rpc.request(**fields)
