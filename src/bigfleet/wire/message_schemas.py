"""JSON schemas of messages as documents (`message_document`): made from their fields."""

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as coordinator
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as shard

#: What answers name; what these hold comes with them.
_ROOTS = (
    shard.ShardStatus,
    shard.MachineView,
    shard.StoryEvent,
    shard.OfferingView,
    shard.Quarantine,
    shard.ThrashFinding,
    shard.Regret,
    shard.GetIsolatedResponse,
    shard.Statement,
    shard.StatementGap,
    shard.Forecast,
    shard.GetVerifierResponse,
    shared.Reason,
    shared.Pause,
    shared.QuotaAllocation,
    coordinator.Transfer,
    coordinator.ShortfallView,
)
_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_TYPES = {
    FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
}
Schema = dict[str, Any]


def message_schemas(ref: str) -> dict[str, Schema]:
    """By the message's name; `ref`: how one schema names another, with {name}."""
    found: dict[str, Schema] = {}
    waiting = [each.DESCRIPTOR for each in _ROOTS]
    while waiting:
        message = waiting.pop()
        if message.name not in found:
            found[message.name] = _schema(message, ref, waiting)
    return dict(sorted(found.items()))


def _schema(message: Descriptor, ref: str, waiting: list[Descriptor]) -> Schema:
    fields = {each.json_name: _field(each, ref, waiting) for each in message.fields}
    needed = [each.json_name for each in message.fields if not each.has_presence]
    schema: Schema = {"type": "object", "properties": fields}
    return {**schema, "required": needed} if needed else schema


def _field(field: FieldDescriptor, ref: str, waiting: list[Descriptor]) -> Schema:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        held = _one(entry.fields_by_name["value"], ref, waiting)
        return {"type": "object", "additionalProperties": held}
    one = _one(field, ref, waiting)
    return {"type": "array", "items": one} if field.is_repeated else one


def _one(field: FieldDescriptor, ref: str, waiting: list[Descriptor]) -> Schema:
    if field.message_type is not None:
        waiting.append(field.message_type)
        return {"$ref": ref.format(name=field.message_type.name)}
    if field.enum_type is not None:
        # A number of a later version stays a number.
        return {"type": ["string", "integer"]}
    if field.cpp_type in _FLOATS:
        return {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
    return _TYPES.get(field.cpp_type, {"type": "integer"})
