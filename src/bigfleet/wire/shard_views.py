"""What a shard shows of itself as messages and back.

A time that is not known is 0 on the wire and None here. A number of a later version in an answer
is a ValueError where the record has no place for it; what a request names is judged by the service.
"""

from enum import IntEnum
from typing import Any, TypeVar

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.actions import ActionKind
from bigfleet.model.cluster_reports import ReceivedReport
from bigfleet.model.machines import Instant
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.shard_views import (
    CoordinatorLink,
    NeedCounts,
    OfferingState,
    OfferingView,
    ProviderStatus,
    Quarantine,
    QuarantineKind,
    SessionView,
    ShardStatus,
    StoryEvent,
    StorySource,
)
from bigfleet.wire.cluster_report_records import (
    refusal_message,
    refusal_of,
    report_message,
    report_of,
)
from bigfleet.wire.machines import state_number, state_of

#: Named here for both ends: a client must not load the server.
SERVICE = "bigfleet.admin.v1alpha1.ShardAdmin"

E = TypeVar("E", bound=IntEnum)


def number(value: IntEnum | None) -> Any:
    """Enums of ours have the numbers of the wire; the generated types know only their own."""
    return 0 if value is None else value.value


def known(kind: type[E], value: int) -> E | None:
    """None for UNSPECIFIED and for numbers of a later version."""
    return kind(value) if value in kind.__members__.values() else None


def moment(nanos: int) -> Instant | None:
    return nanos or None


def scope_message(scope: PauseScope) -> shared.PauseScope:
    return shared.PauseScope(
        shard_ids=scope.shard_ids,
        cluster_ids=scope.cluster_ids,
        kinds=[number(kind) for kind in scope.kinds],
        rebalance_only=scope.rebalance_only,
    )


def scope_of(message: shared.PauseScope) -> PauseScope:
    """Raises ValueError for a kind it does not know: without it the scope would be a wider one."""
    return PauseScope(
        tuple(message.shard_ids),
        tuple(message.cluster_ids),
        tuple(ActionKind(kind) for kind in message.kinds),
        message.rebalance_only,
    )


def pause_message(pause: Pause) -> shared.Pause:
    return shared.Pause(
        pause_id=pause.pause_id,
        scope=scope_message(pause.scope),
        audit=shared.Audit(owner=pause.owner, reason=pause.reason),
        created_unix_nanos=pause.created_at,
        expires_unix_nanos=pause.expires_at or 0,
        source=number(pause.source),
        created_by=pause.created_by,
    )


def pause_of(message: shared.Pause) -> Pause:
    return Pause(
        message.pause_id,
        PauseSource(message.source),
        scope_of(message.scope),
        message.audit.owner,
        message.audit.reason,
        message.created_unix_nanos,
        moment(message.expires_unix_nanos),
        message.created_by,
    )


def status_message(status: ShardStatus) -> pb.ShardStatus:
    link = status.coordinator
    return pb.ShardStatus(
        shard_id=status.shard_id,
        shard_epoch=status.epoch,
        version=status.version,
        cycle=status.cycle,
        last_cycle_unix_nanos=status.last_cycle_at or 0,
        last_cycle_seconds=status.last_cycle_seconds,
        ready=status.ready,
        not_ready_reason=status.not_ready_reason,
        sessions=status.sessions,
        machines=status.machines,
        needs=status.needs,
        shortfalls=status.shortfalls,
        pauses=[pause_message(pause) for pause in status.pauses],
        dry_run=status.dry_run,
        queue_depth=status.queue_depth,
        in_flight=status.in_flight,
        providers=[_provider_message(provider) for provider in status.providers],
        coordinator=None
        if link is None
        else pb.CoordinatorLink(
            address=link.address,
            connected=link.connected,
            last_report_unix_nanos=link.last_report_at or 0,
            term=link.term,
            last_error=link.last_error,
        ),
        ownership_revision=status.ownership_revision,
        journal_degraded=status.journal_degraded,
        need_states=counts_message(status.need_states),
        stuck_pods=status.stuck_pods,
        store_error=status.store_error,
        failed_machines=status.failed_machines,
        clusters_refused=status.clusters_refused,
        cpu_cores=status.cpu_cores,
        resident_bytes=status.resident_bytes,
    )


def status_of(message: pb.ShardStatus) -> ShardStatus:
    link = message.coordinator
    return ShardStatus(
        shard_id=message.shard_id,
        epoch=message.shard_epoch,
        version=message.version,
        cycle=message.cycle,
        last_cycle_at=moment(message.last_cycle_unix_nanos),
        last_cycle_seconds=message.last_cycle_seconds,
        not_ready_reason=message.not_ready_reason,
        sessions=message.sessions,
        machines=message.machines,
        needs=message.needs,
        shortfalls=message.shortfalls,
        pauses=tuple(pause_of(pause) for pause in message.pauses),
        dry_run=message.dry_run,
        queue_depth=message.queue_depth,
        in_flight=message.in_flight,
        providers=tuple(_provider_of(provider) for provider in message.providers),
        coordinator=CoordinatorLink(
            link.address,
            link.connected,
            moment(link.last_report_unix_nanos),
            link.term,
            link.last_error,
        )
        if message.HasField("coordinator")
        else None,
        ownership_revision=message.ownership_revision,
        journal_degraded=message.journal_degraded,
        store_error=message.store_error,
        need_states=counts_of(message.need_states) if message.HasField("need_states") else None,
        stuck_pods=message.stuck_pods,
        failed_machines=message.failed_machines,
        clusters_refused=message.clusters_refused,
        cpu_cores=message.cpu_cores,
        resident_bytes=message.resident_bytes,
    )


