"""What the coordinator keeps and shows, as messages and back.

A time that is not known is 0 on the wire and None here. A number of a later version in an answer
is a ValueError where the record has no place for it; what a request names is judged by its service.
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
    Transfer,
    TransferState,
    TransferTier,
)
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire.needs import resources_message, resources_of
from bigfleet.wire.shard_reports import (
    bucket_number,
    bucket_of,
    instruction_message,
    instruction_of,
    outcome_number,
    outcome_of,
    summary_message,
    summary_of,
)
from bigfleet.wire.shard_views import number


def status_message(status: CoordinatorStatus) -> pb.CoordinatorStatus:
    return pb.CoordinatorStatus(
        replica_id=status.replica_id,
        is_leader=status.is_leader,
        leader_address=status.leader_address,
        coordinator_term=status.term,
        backend=status.backend,
        store_revision=status.store_revision,
        shards=status.shards,
        clusters=status.clusters,
        domains=status.domains,
        pending_instructions=status.pending_instructions,
        open_transfers=status.open_transfers,
        rebalance_paused=status.rebalance_paused,
        version=status.version,
        store_error=status.store_error,
    )


def status_of(message: pb.CoordinatorStatus) -> CoordinatorStatus:
    return CoordinatorStatus(
        replica_id=message.replica_id,
        is_leader=message.is_leader,
        leader_address=message.leader_address,
        term=message.coordinator_term,
        backend=message.backend,
        store_revision=message.store_revision,
        shards=message.shards,
        clusters=message.clusters,
        domains=message.domains,
        pending_instructions=message.pending_instructions,
        open_transfers=message.open_transfers,
        rebalance_paused=message.rebalance_paused,
        version=message.version,
        store_error=message.store_error,
    )


def shard_message(entry: ShardEntry) -> contract.ShardRegistryEntry:
    return contract.ShardRegistryEntry(
        shard_id=entry.shard_id,
        address=entry.address,
        registered_at_unix_ns=entry.registered_at,
        last_heartbeat_unix_ns=entry.last_heartbeat_at or 0,
    )


def shard_of(message: contract.ShardRegistryEntry) -> ShardEntry:
    return ShardEntry(
        message.shard_id,
        message.address,
        message.registered_at_unix_ns,
        message.last_heartbeat_unix_ns or None,
    )


def domain_message(row: DomainAssignment) -> contract.DomainAssignment:
    return contract.DomainAssignment(
        topology_key=row.key, topology_value=row.value, shard_id=row.shard
    )


def domain_of(message: contract.DomainAssignment) -> DomainAssignment:
    return DomainAssignment(message.topology_key, message.topology_value, message.shard_id)


def fitting_report_view(view: ReportView, most_bytes: int) -> contract.ShardReportSnapshot:
    """Shortfalls and counts that do not fit are left off; the total of machines is always told."""
    message = report_view_message(view)
    while message.shortfalls and message.ByteSize() > most_bytes:
        half = len(message.shortfalls) // 2
        del message.shortfalls[half:]
    if message.ByteSize() > most_bytes:
        message.summary.per_instance_type_counts.clear()
        message.summary.per_zone_counts.clear()
    return message


def report_view_message(view: ReportView) -> contract.ShardReportSnapshot:
    """Requirements are not shown: what a shortfall asks for may say too much."""
    return contract.ShardReportSnapshot(
        shard_id=view.shard_id,
        cycle=view.cycle,
        received_at_unix_ns=view.received_at,
        summary=summary_message(view.summary),
        shortfalls=[
            contract.Shortfall(
                deficit=resources_message(row.deficit),
                priority=row.priority,
                age_cycles=row.age_cycles,
                interruption_penalty_bucket=bucket_number(row.interruption_bucket),
            )
            for row in view.shortfalls
        ],
    )


def report_view_of(message: contract.ShardReportSnapshot) -> ReportView:
    return ReportView(
        message.shard_id,
        message.cycle,
        message.received_at_unix_ns,
        summary_of(message.summary),
        tuple(
            ReportedShortfall(
                resources_of(row.deficit),
                row.priority,
                row.age_cycles,
                bucket_of(row.interruption_penalty_bucket),
            )
            for row in message.shortfalls
        ),
    )


def quota_message(quota: QuotaAllocation) -> shared.QuotaAllocation:
    return shared.QuotaAllocation(
        provider=quota.provider,
        region=quota.region,
        per_shard=quota.per_shard,
        total=quota.total,
        in_use=quota.in_use,
    )


def quota_of(message: shared.QuotaAllocation) -> QuotaAllocation:
    return QuotaAllocation(
        message.provider,
        message.region,
        message.total,
        dict(message.per_shard),
        dict(message.in_use),
    )


def provider_message(entry: ProviderEntry) -> shared.ProviderEntry:
    return shared.ProviderEntry(
        name=entry.name,
        address=entry.address,
        region=entry.region,
        supports_delete=entry.supports_delete,
        attached_shards=entry.attached_shards,
    )


def provider_of(message: shared.ProviderEntry) -> ProviderEntry:
    return ProviderEntry(
        message.name,
        message.address,
        message.region,
        message.supports_delete,
        tuple(message.attached_shards),
    )


def binding_message(binding: ClusterBinding) -> pb.ClusterBinding:
    return pb.ClusterBinding(
        cluster_id=binding.cluster,
        shard_id=binding.shard,
        shard_address=binding.address,
        bound_unix_nanos=binding.bound_at,
    )


def binding_of(message: pb.ClusterBinding) -> ClusterBinding:
    return ClusterBinding(
        message.cluster_id, message.shard_id, message.shard_address, message.bound_unix_nanos
    )


def transfer_message(transfer: Transfer) -> pb.Transfer:
    return pb.Transfer(
        transfer_id=transfer.id,
        tier=number(transfer.tier),
        from_shard_id=transfer.from_shard,
        to_shard_id=transfer.to_shard,
        machine_ids=transfer.machine_ids,
        state=number(transfer.state),
        profile_fingerprint=transfer.fingerprint,
        priority=transfer.priority,
        created_unix_nanos=transfer.created_at,
        updated_unix_nanos=transfer.updated_at,
        reason=transfer.reason,
        hold_seconds=transfer.hold_seconds,
    )


def transfer_of(message: pb.Transfer) -> Transfer:
    return Transfer(
        id=message.transfer_id,
        tier=TransferTier(message.tier),
        from_shard=message.from_shard_id,
        to_shard=message.to_shard_id,
        state=TransferState(message.state),
        machine_ids=tuple(message.machine_ids),
        fingerprint=message.profile_fingerprint,
        priority=message.priority,
        created_at=message.created_unix_nanos,
        updated_at=message.updated_unix_nanos,
        reason=message.reason,
        hold_seconds=message.hold_seconds or HOLD_SECONDS,
    )


def pending_message(pending: PendingInstruction) -> pb.PendingInstruction:
    return pb.PendingInstruction(
        shard_id=pending.shard,
        instruction=instruction_message(pending.instruction),
        attempts=pending.attempts,
        created_unix_nanos=pending.created_at,
        last_outcome=outcome_number(pending.last_outcome),
        last_reason=pending.last_reason,
    )


def pending_of(message: pb.PendingInstruction) -> PendingInstruction:
    return PendingInstruction(
        message.shard_id,
        instruction_of(message.instruction),
        message.attempts,
        message.created_unix_nanos,
        outcome_of(message.last_outcome),
        message.last_reason,
    )


def event_message(event: CoordinatorEvent) -> pb.CoordinatorEvent:
    return pb.CoordinatorEvent(
        revision=event.revision,
        at_unix_nanos=event.at,
        coordinator_term=event.term,
        kind=event.kind,
        subject=event.subject,
        text=event.text,
        peer=event.peer,
    )


def event_of(message: pb.CoordinatorEvent) -> CoordinatorEvent:
    return CoordinatorEvent(
        message.revision,
        message.at_unix_nanos,
        message.coordinator_term,
        message.kind,
        message.subject,
        message.text,
        message.peer,
    )
