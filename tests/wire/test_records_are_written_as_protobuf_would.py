"""Records written by hand are what protobuf writes of them, save for the order inside a map."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.wire import machines
from bigfleet.wire.provider_records import machine_bytes, varint

#: Surrogates are not text and cannot be written.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
long_texts = st.sampled_from(["", "x" * 127, "x" * 128, "\u00e9" * 64, "x" * 20_000])
maps = st.dictionaries(texts | long_texts, texts | long_texts, max_size=6)
records = st.builds(
    MachineRecord,
    id=texts | long_texts,
    state=st.sampled_from(MachineState),
    host=st.none() | st.builds(Host, texts, texts | long_texts),
    instance_type=texts,
    zone=texts,
    capacity_type=st.sampled_from(CapacityType),
    price_per_hour=st.floats() | st.sampled_from([0.0, -0.0]),
    interruption_probability=st.floats(),
    resources=maps,
    labels=maps,
    last_error=texts | long_texts,
    allocatable=maps,
    cluster=texts,
    shard_metadata=maps,
)


@given(records)
def test_protobuf_reads_the_same_record_and_wastes_no_byte_on_it(record: MachineRecord) -> None:
    written, expected = machine_bytes(record), machines.machine_bytes(record)
    assert machines.machine_bytes(machines.record_of(written)) == expected
    assert len(written) == len(expected)


@given(records)
def test_without_maps_the_bytes_are_protobufs_bytes(record: MachineRecord) -> None:
    bare = replace(record, labels={}, resources={}, allocatable={}, shard_metadata={})
    assert machine_bytes(bare) == machines.machine_bytes(bare)


@given(records, st.permutations(["a", "b", "\u00e9", "\U0001f600", "\uffff"]))
def test_the_order_a_map_was_filled_in_does_not_show(
    record: MachineRecord, keys: list[str]
) -> None:
    def filled(keys: list[str]) -> bytes:
        field = dict.fromkeys(keys, "v")
        return machine_bytes(
            replace(record, labels=field, resources=field, allocatable=field, shard_metadata=field)
        )

    assert filled(keys) == filled(sorted(keys))


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, b"\x00"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (300, b"\xac\x02"),
        (2**21, b"\x80\x80\x80\x01"),
    ],
)
def test_lengths_are_written_seven_bits_at_a_time(number: int, written: bytes) -> None:
    assert varint(number) == written