def _provider_message(provider: ProviderStatus) -> pb.ProviderStatus:
    return pb.ProviderStatus(
        name=provider.name,
        address=provider.address,
        region=provider.region,
        breaker_open=provider.breaker_open,
        last_list_unix_nanos=provider.last_list_at or 0,
        last_error=provider.last_error,
        machines=provider.machines,
        incremental=provider.incremental,
    )


def _provider_of(message: pb.ProviderStatus) -> ProviderStatus:
    return ProviderStatus(
        message.name,
        message.address,
        message.region,
        message.breaker_open,
        moment(message.last_list_unix_nanos),
        message.last_error,
        message.machines,
        message.incremental,
    )


def session_message(view: SessionView) -> pb.SessionView:
    told = view.report
    return pb.SessionView(
        cluster_id=view.cluster,
        peer=view.peer,
        protocol_version=view.protocol_version,
        connected_unix_nanos=view.connected_at,
        last_rollup_unix_nanos=view.last_rollup_at or 0,
        needs=view.needs,
        outbox_frames=view.outbox_frames,
        outbox_bytes=view.outbox_bytes,
        oldest_frame_unix_nanos=view.oldest_frame_at or 0,
        open_bootstraps=view.open_bootstraps,
        open_reclaims=view.open_reclaims,
        connected=view.connected,
        report=report_message(told.report) if told else None,
        report_received_unix_nanos=told.received_at if told else 0,
        report_stale=told.stale if told else False,
        need_states=counts_message(view.need_states),
        stuck_pods=view.stuck_pods,
        refused_rollup=refusal_message(view.refused_rollup),
    )


def session_of(message: pb.SessionView) -> SessionView:
    return SessionView(
        cluster=message.cluster_id,
        peer=message.peer,
        protocol_version=message.protocol_version,
        connected_at=message.connected_unix_nanos,
        last_rollup_at=moment(message.last_rollup_unix_nanos),
        needs=message.needs,
        outbox_frames=message.outbox_frames,
        outbox_bytes=message.outbox_bytes,
        oldest_frame_at=moment(message.oldest_frame_unix_nanos),
        open_bootstraps=message.open_bootstraps,
        open_reclaims=message.open_reclaims,
        connected=message.connected,
        report=ReceivedReport(
            report_of(message.report), message.report_received_unix_nanos, message.report_stale
        )
        if message.HasField("report")
        else None,
        need_states=counts_of(message.need_states) if message.HasField("need_states") else None,
        stuck_pods=message.stuck_pods,
        refused_rollup=refusal_of(message.refused_rollup)
        if message.HasField("refused_rollup")
        else None,
    )


def counts_message(counts: NeedCounts | None) -> pb.NeedCounts | None:
    if counts is None:
        return None
    return pb.NeedCounts(
        met=counts.met, arriving=counts.arriving, blocked=counts.blocked, short=counts.short
    )


def counts_of(message: pb.NeedCounts) -> NeedCounts:
    return NeedCounts(message.met, message.arriving, message.blocked, message.short)


def quarantine_message(held: Quarantine) -> pb.Quarantine:
    return pb.Quarantine(
        kind=number(held.kind),
        subject=held.subject,
        baseline=held.baseline,
        observed=held.observed,
        consecutive=held.consecutive,
        required=held.required,
        since_unix_nanos=held.since,
        accepts_after_unix_nanos=held.accepts_after,
        what=held.what,
    )


def quarantine_of(message: pb.Quarantine) -> Quarantine:
    return Quarantine(
        QuarantineKind(message.kind),
        message.subject,
        message.baseline,
        message.observed,
        message.consecutive,
        message.required,
        message.since_unix_nanos,
        message.accepts_after_unix_nanos,
        message.what,
    )


def offering_message(view: OfferingView) -> pb.OfferingView:
    return pb.OfferingView(
        name=view.name,
        state=number(view.state),
        kind=view.kind,
        attempts=view.attempts,
        opened_unix_nanos=view.opened_at,
        next_probe_unix_nanos=view.next_probe_at,
        text=view.text,
    )


def offering_of(message: pb.OfferingView) -> OfferingView:
    return OfferingView(
        message.name,
        OfferingState(message.state),
        message.kind,
        message.attempts,
        message.opened_unix_nanos,
        message.next_probe_unix_nanos,
        message.text,
    )


def event_message(event: StoryEvent) -> pb.StoryEvent:
    return pb.StoryEvent(
        at_unix_nanos=event.at,
        cycle=event.cycle,
        source=number(event.source),
        from_state=state_number(event.from_state),
        to_state=state_number(event.to_state),
        cluster_id=event.cluster,
        operation_id=event.operation_id,
        instruction_id=event.instruction_id,
        shard_epoch=event.shard_epoch,
        sequence_number=event.sequence,
        text=event.text,
    )


def event_of(message: pb.StoryEvent) -> StoryEvent:
    return StoryEvent(
        at=message.at_unix_nanos,
        source=StorySource(message.source),
        text=message.text,
        cycle=message.cycle,
        from_state=state_of(message.from_state),
        to_state=state_of(message.to_state),
        cluster=message.cluster_id,
        operation_id=message.operation_id,
        instruction_id=message.instruction_id,
        shard_epoch=message.shard_epoch,
        sequence=message.sequence_number,
    )
