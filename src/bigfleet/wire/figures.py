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


def figures_asked(request: pb.GetFiguresRequest) -> tuple[tuple[CostAxis, ...], int]:
    """Raises Rejected where an axis or a cycle is not one."""
    known = {str(axis): axis for axis in CostAxis}
    if odd := [name for name in request.axes if name not in known]:
        text = f"axes: {odd[0][:100]!r} is not one; there are {', '.join(known)}"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    if request.cycle < 0:
        text = f"cycle: {request.cycle} is negative; 0 is the last cycle"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    return (tuple(known[name] for name in request.axes), request.cycle)


AVAILABLE_CALL = RecordCodec(AvailableCall, pb.ListAvailableRequest, limit=NOT_NEGATIVE)
AVAILABLE = RecordCodec(
    AvailableList,
    pb.ListAvailableResponse,
    rows=RecordCodec(AvailableRow, pb.AvailableRow, fingerprint="profile_fingerprint"),
)
