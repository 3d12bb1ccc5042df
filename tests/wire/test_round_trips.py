"""Every message of ours survives writing and reading: U+0000, extreme numbers, empty maps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import Ack, MachineRecord
from bigfleet.wire.machines import (
    ack_bytes,
    ack_of,
    list_bytes,
    list_entry,
    list_of,
    machine_bytes,
    record_of,
)
from tests.wire.descriptors import ADMIN, CONTRACT

MESSAGES: list[Descriptor] = [
    descriptor
    for module in (*CONTRACT, *ADMIN)
    for descriptor in module.DESCRIPTOR.message_types_by_name.values()
]
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])

text = st.text(
    alphabet=st.one_of(st.just("\x00"), st.characters(exclude_categories=["Cs"])), max_size=8
)
int32 = st.one_of(st.sampled_from([-(2**31), -1, 0, 2**31 - 1]), st.integers(-1000, 1000))
int64 = st.one_of(st.sampled_from([-(2**63), -1, 0, 2**63 - 1]), st.integers(-1000, 1000))
double = st.floats(allow_nan=False)
Kind = FieldDescriptor
SCALARS: dict[int, st.SearchStrategy[object]] = {
    Kind.TYPE_STRING: text,
    Kind.TYPE_BYTES: st.binary(max_size=8),
    Kind.TYPE_INT32: int32,
    Kind.TYPE_INT64: int64,
    Kind.TYPE_SINT64: int64,
    Kind.TYPE_BOOL: st.booleans(),
    Kind.TYPE_DOUBLE: double,
    Kind.TYPE_ENUM: st.one_of(st.integers(0, 8), st.sampled_from([99, 2**31 - 1, -1])),
}


def messages(
    descriptor: Descriptor, above: tuple[Descriptor, ...] = ()
) -> st.SearchStrategy[Message]:
    """Any message of the type: any subset of its fields, one at most of each oneof; none within
    another of its type."""
    inside = (*above, descriptor)
    alternatives = [
        [(field.name, values(field, inside)) for field in oneof.fields]
        for oneof in descriptor.oneofs
    ]
    loose = {
        field.name: values(field, inside)
        for field in descriptor.fields
        if field.containing_oneof is None and field.message_type not in inside
    }
    chosen = [st.one_of(*(st.tuples(st.just(n), v) for n, v in some)) for some in alternatives]
    return st.builds(
        lambda fields, oneofs: GetMessageClass(descriptor)(**fields, **dict(oneofs)),
        st.fixed_dictionaries({}, optional=loose),
        st.tuples(*chosen),
    )


def values(field: FieldDescriptor, above: tuple[Descriptor, ...]) -> st.SearchStrategy[object]:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        value = inner.fields_by_name["value"]
        return st.dictionaries(text, SCALARS[value.type], max_size=3)
    one = messages(inner, above) if inner is not None else SCALARS[field.type]
    return st.lists(one, max_size=2) if field.is_repeated else one


@pytest.mark.parametrize("descriptor", MESSAGES, ids=lambda d: d.name)
def test_any_message_survives_writing_and_reading(descriptor: Descriptor) -> None:
    @QUICK
    @given(messages(descriptor))
    def survives(message: Message) -> None:
        assert type(message).FromString(message.SerializeToString()) == message

    survives()


quantities = st.dictionaries(text, text, max_size=3)
records = st.builds(
    MachineRecord,
    id=text,
    state=st.sampled_from(MachineState),
    host=st.none() | st.builds(Host, text, text),
    instance_type=text,
    zone=text,
    capacity_type=st.sampled_from(CapacityType),
    price_per_hour=double,
    interruption_probability=double,
    resources=quantities,
    labels=quantities,
    last_error=text,
    allocatable=quantities,
    cluster=text,
    shard_metadata=quantities,
)


@given(records)
@settings(deadline=None)
def test_any_record_survives_the_wire(record: MachineRecord) -> None:
    assert record_of(machine_bytes(record)) == record


@given(records)
@settings(deadline=None)
def test_equal_records_have_equal_bytes_in_any_order_of_filling_their_maps(
    record: MachineRecord,
) -> None:
    other = replace(
        record,
        labels=turned(record.labels),
        resources=turned(record.resources),
        shard_metadata=turned(record.shard_metadata),
    )
    assert machine_bytes(other) == machine_bytes(record)


@given(text, records)
@settings(deadline=None)
def test_an_ack_made_of_bytes_is_the_ack(operation_id: str, record: MachineRecord) -> None:
    assert ack_of(ack_bytes(operation_id, machine_bytes(record))) == Ack(operation_id, record)


@given(st.lists(records, max_size=4), st.binary(max_size=300))
@settings(deadline=None)
def test_a_list_made_of_bytes_is_the_list(machines: Sequence[MachineRecord], rev: bytes) -> None:
    entries = [list_entry(machine_bytes(machine)) for machine in machines]
    assert list_of(list_bytes(entries, rev)) == (tuple(machines), rev)


def turned(entries: Mapping[str, str]) -> dict[str, str]:
    return dict(reversed(list(entries.items())))


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 2_097_152])
def test_lengths_of_every_width_are_written_right(size: int) -> None:
    record = MachineRecord("m", MachineState.IDLE, last_error="x" * size)
    (back,), _ = list_of(list_bytes([list_entry(machine_bytes(record))], b""))
    assert back == record


def test_infinite_and_missing_prices_survive_for_the_shard_to_refuse() -> None:
    endless = MachineRecord("m", MachineState.IDLE, price_per_hour=math.inf)
    nothing = MachineRecord("m", MachineState.IDLE, price_per_hour=math.nan)
    assert record_of(machine_bytes(endless)).price_per_hour == math.inf
    assert math.isnan(record_of(machine_bytes(nothing)).price_per_hour)
