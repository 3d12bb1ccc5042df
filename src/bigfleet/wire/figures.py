"""A shard in figures, as a message and back."""

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.figures import (
    ClassCounts,
    DurationCounts,
    MachineSort,
    ShardFigures,
    SpendingRow,
)
from bigfleet.wire.record_codecs import RecordCodec

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
