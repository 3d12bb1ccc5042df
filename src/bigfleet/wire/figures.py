"""A shard in figures, as a message and back."""

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.figures import (
    AvailableCall,
    AvailableList,
    AvailableRow,
    ClassCounts,
    CostAxis,
    DurationCounts,
    MachineSort,
    ShardFigures,
    SpendingRow,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.record_codecs import NOT_NEGATIVE, RecordCodec

FIGURES = RecordCodec(
    ShardFigures,
    pb.GetFiguresResponse,
    epoch="shard_epoch",
    computed_at="computed_at_unix_nanos",
    sorts=RecordCodec(MachineSort, pb.MachineSort),
    spending=RecordCodec(SpendingRow, pb.SpendingRow),
    classes=RecordCodec(ClassCounts, pb.ClassCounts),
    durations=RecordCodec(DurationCounts, pb.DurationCounts),
)


def axes_in(request: pb.GetFiguresRequest) -> tuple[tuple[CostAxis, ...]]:
    """Raises Rejected where an axis is not one."""
    known = {str(axis): axis for axis in CostAxis}
    if odd := [name for name in request.axes if name not in known]:
        text = f"axes: {odd[0][:100]!r} is not one; there are {', '.join(known)}"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    return (tuple(known[name] for name in request.axes),)


AVAILABLE_CALL = RecordCodec(AvailableCall, pb.ListAvailableRequest, limit=NOT_NEGATIVE)
AVAILABLE = RecordCodec(
    AvailableList,
    pb.ListAvailableResponse,
    rows=RecordCodec(AvailableRow, pb.AvailableRow, fingerprint="profile_fingerprint"),
)
