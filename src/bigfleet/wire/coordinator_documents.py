"""What the coordinator shows, as documents for programs: its messages with lowerCamelCase names."""

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message

from bigfleet.admin.v1alpha1.coordinator_admin_pb2 import DefaultOwner
from bigfleet.model.coordination import (
    ClusterBinding,
    CoordinatorEvent,
    CoordinatorStatus,
    DomainAssignment,
    PendingInstruction,
    ProviderEntry,
    QuotaAllocation,
    ReportView,
    ShardEntry,
    Transfer,
)
from bigfleet.model.pauses import Pause
from bigfleet.wire import coordination as records
from bigfleet.wire.coordinator_handlers import SnapshotMeta
from bigfleet.wire.record_codecs import Document, message_document
from bigfleet.wire.shard_views import pause_message

Shown = (
    CoordinatorStatus
    | ShardEntry
    | DomainAssignment
    | ReportView
    | QuotaAllocation
    | ProviderEntry
    | ClusterBinding
    | Transfer
    | PendingInstruction
    | CoordinatorEvent
    | Pause
)

_MESSAGE_OF: Mapping[type, Callable[[Any], Message]] = {
    CoordinatorStatus: records.status_message,
    ShardEntry: records.shard_message,
    DomainAssignment: records.domain_message,
    ReportView: records.report_view_message,
    QuotaAllocation: records.quota_message,
    ProviderEntry: records.provider_message,
    ClusterBinding: records.binding_message,
    Transfer: records.transfer_message,
    PendingInstruction: records.pending_message,
    CoordinatorEvent: records.event_message,
    Pause: pause_message,
}


def document_of(record: Shown) -> Document:
    return message_document(_MESSAGE_OF[type(record)](record))


def default_owner_document(address: str, shard: str) -> Document:
    return message_document(DefaultOwner(provider_address=address, shard_id=shard))


def snapshot_document(meta: SnapshotMeta) -> Document:
    """By what people call it, not by the names on the line."""
    return {
        "id": meta.id,
        "revision": meta.index,
        "term": meta.term,
        "bytes": meta.size,
        "backend": meta.backend,
        "sha256": meta.sha256,
        "createdUnixNanos": meta.created_unix_nanos,
    }
