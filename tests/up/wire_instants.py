"""Every instant in every answer of a fleet's services, found by the descriptors of the messages."""

from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2, shard_admin_pb2
from bigfleet.v1alpha1 import coordinator_pb2, shardread_pb2

SHARD_SERVICES = (
    shard_admin_pb2.DESCRIPTOR.services_by_name["ShardAdmin"].full_name,
    shardread_pb2.DESCRIPTOR.services_by_name["ShardRead"].full_name,
)
COORDINATOR_SERVICES = (
    coordinator_admin_pb2.DESCRIPTOR.services_by_name["CoordinatorAdmin"].full_name,
    coordinator_pb2.DESCRIPTOR.services_by_name["Coordinator"].full_name,
)
_READS = ("Get", "List", "Inspect", "Tail")
_ENDINGS = ("_unix_nanos", "_unix_ns")
#: What may lie ahead: ends, deadlines and next attempts.
_AHEAD = ("expires", "deadline", "next_", "accepts_after", "until")

Instants = dict[str, list[int]]


def lies_ahead(path: str) -> bool:
    return any(word in path.rpartition(".")[2] for word in _AHEAD)


async def instants_at(address: str, services: tuple[str, ...], **asked: Any) -> Instants:
    """By the place of the field; of every read, with the fields of `asked` where it has them."""
    found: Instants = {}
    async with grpc.aio.insecure_channel(address) as channel:
        for service in services:
            for method in Default().FindServiceByName(service).methods:
                if method.name.startswith(_READS):
                    async for answer in _answers(channel, method, asked):
                        for path, instant in _instants_in(answer, method.name):
                            found.setdefault(path, []).append(instant)
    return found


async def _answers(
    channel: grpc.aio.Channel, method: MethodDescriptor, asked: dict[str, Any]
) -> Any:
    request_type = message_factory.GetMessageClass(method.input_type)
    answer_type = message_factory.GetMessageClass(method.output_type)
    known = {field.name for field in method.input_type.fields}
    request = request_type(**{k: v for k, v in asked.items() if k in known})
    path = f"/{method.containing_service.full_name}/{method.name}"
    content = request.SerializeToString()
    if method.server_streaming:
        many: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(path)
        async for frame in many(content, timeout=30.0):
            yield answer_type.FromString(frame)
    else:
        one: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
        yield answer_type.FromString(await one(content, timeout=30.0))


def _instants_in(message: Message, path: str) -> Iterator[tuple[str, int]]:
    for field, value in message.ListFields():
        here = f"{path}.{field.name}"
        if field.name.endswith(_ENDINGS):
            yield here, value
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            several = isinstance(value, Message)
            for each in [value] if several else _messages_of(value):
                yield from _instants_in(each, here)


def _messages_of(value: Any) -> Iterator[Message]:
    rows = value.values() if hasattr(value, "values") else value
    return (row for row in rows if isinstance(row, Message))
