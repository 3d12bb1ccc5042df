"""What a shard shows of itself, as messages and back: one table of fields per record.

A number of a later version in an answer is a ValueError where the record has no place for it; what
a request names is judged by the service.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, TypeVar

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.cluster_reports import ReceivedReport
from bigfleet.model.pauses import Pause, PauseScope
from bigfleet.model.shard_views import (
    CoordinatorLink,
    MachineLoss,
    NeedCounts,
    OfferingView,
    ProviderCalls,
    ProviderStatus,
    Quarantine,
    SessionView,
    ShardStatus,
    StoryEvent,
)
from bigfleet.wire.cluster_report_records import REFUSAL, REPORT
from bigfleet.wire.record_codecs import ByHand, Derived, RecordCodec, Unused

E = TypeVar("E", bound=IntEnum)


def number(value: IntEnum | None) -> Any:
    """Enums of ours have the numbers of the wire; the generated types know only their own."""
    return 0 if value is None else value.value


def known(kind: type[E], value: int) -> E | None:
    """None for UNSPECIFIED and for numbers of a later version."""
    return kind(value) if value in kind.__members__.values() else None


def _audit_fields(pause: Pause) -> Mapping[str, Any]:
    return {"audit": shared.Audit(owner=pause.owner, reason=pause.reason)}


def _audit_of(message: shared.Pause) -> Mapping[str, Any]:
    return {"owner": message.audit.owner, "reason": message.audit.reason}


def _report_fields(view: SessionView) -> Mapping[str, Any]:
    told = view.report
    if told is None:
        return {}
    return {
        "report": REPORT.message(told.report),
        "report_received_unix_nanos": told.received_at,
        "report_stale": told.stale,
    }


def _report_of(message: pb.SessionView) -> Mapping[str, Any]:
    if not message.HasField("report"):
        return {}
    received_at, stale = message.report_received_unix_nanos, message.report_stale
    return {"report": ReceivedReport(REPORT.record(message.report), received_at, stale)}


#: A kind of action of a later version is refused: without it the scope would be a wider one.
SCOPE = RecordCodec(PauseScope, shared.PauseScope)
PAUSE = RecordCodec(
    Pause,
    shared.Pause,
    ByHand(("owner", "reason"), ("audit",), _audit_fields, _audit_of),
    scope=SCOPE,
)
PROVIDER_CALLS = RecordCodec(ProviderCalls, pb.ProviderCalls)
PROVIDER = RecordCodec(ProviderStatus, pb.ProviderStatus, calls=PROVIDER_CALLS)
LINK = RecordCodec(CoordinatorLink, pb.CoordinatorLink)
NEED_COUNTS = RecordCodec(NeedCounts, pb.NeedCounts)
LOSS = RecordCodec(MachineLoss, pb.MachineLoss)
STATUS = RecordCodec(
    ShardStatus,
    pb.ShardStatus,
    Derived("ready"),
    epoch="shard_epoch",
    pauses=PAUSE,
    providers=PROVIDER,
    coordinator=LINK,
    need_states=NEED_COUNTS,
    losses=LOSS,
)
SESSION = RecordCodec(
    SessionView,
    pb.SessionView,
    ByHand(
        ("report",),
        ("report", "report_received_unix_nanos", "report_stale"),
        _report_fields,
        _report_of,
    ),
    need_states=NEED_COUNTS,
    refused_rollup=REFUSAL,
)
QUARANTINE = RecordCodec(Quarantine, pb.Quarantine)
OFFERING = RecordCodec(OfferingView, pb.OfferingView)
EVENT = RecordCodec(StoryEvent, pb.StoryEvent, Unused("action"), sequence="sequence_number")
