"""The frames of a session as bytes and back.

A roll-up stays bytes inside its frame: what lies in it is read elsewhere, or never. A payload of a
later version is an UnknownFrame to the shard and None to an operator; both skip it.
"""

from typing import assert_never, cast

from google.protobuf.message import DecodeError

from bigfleet.model.session_frames import (
    Acknowledgement,
    AvailableCapacityUpdate,
    BootstrapRequest,
    BootstrapResponse,
    Confidence,
    Hello,
    NodeStateUpdate,
    OperatorFrame,
    ReclaimAck,
    ReclaimInstruction,
    RollupFrame,
    ShardFrame,
    UnknownFrame,
)
from bigfleet.model.taints import Taint
from bigfleet.v1alpha1 import shard_pb2 as pb
from bigfleet.wire.machines import length_bytes, state_number, state_of
from bigfleet.wire.needs import (
    requirement_messages,
    requirements_of,
    resources_message,
    resources_of,
)

SERVICE = "bigfleet.v1alpha1.Shard"
SESSION = f"/{SERVICE}/Session"

_AVAILABLE = "available:"
_CONFIDENCES = {int(confidence): confidence for confidence in Confidence}
#: Field 2 of OperatorMessage, length-delimited.
_ROLLUP = b"\x12"


class NoFrame(ValueError):
    """The bytes are not a message of a session."""


def operator_frame(content: bytes) -> OperatorFrame:
    """Raises NoFrame."""
    rollup = _only_rollup(content)
    if rollup is not None:
        return RollupFrame(rollup)
    try:
        message = pb.OperatorMessage.FromString(content)
    except DecodeError as problem:
        raise NoFrame(f"the frame is not an OperatorMessage: {problem}") from None
    match message.WhichOneof("payload"):
        case "hello":
            return Hello(message.hello.cluster_id, message.hello.protocol_version)
        case "rollup":
            return RollupFrame(message.rollup.SerializeToString())
        case "bootstrap_response":
            blob = message.bootstrap_response
            return BootstrapResponse(blob.request_id, blob.user_data, blob.ttl_seconds, blob.error)
        case "reclaim_ack":
            return ReclaimAck(message.reclaim_ack.instruction_id, message.reclaim_ack.nodes_started)
        case _:
            return UnknownFrame()


def operator_bytes(frame: OperatorFrame) -> bytes:
    match frame:
        case RollupFrame():
            return b"".join((_ROLLUP, length_bytes(len(frame.content)), frame.content))
        case Hello():
            hello = pb.Hello(cluster_id=frame.cluster_id, protocol_version=frame.protocol_version)
            message = pb.OperatorMessage(hello=hello)
        case BootstrapResponse():
            blob = pb.BootstrapBlobResponse(
                request_id=frame.request_id,
                user_data=frame.user_data,
                ttl_seconds=frame.ttl_seconds,
                error=frame.error,
            )
            message = pb.OperatorMessage(bootstrap_response=blob)
        case ReclaimAck():
            ack = pb.ReclaimAck(
                instruction_id=frame.instruction_id, nodes_started=frame.nodes_started
            )
            message = pb.OperatorMessage(reclaim_ack=ack)
        case UnknownFrame():
            message = pb.OperatorMessage()
        case _:
            assert_never(frame)
    return message.SerializeToString()


def shard_frame(content: bytes) -> ShardFrame | None:
    """Raises NoFrame; None for a payload this version does not know."""
    try:
        message = pb.ShardMessage.FromString(content)
    except DecodeError as problem:
        raise NoFrame(f"the frame is not a ShardMessage: {problem}") from None
    match message.WhichOneof("payload"):
        case "ack":
            ack = message.ack
            return Acknowledgement(ack.echo, ack.coordinator_term, ack.shard_epoch)
        case "bootstrap_request":
            asked = message.bootstrap_request
            return BootstrapRequest(
                asked.request_id, asked.cluster_id, requirements_of(asked.requirements)
            )
        case "reclaim_instruction":
            reclaim = message.reclaim_instruction
            return ReclaimInstruction(
                reclaim.instruction_id,
                tuple(reclaim.nodes),
                reclaim.grace_period_seconds,
                reclaim.preemptor_priority,
            )
        case "node_state_update":
            return _node_state(message.node_state_update)
        case "available_capacity":
            return _available(message.available_capacity)
        case _:
            return None


