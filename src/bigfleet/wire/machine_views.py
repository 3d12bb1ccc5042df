"""A machine as a shard shows it, and the question for machines, as messages and back.

The Need shown is the one that claims the machine, else the one it was assigned to; the stamps ride
as the metadata a provider would hold, so that nothing of an assignment is lost.
"""

from typing import cast

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.metadata import decode, encode
from bigfleet.model.needs import NeedKey
from bigfleet.model.shard_views import (
    ActionView,
    Disposition,
    DrainStage,
    DrainView,
    FailedView,
    MachineQuery,
    MachineSelector,
    MachineView,
    OwnerSource,
)
from bigfleet.v1alpha1 import provider_pb2
from bigfleet.wire.machines import record_of_message, state_number, state_of
from bigfleet.wire.needs import resources_message, resources_of
from bigfleet.wire.shard_views import known, moment, number

_NO_STAMPS = Assigned()
_RESERVATIONS = {
    shared.ReservationKind.Value(f"RESERVATION_KIND_{kind.name}"): kind for kind in ReservationKind
}


def machine_view_message(view: MachineView) -> pb.MachineView:
    machine, drain, failed = view.machine, view.drain, view.failed
    assigned = machine.assigned
    return pb.MachineView(
        machine=_machine_message(machine),
        provider_name=view.provider,
        node_name=view.node_name,
        owner_source=number(view.owner_source),
        need=_need_message(view.claimed_by or _assigned_need(machine)),
        assigned_priority=assigned.priority,
        assigned_interruption_dollars=assigned.interruption_penalty,
        assigned_reclamation_dollars=assigned.reclamation_penalty,
        claimed=view.claimed_by is not None,
        cost=_cost_message(machine),
        state_since_unix_nanos=view.state_since,
        state_deadline_unix_nanos=view.state_deadline or 0,
        idle_since_unix_nanos=view.idle_since or 0,
        pending=_action_message(view.pending) if view.pending else None,
        drain=_drain_message(drain) if drain else None,
        reservation=_reservation_message(view.reservation) if view.reservation else None,
        failed=_failed_message(failed) if failed else None,
        unseen_lists=view.unseen_lists,
        withheld_by_quota=view.withheld_by_quota,
        empty=view.empty,
        lost=view.lost,
    )


def machine_view_of(message: pb.MachineView) -> MachineView:
    need = _need_of(message.need) if message.HasField("need") else None
    return MachineView(
        machine=_machine_of(message, "" if message.claimed or need is None else need.cluster),
        provider=message.provider_name,
        node_name=message.node_name,
        owner_source=known(OwnerSource, message.owner_source) or OwnerSource.ALL,
        claimed_by=need if message.claimed else None,
        state_since=message.state_since_unix_nanos,
        state_deadline=moment(message.state_deadline_unix_nanos),
        idle_since=moment(message.idle_since_unix_nanos),
        pending=_action_of(message.pending) if message.HasField("pending") else None,
        drain=_drain_of(message.drain) if message.HasField("drain") else None,
        reservation=_reservation_of(message.reservation)
        if message.HasField("reservation")
        else None,
        failed=_failed_of(message.failed) if message.HasField("failed") else None,
        unseen_lists=message.unseen_lists,
        withheld_by_quota=message.withheld_by_quota,
        empty=message.empty,
        lost=message.lost,
    )


def query_message(query: MachineQuery) -> pb.ListMachinesRequest:
    wanted = query.selector
    return pb.ListMachinesRequest(
        selector=shared.MachineSelector(
            ids=sorted(wanted.ids),
            states=[state_number(state) for state in sorted(wanted.states)],
            zones=sorted(wanted.zones),
            instance_types=sorted(wanted.instance_types),
            capacity_types=[
                cast("provider_pb2.CapacityType.ValueType", int(kind))
                for kind in sorted(wanted.capacity_types)
            ],
            labels=dict(wanted.labels),
            cluster_id=wanted.cluster,
            provider=wanted.provider,
            id_prefix=wanted.id_prefix,
        ),
        failed_cause=query.failed_cause,
        only_pending=query.only_pending,
        only_unseen=query.only_unseen,
        limit=query.limit,
        after_id=query.after_id,
    )


def query_of(message: pb.ListMachinesRequest) -> MachineQuery:
    """A state or capacity type of a later version is one no machine has."""
    wanted = message.selector
    return MachineQuery(
        MachineSelector(
            ids=frozenset(wanted.ids),
            states=frozenset(map(state_of, wanted.states)),
            zones=frozenset(wanted.zones),
            instance_types=frozenset(wanted.instance_types),
            capacity_types=frozenset(map(int, wanted.capacity_types)),
            labels=tuple(sorted(wanted.labels.items())),
            cluster=wanted.cluster_id,
            provider=wanted.provider,
            id_prefix=wanted.id_prefix,
        ),
        message.failed_cause,
        message.only_pending,
        message.only_unseen,
        max(0, message.limit),
        message.after_id,
    )


