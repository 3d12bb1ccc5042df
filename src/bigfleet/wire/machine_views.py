"""A machine as a shard shows it, and the question for machines, as messages and back.

The Need shown is the one that claims the machine, else the one it was assigned to; the stamps ride
as the metadata a provider would hold, so that nothing of an assignment is lost.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.machines import Assigned, Host, Machine
from bigfleet.model.memory import Reservation
from bigfleet.model.metadata import decode, encode
from bigfleet.model.needs import NeedKey
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import (
    ActionView,
    DrainView,
    FailedView,
    MachineQuery,
    MachineSelector,
    MachineView,
    OwnerSource,
    SortBy,
)
from bigfleet.v1alpha1 import provider_pb2
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.record_codecs import (
    NOT_NEGATIVE,
    ByHand,
    Conversion,
    Derived,
    Field,
    RecordCodec,
    Unused,
    by_number,
)

_NO_STAMPS = Assigned()


def _host_message(host: Host) -> provider_pb2.HostRef | None:
    return None if host.empty else provider_pb2.HostRef(provider=host.provider, ref=host.ref)


def _host_of(message: provider_pb2.HostRef) -> Host:
    return Host(message.provider, message.ref)


def _stamps(assigned: Assigned) -> dict[str, str]:
    return encode(assigned) if assigned != _NO_STAMPS else {}


def _assigned_of(stamps: Mapping[str, str]) -> Assigned:
    return decode(stamps, _NO_STAMPS)[0]


def _machine_fields(view: MachineView) -> Mapping[str, Any]:
    need, assigned = view.claimed_by, view.machine.assigned
    if need is None and assigned != _NO_STAMPS:
        need = NeedKey(assigned.cluster, assigned.need_fingerprint, assigned.group)
    return {
        "machine": MACHINE.message(view.machine),
        "need": None if need is None else NEED_KEY.message(need),
        "claimed": view.claimed_by is not None,
    }


def _machine_of(message: pb.MachineView) -> Mapping[str, Any]:
    machine = MACHINE.record(message.machine)
    if message.claimed:
        claimed_by = NEED_KEY.record(message.need) if message.HasField("need") else None
        return {"machine": machine, "claimed_by": claimed_by}
    if message.need.cluster_id:
        assigned = replace(machine.assigned, cluster=message.need.cluster_id)
        machine = replace(machine, assigned=assigned)
    return {"machine": machine}


def _sort_of(name: str) -> SortBy:
    """Raises Rejected where machines are not listed by it."""
    try:
        return SortBy(name or SortBy.NAME)
    except ValueError:
        text = f"sort: {name[:100]!r} is not one of {', '.join(SortBy)}"
        raise Rejected(Code.INVALID_ARGUMENT, text) from None


def _cost_message(view: MachineView) -> shared.CostView:
    """An unlikely interruption of something priceless still costs nothing if it cannot happen."""
    machine = view.machine
    probability, penalty = machine.interruption_probability, machine.assigned.interruption_penalty
    expected = probability * penalty if probability > 0 else 0.0
    return shared.CostView(
        price_per_hour=machine.price_per_hour,
        interruption_probability=probability,
        interruption_penalty_dollars=penalty,
        expected_interruption_per_hour=expected,
        effective_cost_per_hour=machine.price_per_hour + expected,
    )


MACHINE = RecordCodec(
    Machine,
    provider_pb2.Machine,
    host=Conversion(_host_message, _host_of),
    resources=RESOURCES,
    allocatable=RESOURCES,
    assigned=Field("shard_metadata", Conversion(_stamps, _assigned_of)),
)
NEED_KEY = RecordCodec(NeedKey, shared.NeedRef, fingerprint="profile_fingerprint")
#: With its sentence alone: what is told in full travels beside it (`decisions_in_full`).
ACTION = RecordCodec(
    ActionView,
    shared.ActionView,
    ByHand(("reasons", "bill_change"), (), lambda _: {}, lambda _: {}),
    need=NEED_KEY,
    grace_seconds="grace_period_seconds",
)
#: A machine has one reservation at most: its id names the reservation too.
RESERVATION = RecordCodec(
    Reservation,
    shared.Reservation,
    Derived("reservation_id", "machine"),
    Unused("priority"),
    Unused("created_unix_nanos"),
    holder=Field("need", NEED_KEY),
)
#: Written and read, a row costs as much as by hand, up to a fifth more where it has everything.
MACHINE_VIEW = RecordCodec(
    MachineView,
    pb.MachineView,
    ByHand(("machine", "claimed_by"), ("machine", "need", "claimed"), _machine_fields, _machine_of),
    Derived("assigned_priority", "machine.assigned.priority"),
    Derived("assigned_interruption_dollars", "machine.assigned.interruption_penalty"),
    Derived("assigned_reclamation_dollars", "machine.assigned.reclamation_penalty"),
    Derived("cost", make=_cost_message),
    provider="provider_name",
    owner_source=by_number(OwnerSource, OwnerSource.ALL),
    pending=ACTION,
    drain=RecordCodec(DrainView, pb.DrainView),
    reservation=RESERVATION,
    failed=RecordCodec(FailedView, pb.FailedView),
)
#: A state or capacity type of a later version is one no machine has.
SELECTOR = RecordCodec(
    MachineSelector,
    shared.MachineSelector,
    Unused("max_count"),
    labels=Conversion(dict, lambda labels: tuple(sorted(labels.items()))),
)
QUERY = RecordCodec(
    MachineQuery,
    pb.ListMachinesRequest,
    Unused("rows_per_frame"),
    selector=SELECTOR,
    limit=NOT_NEGATIVE,
    sort=Conversion(str, _sort_of),
)
