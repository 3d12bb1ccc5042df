"""The admin face of a provider on the wire: verbs with arguments in, JSON objects out.

One table names the verbs, the RPC each one is, and who may call it. A verb that writes needs an
owner and a reason. A handler gets the arguments under their field names, `owner` and `reason`
beside them; it returns a JSON object, whose `content`, if it is bytes, travels beside the JSON.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import grpc
import orjson
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import common_pb2
from bigfleet.admin.v1alpha1 import provider_admin_pb2 as pb
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire.handler_runner import HandlerRunner
from bigfleet.wire.rpcs import Answering, Gate, Kind, Rpc, RpcClient, Service, require

Argument = str | int | bool | bytes
Arguments = Mapping[str, Argument]
JsonObject = Mapping[str, object]
AdminHandler = Callable[[Arguments, Peer], Awaitable[JsonObject]]


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


@dataclass(frozen=True, eq=False, repr=False)
class VerbRpc(Rpc):
    """Its request names a verb's arguments, its answer is a ProviderAnswer."""

    request: type[Message]

    @property
    def writes(self) -> bool:
        return "audit" in self.request.DESCRIPTOR.fields_by_name


PROVIDER_ADMIN: Service[Mapping[Verb, AdminHandler]] = Service(
    "bigfleet.admin.v1alpha1.ProviderAdmin", "provider"
)


_TABLE: Mapping[Verb, tuple[str, type[Message], Gate]] = {
    Verb.MACHINES: ("ListMachines", pb.ListProviderMachinesRequest, Gate.READERS),
    Verb.OPS: ("ListOperations", pb.ListOperationsRequest, Gate.READERS),
    Verb.FENCES: ("ListFences", pb.ListFencesRequest, Gate.READERS),
    Verb.FAILED: ("ListFailed", pb.ListFailedRequest, Gate.READERS),
    Verb.PRUNE_FENCES: ("PruneFences", pb.PruneFencesRequest, Gate.ADMINS),
    Verb.REPAIR: ("RepairFailed", pb.RepairFailedRequest, Gate.ADMINS),
    Verb.ADOPT: ("AdoptFailed", pb.AdoptFailedRequest, Gate.ADMINS),
    Verb.FORGET: ("ForgetFailed", pb.ForgetFailedRequest, Gate.ADMINS),
    Verb.ACCEPT_DESCRIBE: ("AcceptDescribe", pb.AcceptDescribeRequest, Gate.ADMINS),
    # A state holds bindings and metadata of every cluster: not for the read-only role.
    Verb.EXPORT: ("ExportState", pb.ExportStateRequest, Gate.ADMINS),
    Verb.IMPORT: ("ImportState", pb.ImportStateRequest, Gate.ADMINS),
    Verb.BACKUP: ("BackupState", pb.BackupStateRequest, Gate.ADMINS),
}
RPCS: Mapping[Verb, VerbRpc] = {
    verb: PROVIDER_ADMIN.add(
        VerbRpc(PROVIDER_ADMIN, method, Kind.WRITE, gate, f"provider {verb}", request)
    )
    for verb, (method, request, gate) in _TABLE.items()
}


@dataclass(frozen=True, slots=True)
class AdminAnswer:
    answer: dict[str, object]
    content: bytes = b""


class ProviderAdminService:
    """Serves the verbs it has handlers for; the others are UNIMPLEMENTED."""

    name = PROVIDER_ADMIN.name

    def __init__(self, handlers: Mapping[Verb, AdminHandler]) -> None:
        self._handlers = handlers

    def rpc_handler(self, serving: HandlerRunner) -> grpc.GenericRpcHandler:
        served = {
            RPCS[verb].method: serving.writes(RPCS[verb].method, _answering(RPCS[verb], handler))
            for verb, handler in self._handlers.items()
        }
        return grpc.method_handlers_generic_handler(self.name, served)


def _answering(rpc: VerbRpc, handler: AdminHandler) -> Answering:
    async def answer(request: bytes, peer: Peer) -> bytes:
        require(rpc.gate, peer)
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


class ProviderAdminClient(RpcClient):
    async def do(self, verb: Verb, arguments: Arguments | None = None) -> AdminAnswer:
        """TypeError where the verb has no such argument; else what the provider says."""
        rpc = RPCS[verb]
        request = _request_of(rpc, arguments or {}).SerializeToString()
        content = await self.line.call(rpc.path, request, self.deadline)
        answer = pb.ProviderAnswer.FromString(content)
        return AdminAnswer(orjson.loads(answer.json or "{}"), answer.content)


def _request_of(rpc: VerbRpc, arguments: Arguments) -> Message:
    fields: dict[str, object] = dict(arguments)
    if rpc.writes:
        audit = {word: fields.pop(word, "") for word in ("owner", "reason")}
        fields["audit"] = audit
    known = rpc.request.DESCRIPTOR.fields_by_name
    if unknown := sorted(set(fields) - set(known)):
        raise TypeError(f"{rpc.method} takes no {', '.join(unknown)}")
    return rpc.request(**fields)
