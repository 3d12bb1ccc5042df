"""What the coordinator keeps and shows, as messages and back: one table of fields per record.

A number of a later version in an answer is a ValueError where the record has no place for it; what
a request names is judged by its service.
"""

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import (
    HOLD_SECONDS,
    ClusterBinding,
    CoordinatorEvent,
    CoordinatorStatus,
    DomainAssignment,
    PendingInstruction,
    ProviderEntry,
    QuotaAllocation,
    ReportedShortfall,
    ReportView,
    ShardEntry,
    ShortfallList,
    ShortfallView,
    Transfer,
)
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.reasons import REASON
from bigfleet.wire.record_codecs import Conversion, Field, RecordCodec, Unused
from bigfleet.wire.shard_reports import SUMMARY, bucket_of, instruction_message, instruction_of

#: The bucket of an interruption penalty: UNSPECIFIED for a number of a later version.
PENALTY_BUCKET = Field("interruption_penalty_bucket", Conversion(read=bucket_of))
STATUS = RecordCodec(CoordinatorStatus, pb.CoordinatorStatus, term="coordinator_term")
SHARD = RecordCodec(ShardEntry, contract.ShardRegistryEntry)
DOMAIN = RecordCodec(
    DomainAssignment, contract.DomainAssignment, key="topology_key", value="topology_value"
)
#: Requirements are not shown: what a shortfall asks for may say too much.
SHORTFALL = RecordCodec(
    ReportedShortfall,
    contract.Shortfall,
    Unused("requirements"),
    deficit=RESOURCES,
    interruption_bucket=PENALTY_BUCKET,
)
REPORT_VIEW = RecordCodec(
    ReportView,
    contract.ShardReportSnapshot,
    summary=SUMMARY,
    shortfalls=SHORTFALL,
)
QUOTA = RecordCodec(QuotaAllocation, shared.QuotaAllocation)
PROVIDER = RecordCodec(ProviderEntry, shared.ProviderEntry)
BINDING = RecordCodec(ClusterBinding, pb.ClusterBinding, address="shard_address")
TRANSFER = RecordCodec(
    Transfer,
    pb.Transfer,
    id="transfer_id",
    fingerprint="profile_fingerprint",
    hold_seconds=Conversion(read=lambda seconds: seconds or HOLD_SECONDS),
)
PENDING = RecordCodec(
    PendingInstruction,
    pb.PendingInstruction,
    instruction=Conversion(instruction_message, instruction_of),
)
SHORTFALL_VIEW = RecordCodec(
    ShortfallView,
    pb.ShortfallView,
    fingerprint="profile_fingerprint",
    deficit=RESOURCES,
    reason=REASON,
    swept_at="swept_unix_nanos",
)
SHORTFALLS = RecordCodec(
    ShortfallList,
    pb.ListShortfallsResponse,
    shortfalls=SHORTFALL_VIEW,
    unknown_shards="unknown_shard_ids",
)
EVENT = RecordCodec(CoordinatorEvent, pb.CoordinatorEvent, term="coordinator_term")


def fitting_report_view(view: ReportView, most_bytes: int) -> contract.ShardReportSnapshot:
    """Shortfalls and counts that do not fit are left off; the total of machines is always told."""
    message = REPORT_VIEW.message(view)
    while message.shortfalls and message.ByteSize() > most_bytes:
        half = len(message.shortfalls) // 2
        del message.shortfalls[half:]
    if message.ByteSize() > most_bytes:
        message.summary.per_instance_type_counts.clear()
        message.summary.per_zone_counts.clear()
    return message
