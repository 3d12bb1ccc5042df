"""A shard's report and its answer as messages, both ways: what ReportShard carries.

The reader bounds what it takes: of shortfalls the contract's hundred are kept, as far as they fit
into its memory, reasons are cut, and other too long fields are refused by name. Instructions
that do not fit into an answer come with the next one.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import cast

from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    InstructionAck,
    InstructionKind,
    ReportReply,
    ShardReport,
)
from bigfleet.model.needs import Need
from bigfleet.model.penalties import PINNED, UNSPECIFIED, Bucket
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import ShardSummary, ShortfallRow
from bigfleet.v1alpha1 import capacity_pb2
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from bigfleet.wire.audits import LONGEST_REASON, name_of
from bigfleet.wire.needs import (
    requirement_messages,
    requirements_of,
    resources_message,
    resources_of,
)
from bigfleet.wire.record_codecs import Conversion, Field, RecordCodec

#: The most pressing ones come first.
MOST_SHORTFALLS = 100
#: Bytes of shortfalls that are sent and kept: a coordinator keeps those of all its shards.
MOST_SHORTFALL_BYTES = 4 * 1024 * 1024
#: Bytes of instructions in one answer; at least one is always told.
MOST_INSTRUCTED_BYTES = 32 * 1024 * 1024
#: Instance types, zones, and instructions answered at once.
MOST_COUNTED, MOST_ACKS = 10_000, 10_000


def most_of(field: str, count: int, most: int) -> None:
    if count > most:
        text = f"{field} has {count} rows; {most} are the most"
        raise Rejected(Code.INVALID_ARGUMENT, text)


def _counts_of(field: str) -> Field:
    def read(counts: Mapping[str, int]) -> dict[str, int]:
        most_of(field, len(counts), MOST_COUNTED)
        return dict(counts)

    return Field(field, Conversion(read=read))


def _cut(reason: str) -> str:
    return reason[:LONGEST_REASON]


SUMMARY = RecordCodec(
    ShardSummary,
    pb.ShardSummary,
    count_of_instance_type=_counts_of("per_instance_type_counts"),
    count_of_zone=_counts_of("per_zone_counts"),
    provider_address=Conversion(read=partial(name_of, "provider_address")),
)
ACK = RecordCodec(InstructionAck, pb.InstructAck, reason=Conversion(_cut, _cut))


def report_bytes(report: ShardReport) -> bytes:
    return pb.ShardReport(
        shard_id=report.shard_id,
        cycle=report.cycle,
        timestamp_unix_nanos=report.at,
        shard_epoch=report.epoch,
        summary=SUMMARY.message(report.summary),
        shortfalls=[_shortfall_message(row) for row in report.shortfalls],
        instruction_acks=ACK.messages(report.acks),
        shard_address=report.address,
    ).SerializeToString(deterministic=True)


def report_of(message: pb.ShardReport) -> ShardReport:
    """Raises Rejected for what is too much."""
    acks = message.instruction_acks
    most_of("instruction_acks", len(acks), MOST_ACKS)
    told = message.shortfalls[:MOST_SHORTFALLS]
    kept = _fitting(told, MOST_SHORTFALL_BYTES)
    return ShardReport(
        shard_id=name_of("shard_id", message.shard_id),
        cycle=message.cycle,
        at=message.timestamp_unix_nanos,
        epoch=message.shard_epoch,
        address=name_of("shard_address", message.shard_address),
        summary=SUMMARY.record(message.summary),
        shortfalls=tuple(map(_shortfall_of, kept)),
        acks=ACK.records(acks),
        rows_left_off=len(told) - len(kept),
    )


def reply_bytes(reply: ReportReply) -> bytes:
    """Instructions are resent until they are acknowledged: the first ones that fit will do."""
    told: list[pb.CoordinatorInstruction] = []
    size = 0
    for each in reply.instructions:
        instruction = instruction_message(each)
        size += instruction.ByteSize()
        if told and size > MOST_INSTRUCTED_BYTES:
            break
        told.append(instruction)
    return pb.ReportAck(
        coordinator_term=reply.term, acknowledged=reply.acknowledged, instructions=told
    ).SerializeToString(deterministic=True)


def reply_of(content: bytes) -> ReportReply:
    """Raises DecodeError where the bytes are not a ReportAck."""
    message = pb.ReportAck.FromString(content)
    return ReportReply(
        message.coordinator_term,
        message.acknowledged,
        tuple(instruction_of(each) for each in message.instructions),
    )


def instruction_message(each: CoordinatorInstruction) -> pb.CoordinatorInstruction:
    message = pb.CoordinatorInstruction(
        coordinator_term=each.term, sequence_number=each.sequence, instruction_id=each.id
    )
    match each.kind:
        case InstructionKind.ASSIGN_DOMAIN | InstructionKind.UNASSIGN_DOMAIN:
            assigns = each.kind is InstructionKind.ASSIGN_DOMAIN
            told = message.assign_domain if assigns else message.unassign_domain
            told.SetInParent()
            told.topology_key, told.topology_value = each.topology_key, each.topology_value
        case InstructionKind.REASSIGN_SPECULATIVE:
            message.reassign_speculative.SetInParent()
            message.reassign_speculative.machine_ids.extend(each.machine_ids)
        case InstructionKind.CROSS_SHARD_DRAIN:
            drain = message.cross_shard_drain
            drain.SetInParent()
            drain.machine_ids.extend(each.machine_ids)
            drain.preemptor_priority = each.preemptor_priority
        case InstructionKind.TRANSFER_OWNERSHIP:
            transfer = message.transfer_ownership
            transfer.SetInParent()
            transfer.machine_ids.extend(each.machine_ids)
            transfer.from_shard_id, transfer.to_shard_id = each.from_shard, each.to_shard
        case InstructionKind.UNKNOWN:
            """Nothing to say: its reader answers that it is invalid."""
    return message


def instruction_of(message: pb.CoordinatorInstruction) -> CoordinatorInstruction:
    word = message.WhichOneof("payload")
    kind = InstructionKind(word) if word is not None else InstructionKind.UNKNOWN
    drain, transfer = message.cross_shard_drain, message.transfer_ownership
    key, value, machines = "", "", tuple[str, ...]()
    match kind:
        case InstructionKind.ASSIGN_DOMAIN:
            key, value = message.assign_domain.topology_key, message.assign_domain.topology_value
        case InstructionKind.UNASSIGN_DOMAIN:
            told = message.unassign_domain
            key, value = told.topology_key, told.topology_value
        case InstructionKind.REASSIGN_SPECULATIVE:
            machines = tuple(message.reassign_speculative.machine_ids)
        case InstructionKind.CROSS_SHARD_DRAIN:
            machines = tuple(drain.machine_ids)
        case InstructionKind.TRANSFER_OWNERSHIP:
            machines = tuple(transfer.machine_ids)
        case InstructionKind.UNKNOWN:
            """Its reader answers that it is invalid."""
    return CoordinatorInstruction(
        id=message.instruction_id,
        kind=kind,
        term=message.coordinator_term,
        sequence=message.sequence_number,
        topology_key=key,
        topology_value=value,
        machine_ids=machines,
        preemptor_priority=drain.preemptor_priority,
        from_shard=transfer.from_shard_id,
        to_shard=transfer.to_shard_id,
    )


def bucket_of(number: int) -> Bucket:
    """UNSPECIFIED for a number of a later version."""
    return number if 0 <= number <= PINNED else UNSPECIFIED


def bucket_number(bucket: Bucket) -> "capacity_pb2.PenaltyBucket.ValueType":
    return cast("capacity_pb2.PenaltyBucket.ValueType", bucket)


def shortfall_row_bytes(row: ShortfallRow) -> int:
    return _shortfall_message(row).ByteSize()


def ack_row_bytes(ack: InstructionAck) -> int:
    return ACK.message(ack).ByteSize()


def _fitting(rows: Iterable[pb.Shortfall], most_bytes: int) -> list[pb.Shortfall]:
    """One that is too large does not cost the others their place."""
    kept, size = [], 0
    for row in rows:
        # Eight bytes for its tag and its length.
        weight = row.ByteSize() + 8
        if size + weight <= most_bytes:
            kept.append(row)
            size += weight
    return kept


def _shortfall_message(row: ShortfallRow) -> pb.Shortfall:
    profile = row.need.profile
    return pb.Shortfall(
        requirements=requirement_messages(profile.requirements),
        deficit=resources_message(row.deficit.positive()),
        priority=profile.priority,
        age_cycles=row.age,
        interruption_penalty_bucket=bucket_number(profile.interruption_bucket),
    )


def _shortfall_of(message: pb.Shortfall) -> ShortfallRow:
    """Whose clusters it was is not told, nor the rest of the profile."""
    deficit = resources_of(message.deficit)
    profile = Profile.of(
        requirements_of(message.requirements),
        (),
        message.priority,
        bucket_of(message.interruption_penalty_bucket),
    )
    return ShortfallRow(Need("", profile, deficit), deficit, message.age_cycles)
