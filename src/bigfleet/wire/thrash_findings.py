"""What was found to thrash, as messages and back, with the trace that shows it."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.thrash import ThrashFinding, TraceAction
from bigfleet.wire.machine_views import NEED_KEY
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.record_codecs import RecordCodec

TRACE_ACTION = RecordCodec(
    TraceAction,
    pb.TraceAction,
    fingerprint="profile_fingerprint",
    preemptor=NEED_KEY,
    frees=RESOURCES,
    deficit=RESOURCES,
)
THRASH_FINDING = RecordCodec(
    ThrashFinding,
    pb.ThrashFinding,
    fingerprint="profile_fingerprint",
    witness=TRACE_ACTION,
)


#: What an action of a witness says beside its message, for people.
FOR_PEOPLE = ("action", "time")


def trace_action_of(document: Mapping[str, Any]) -> TraceAction:
    """An action of a witness as it was written. Raises ValueError with what is wrong."""
    message = {name: value for name, value in document.items() if name not in FOR_PEOPLE}
    try:
        return TRACE_ACTION.record(json_format.ParseDict(message, pb.TraceAction()))
    except json_format.ParseError as problem:
        raise ValueError(str(problem)) from None
