"""What a shard shows, as documents for programs: its own messages with lowerCamelCase names.

As protobuf's JSON reads them, but that 64-bit numbers stay numbers: a document can be read back
into the message it was made from. Fields that may be absent are absent; all others are there.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from bigfleet.model.pauses import Pause
from bigfleet.model.shard_views import (
    MachineView,
    NeedRow,
    NeedView,
    OfferingView,
    Quarantine,
    SessionView,
    ShardStatus,
    StoryEvent,
)
from bigfleet.wire import shard_views as views
from bigfleet.wire.machine_views import machine_view_message
from bigfleet.wire.need_listings import need_row_message
from bigfleet.wire.shard_read import need_view_message

Document = dict[str, Any]
Shown = (
    ShardStatus
    | Pause
    | SessionView
    | MachineView
    | StoryEvent
    | Quarantine
    | OfferingView
    | NeedView
)

_MESSAGE_OF: Mapping[type, Callable[[Any], Message]] = {
    ShardStatus: views.status_message,
    Pause: views.pause_message,
    SessionView: views.session_message,
    MachineView: machine_view_message,
    StoryEvent: views.event_message,
    Quarantine: views.quarantine_message,
    OfferingView: views.offering_message,
    NeedView: need_view_message,
}
_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)


def document_of(record: Shown) -> Document:
    document = message_document(_MESSAGE_OF[type(record)](record))
    if isinstance(record, NeedView):
        document["needId"] = record.need.key.need_id
    return document


def need_row_document(row: NeedRow) -> Document:
    """What a row says of its Need beside the view."""
    document = message_document(need_row_message(row))
    del document["view"]
    return document


def message_document(message: Message) -> Document:
    document: Document = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        document[field.json_name] = _many(field, value) if field.is_repeated else _one(field, value)
    return document


def _many(field: Any, value: Any) -> object:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        held = entry.fields_by_name["value"]
        return {str(key): _one(held, value[key]) for key in sorted(value)}
    return [_one(field, each) for each in value]


def _one(field: Any, value: Any) -> object:
    if field.message_type is not None:
        return message_document(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else value
    if field.cpp_type in _FLOATS and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
