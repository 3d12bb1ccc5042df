"""A shard's line to the coordinators: a report out, instructions back, every failure a Rejected.

One connection per address, kept while somebody calls it. Whom to call is the caller's decision; a
coordinator that does not lead and knows who does is a NotLeader.
"""

from collections.abc import Collection
from typing import cast

from google.protobuf.message import DecodeError

from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    InstructionAck,
    InstructionKind,
    ReportReply,
    ShardReport,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import ShardSummary, ShortfallRow
from bigfleet.v1alpha1 import capacity_pb2
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from bigfleet.wire.calling import ClientLine
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.needs import requirement_messages, resources_message

SERVICE = "bigfleet.v1alpha1.Coordinator"
REPORT_SHARD = f"/{SERVICE}/ReportShard"


class CoordinatorLines:
    def __init__(self, tls: TlsFiles | None = None) -> None:
        self._tls = tls
        self._lines: dict[str, ClientLine] = {}

    async def report(self, address: str, report: ShardReport, deadline: float) -> ReportReply:
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = ClientLine(address, self._tls)
        answer = await line.call(REPORT_SHARD, report_bytes(report), deadline)
        try:
            return reply_of(answer)
        except DecodeError as problem:
            text = f"the answer to ReportShard cannot be read: {problem}"
            raise Rejected(Code.INTERNAL, text) from None

    async def keep_only(self, addresses: Collection[str]) -> None:
        """Closes the lines to whoever is not called any more."""
        for address in self._lines.keys() - set(addresses):
            await self._lines.pop(address).close()

    async def close(self) -> None:
        await self.keep_only(())


def report_bytes(report: ShardReport) -> bytes:
    return pb.ShardReport(
        shard_id=report.shard_id,
        cycle=report.cycle,
        timestamp_unix_nanos=report.at,
        shard_epoch=report.epoch,
        summary=_summary_message(report.summary),
        shortfalls=[_shortfall_message(row) for row in report.shortfalls],
        instruction_acks=[_ack_message(ack) for ack in report.acks],
        shard_address=report.address,
    ).SerializeToString(deterministic=True)


def reply_of(content: bytes) -> ReportReply:
    message = pb.ReportAck.FromString(content)
    return ReportReply(
        message.coordinator_term,
        message.acknowledged,
        tuple(_instruction_of(each) for each in message.instructions),
    )


def _summary_message(summary: ShardSummary) -> pb.ShardSummary:
    return pb.ShardSummary(
        total_machines=summary.total_machines,
        free_machines=summary.free_machines,
        per_instance_type_counts=summary.count_of_instance_type,
        per_zone_counts=summary.count_of_zone,
        provider_address=summary.provider_address,
    )


def _shortfall_message(row: ShortfallRow) -> pb.Shortfall:
    profile = row.need.profile
    bucket = cast("capacity_pb2.PenaltyBucket.ValueType", profile.interruption_bucket)
    return pb.Shortfall(
        requirements=requirement_messages(profile.requirements),
        deficit=resources_message(row.deficit.positive()),
        priority=profile.priority,
        age_cycles=row.age,
        interruption_penalty_bucket=bucket,
    )


def _ack_message(ack: InstructionAck) -> pb.InstructAck:
    outcome = cast("pb.InstructAck.Outcome.ValueType", ack.outcome.value)
    return pb.InstructAck(instruction_id=ack.instruction_id, outcome=outcome, reason=ack.reason)


def _instruction_of(message: pb.CoordinatorInstruction) -> CoordinatorInstruction:
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
            """Answered as invalid by whoever reads it."""
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
