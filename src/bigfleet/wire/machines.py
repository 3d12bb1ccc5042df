"""A machine record as bytes and back, and the answers made of such bytes without building messages.

Equal records have equal bytes (maps are written in order), so callers can compare the bytes.
An unknown state or capacity type reads as UNSPECIFIED; unknown fields are ignored.
"""

from collections.abc import Iterable
from typing import TypeVar, cast

from google.protobuf.message import DecodeError, Message

from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import Ack, MachineRecord
from bigfleet.v1alpha1 import provider_pb2 as pb

M = TypeVar("M", bound=Message)

_STATES = {int(state): state for state in MachineState}
_CAPACITY_TYPES = {int(kind): kind for kind in CapacityType}

#: Field 1 of MachineList and of TransitionAck; field 2 of both. All are length-delimited.
_FIRST = b"\x0a"
_SECOND = b"\x12"


def machine_bytes(record: MachineRecord) -> bytes:
    return message_of(record).SerializeToString(deterministic=True)


def record_of(machine: bytes) -> MachineRecord:
    """Raises ValueError where the bytes are not a Machine."""
    return record_of_message(_parsed(pb.Machine(), machine))


def message_of(record: MachineRecord) -> pb.Machine:
    host = record.host
    return pb.Machine(
        id=record.id,
        state=state_number(record.state),
        host=pb.HostRef(provider=host.provider, ref=host.ref) if host is not None else None,
        instance_type=record.instance_type,
        zone=record.zone,
        capacity_type=cast("pb.CapacityType.ValueType", record.capacity_type.value),
        price_per_hour=record.price_per_hour,
        interruption_probability=record.interruption_probability,
        resources=pb.Resources(resources=record.resources) if record.resources else None,
        labels=record.labels,
        last_error=record.last_error,
        allocatable=pb.Resources(resources=record.allocatable) if record.allocatable else None,
        cluster=record.cluster,
        shard_metadata=record.shard_metadata,
    )


def record_of_message(machine: pb.Machine) -> MachineRecord:
    host = machine.host
    return MachineRecord(
        id=machine.id,
        state=state_of(machine.state),
        host=Host(host.provider, host.ref) if machine.HasField("host") else None,
        instance_type=machine.instance_type,
        zone=machine.zone,
        capacity_type=_CAPACITY_TYPES.get(machine.capacity_type, CapacityType.UNSPECIFIED),
        price_per_hour=machine.price_per_hour,
        interruption_probability=machine.interruption_probability,
        resources=dict(machine.resources.resources),
        labels=dict(machine.labels),
        last_error=machine.last_error,
        allocatable=dict(machine.allocatable.resources),
        cluster=machine.cluster,
        shard_metadata=dict(machine.shard_metadata),
    )


def state_of(number: int) -> MachineState:
    return _STATES.get(number, MachineState.UNSPECIFIED)


def state_number(state: MachineState) -> "pb.MachineState.ValueType":
    return cast("pb.MachineState.ValueType", state.value)


def ack_bytes(operation_id: str, machine: bytes) -> bytes:
    """A TransitionAck around a machine that is already bytes."""
    name = operation_id.encode()
    return b"".join(
        (_FIRST, length_bytes(len(name)), name, _SECOND, length_bytes(len(machine)), machine)
    )


def ack_of(ack: bytes) -> Ack:
    message = _parsed(pb.TransitionAck(), ack)
    return Ack(message.operation_id, record_of_message(message.machine))


def list_entry(machine: bytes) -> bytes:
    """The machine as it lies in a MachineList: to be kept beside the record and joined."""
    return b"".join((_FIRST, length_bytes(len(machine)), machine))


def list_bytes(entries: Iterable[bytes], revision: bytes) -> bytes:
    """A MachineList of entries that are already bytes: one join, however many."""
    if not revision:
        return b"".join(entries)
    return b"".join((*entries, _SECOND, length_bytes(len(revision)), revision))


def list_of(answer: bytes) -> tuple[tuple[MachineRecord, ...], bytes]:
    """The records and the revision of a MachineList; big ones go through machine_batches."""
    message = _parsed(pb.MachineList(), answer)
    return tuple(record_of_message(machine) for machine in message.machines), message.revision


def _parsed(into: M, content: bytes) -> M:
    try:
        into.ParseFromString(content)
    except DecodeError as problem:
        raise ValueError(f"no {into.DESCRIPTOR.name}: {problem}") from problem
    return into


def length_bytes(size: int) -> bytes:
    """A varint."""
    if size < 0x80:
        return bytes((size,))
    out = bytearray()
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)