def _machine_message(machine: Machine) -> provider_pb2.Machine:
    host = machine.host
    stamps = encode(machine.assigned) if machine.assigned != _NO_STAMPS else {}
    return provider_pb2.Machine(
        id=machine.id,
        state=state_number(machine.state),
        host=None if host.empty else provider_pb2.HostRef(provider=host.provider, ref=host.ref),
        instance_type=machine.instance_type,
        zone=machine.zone,
        capacity_type=number(machine.capacity_type),
        price_per_hour=machine.price_per_hour,
        interruption_probability=machine.interruption_probability,
        resources=resources_message(machine.resources),
        labels=machine.labels,
        last_error=machine.last_error,
        allocatable=resources_message(machine.allocatable),
        cluster=machine.cluster,
        shard_metadata=stamps,
    )


def _machine_of(message: pb.MachineView, assigned_cluster: str) -> Machine:
    record = record_of_message(message.machine)
    assigned, _ = decode(record.shard_metadata, Assigned(cluster=assigned_cluster))
    return Machine(
        id=record.id,
        state=record.state,
        capacity_type=known(CapacityType, message.machine.capacity_type)
        or CapacityType.UNSPECIFIED,
        host=record.host or Host(),
        cluster=record.cluster,
        instance_type=record.instance_type,
        zone=record.zone,
        labels=record.labels,
        resources=resources_of(message.machine.resources),
        allocatable=resources_of(message.machine.allocatable),
        price_per_hour=record.price_per_hour,
        interruption_probability=record.interruption_probability,
        last_error=record.last_error,
        assigned=assigned,
    )


def _assigned_need(machine: Machine) -> NeedKey | None:
    assigned = machine.assigned
    if assigned == _NO_STAMPS:
        return None
    return NeedKey(assigned.cluster, assigned.need_fingerprint, assigned.group)


def _cost_message(machine: Machine) -> shared.CostView:
    """An unlikely interruption of something priceless still costs nothing if it cannot happen."""
    probability, penalty = machine.interruption_probability, machine.assigned.interruption_penalty
    expected = probability * penalty if probability > 0 else 0.0
    return shared.CostView(
        price_per_hour=machine.price_per_hour,
        interruption_probability=probability,
        interruption_penalty_dollars=penalty,
        expected_interruption_per_hour=expected,
        effective_cost_per_hour=machine.price_per_hour + expected,
    )


def _need_message(need: NeedKey | None) -> shared.NeedRef | None:
    if need is None:
        return None
    return shared.NeedRef(
        cluster_id=need.cluster, profile_fingerprint=need.fingerprint, group=need.group
    )


def _need_of(message: shared.NeedRef) -> NeedKey:
    return NeedKey(message.cluster_id, message.profile_fingerprint, message.group)


def _action_message(action: ActionView) -> shared.ActionView:
    return shared.ActionView(
        cycle=action.cycle,
        index=action.index,
        kind=number(action.kind),
        machine_id=action.machine,
        cluster_id=action.cluster,
        need=_need_message(action.need),
        reason=action.reason,
        grace_period_seconds=action.grace_seconds,
        preemptor_priority=action.preemptor_priority,
        disposition=number(action.disposition),
        outcome=action.outcome,
        at_unix_nanos=action.at,
    )


def _action_of(message: shared.ActionView) -> ActionView:
    return ActionView(
        cycle=message.cycle,
        index=message.index,
        kind=ActionKind(message.kind),
        machine=message.machine_id,
        cluster=message.cluster_id,
        need=_need_of(message.need) if message.HasField("need") else None,
        reason=message.reason,
        grace_seconds=message.grace_period_seconds,
        preemptor_priority=message.preemptor_priority,
        disposition=known(Disposition, message.disposition),
        outcome=message.outcome,
        at=message.at_unix_nanos,
    )


def _drain_message(drain: DrainView) -> pb.DrainView:
    return pb.DrainView(
        instruction_id=drain.instruction_id,
        kind=number(drain.kind),
        stage=number(drain.stage),
        acked=drain.acked,
        evicted=drain.evicted,
        deadline_unix_nanos=drain.deadline,
    )


def _drain_of(message: pb.DrainView) -> DrainView:
    return DrainView(
        message.instruction_id,
        ActionKind(message.kind),
        DrainStage(message.stage),
        message.acked,
        message.evicted,
        message.deadline_unix_nanos,
    )


def _reservation_message(held: Reservation) -> shared.Reservation:
    """A machine has one at most: its id names the reservation too."""
    return shared.Reservation(
        reservation_id=held.machine,
        machine_id=held.machine,
        kind=shared.ReservationKind.Value(f"RESERVATION_KIND_{held.kind.name}"),
        need=_need_message(held.holder),
        expires_unix_nanos=held.expires_at or 0,
    )


def _reservation_of(message: shared.Reservation) -> Reservation:
    if message.kind not in _RESERVATIONS:
        raise ValueError(f"{message.kind} is not a kind of reservation")
    return Reservation(
        message.machine_id,
        _RESERVATIONS[message.kind],
        _need_of(message.need),
        moment(message.expires_unix_nanos),
    )


def _failed_message(failed: FailedView) -> pb.FailedView:
    return pb.FailedView(
        cause=failed.cause,
        since_unix_nanos=failed.since,
        attempts=failed.attempts,
        next_attempt_unix_nanos=failed.next_attempt_at or 0,
        automatic=failed.automatic,
    )


def _failed_of(message: pb.FailedView) -> FailedView:
    return FailedView(
        message.cause,
        message.since_unix_nanos,
        message.attempts,
        moment(message.next_attempt_unix_nanos),
        message.automatic,
    )
