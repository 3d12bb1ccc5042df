"""Compiled .proto files as text a person can compare: names, numbers, types, reserved, RPCs."""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

from bigfleet.admin.v1alpha1 import (
    common_pb2,
    coordinator_admin_pb2,
    provider_admin_pb2,
    shard_admin_pb2,
)
from bigfleet.v1alpha1 import capacity_pb2, coordinator_pb2, provider_pb2, shard_pb2, shardread_pb2

CONTRACT = (capacity_pb2, provider_pb2, shard_pb2, coordinator_pb2, shardread_pb2)
ADMIN = (common_pb2, coordinator_admin_pb2, provider_admin_pb2, shard_admin_pb2)

Type = FieldDescriptorProto.Type


def files_of(modules: tuple[object, ...]) -> list[FileDescriptorProto]:
    found = []
    for module in modules:
        proto = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(proto)  # type: ignore[attr-defined]
        found.append(proto)
    return found


def text_of(file: FileDescriptorProto) -> list[str]:
    """Sorted by name inside each kind, so that moving a message changes nothing."""
    lines = [f"file {file.name}", f"  package {file.package}", f"  syntax {file.syntax}"]
    lines += [f"  import {name}" for name in sorted(file.dependency)]
    for enum in sorted(file.enum_type, key=lambda e: e.name):
        lines += _enum(enum, "")
    for message in sorted(file.message_type, key=lambda m: m.name):
        lines += _message(message, "")
    for service in sorted(file.service, key=lambda s: s.name):
        lines += _service(service)
    return lines


def _enum(enum: EnumDescriptorProto, owner: str) -> Iterator[str]:
    yield f"enum {owner}{enum.name}"
    yield from (f"  {value.number} {value.name}" for value in enum.value)


def _message(message: DescriptorProto, owner: str) -> Iterator[str]:
    maps = {m.name: m for m in message.nested_type if m.options.map_entry}
    yield f"message {owner}{message.name}"
    for field in sorted(message.field, key=lambda f: f.number):
        yield f"  {field.number} {field.name}: {_type(field, message, maps)}"
    for span in message.reserved_range:
        yield from (f"  reserved {number}" for number in range(span.start, span.end))
    yield from (f'  reserved "{name}"' for name in message.reserved_name)
    for enum in message.enum_type:
        yield from _enum(enum, f"{message.name}.")
    for inner in message.nested_type:
        if inner.name not in maps:
            yield from _message(inner, f"{message.name}.")


def _type(
    field: FieldDescriptorProto, message: DescriptorProto, maps: dict[str, DescriptorProto]
) -> str:
    word = field.type_name.removeprefix(".") or Type.Name(field.type)[len("TYPE_") :].lower()
    if (entry := maps.get(word.rpartition(".")[2])) is not None:
        key, value = (_type(f, entry, {}) for f in entry.field)
        return f"map<{key},{value}>"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"rep {word}"
    if field.proto3_optional:
        return f"optional {word}"
    if field.HasField("oneof_index"):
        return f"{word} of {message.oneof_decl[field.oneof_index].name}"
    return word


def _service(service: ServiceDescriptorProto) -> Iterator[str]:
    yield f"service {service.name}"
    for rpc in sorted(service.method, key=lambda m: m.name):
        asks = "stream " * rpc.client_streaming + rpc.input_type.removeprefix(".")
        answers = "stream " * rpc.server_streaming + rpc.output_type.removeprefix(".")
        yield f"  {rpc.name}({asks}) -> {answers}"