def shard_bytes(frame: ShardFrame) -> bytes:
    match frame:
        case Acknowledgement():
            ack = pb.Acknowledgement(
                echo=frame.echo,
                coordinator_term=frame.coordinator_term,
                shard_epoch=frame.shard_epoch,
            )
            message = pb.ShardMessage(ack=ack)
        case BootstrapRequest():
            asked = pb.BootstrapRequest(
                request_id=frame.request_id,
                requirements=requirement_messages(frame.requirements),
                cluster_id=frame.cluster_id,
            )
            message = pb.ShardMessage(bootstrap_request=asked)
        case ReclaimInstruction():
            reclaim = pb.ReclaimInstruction(
                instruction_id=frame.instruction_id,
                nodes=frame.nodes,
                grace_period_seconds=frame.grace_period_seconds,
                preemptor_priority=frame.preemptor_priority,
            )
            message = pb.ShardMessage(reclaim_instruction=reclaim)
        case NodeStateUpdate():
            message = pb.ShardMessage(node_state_update=_node_state_message(frame))
        case AvailableCapacityUpdate():
            message = pb.ShardMessage(available_capacity=_available_message(frame))
        case _:
            assert_never(frame)
    return message.SerializeToString(deterministic=True)


def _only_rollup(content: bytes) -> bytes | None:
    """The roll-up of a frame that is nothing else, cut out unread; None for any other frame."""
    if content[:1] != _ROLLUP:
        return None
    at, size, shift = 1, 0, 0
    for at in range(1, min(len(content), 6)):
        size |= (content[at] & 0x7F) << shift
        shift += 7
        if content[at] < 0x80:
            break
    else:
        return None
    return content[at + 1 :] if at + 1 + size == len(content) else None


def _node_state(update: pb.NodeStateUpdate) -> NodeStateUpdate:
    return NodeStateUpdate(
        machine_id=update.machine_id,
        cluster_id=update.cluster_id,
        state=state_of(update.state),
        node_name=update.node_name,
        provider_id=update.provider_id,
        last_error=update.last_error,
        labels=dict(update.labels),
        resources=resources_of(update.resources),
        taints=tuple(Taint(each.key, each.effect, each.value) for each in update.taints),
    )


def _node_state_message(update: NodeStateUpdate) -> pb.NodeStateUpdate:
    return pb.NodeStateUpdate(
        supersedes_key=update.supersedes_key,
        machine_id=update.machine_id,
        cluster_id=update.cluster_id,
        state=state_number(update.state),
        node_name=update.node_name,
        provider_id=update.provider_id,
        last_error=update.last_error,
        labels=update.labels,
        resources=resources_message(update.resources),
        taints=[pb.Taint(key=t.key, effect=t.effect, value=t.value) for t in update.taints],
    )


def _available(update: pb.AvailableCapacityUpdate) -> AvailableCapacityUpdate:
    return AvailableCapacityUpdate(
        fingerprint=update.supersedes_key.removeprefix(_AVAILABLE),
        requirements=requirements_of(update.requirements),
        available_count=update.available_count,
        confidence=_CONFIDENCES.get(update.confidence, Confidence.UNSPECIFIED),
        cost_per_hour=update.cost_per_hour,
        resources=resources_of(update.resources),
    )


def _available_message(update: AvailableCapacityUpdate) -> pb.AvailableCapacityUpdate:
    return pb.AvailableCapacityUpdate(
        supersedes_key=update.supersedes_key,
        requirements=requirement_messages(update.requirements),
        available_count=update.available_count,
        confidence=cast("pb.AvailableCapacityUpdate.Confidence.ValueType", update.confidence.value),
        cost_per_hour=update.cost_per_hour,
        resources=resources_message(update.resources),
    )
