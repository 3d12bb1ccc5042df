"""The vectors of the contract, to the byte, and what a reader makes of what it does not know."""

import pytest
from google.protobuf.message import Message

from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import ConfigureCall, ListCall, MachineRecord, Token
from bigfleet.v1alpha1 import capacity_pb2, coordinator_pb2, provider_pb2, shard_pb2
from bigfleet.wire.machines import ack_of, list_of, machine_bytes, record_of
from bigfleet.wire.provider_requests import configure_call, create_call, list_call, mutation_bytes

ROLLUP = capacity_pb2.ClusterCapacityNeeds(
    cluster_id="c1",
    timestamp_unix_nanos=1,
    needs=[
        capacity_pb2.CapacityNeed(
            requirements=[
                capacity_pb2.NodeSelectorRequirement(
                    key="node.kubernetes.io/instance-type",
                    operator=capacity_pb2.NodeSelectorRequirement.OPERATOR_IN,
                    values=["a3"],
                )
            ],
            aggregate_resources={"cpu": "4"},
            priority=-5,
            interruption_penalty_bucket=capacity_pb2.PENALTY_BUCKET_HALF_DOLLAR,
            reclamation_penalty_bucket=capacity_pb2.PENALTY_BUCKET_PINNED,
            min_unit={"cpu": "2"},
        )
    ],
)
VECTORS: dict[str, tuple[Message, str]] = {
    "an operator's hello": (
        shard_pb2.OperatorMessage(
            hello=shard_pb2.Hello(cluster_id="c1", protocol_version="v1alpha1")
        ),
        "0a0e0a0263311a087631616c70686131",
    ),
    "a roll-up": (
        shard_pb2.OperatorMessage(rollup=ROLLUP),
        "12550a02633110011a4d0a280a206e6f64652e6b756265726e657465732e696f2f696e7374616e63652d7479"
        "706510011a02613312080a0363707512013418fbffffffffffffffff013002381b42080a03637075120132",
    ),
    "a reclaim instruction": (
        shard_pb2.ShardMessage(
            reclaim_instruction=shard_pb2.ReclaimInstruction(
                instruction_id="bf1-7", nodes=["m-1"], grace_period_seconds=600
            )
        ),
        "1a0f0a056266312d3712036d2d3118d804",
    ),
    "a machine": (
        provider_pb2.Machine(
            id="m-1",
            state=provider_pb2.MACHINE_STATE_IDLE,
            host=provider_pb2.HostRef(provider="sim", ref="h-1"),
            instance_type="a3",
            zone="z-a",
            capacity_type=provider_pb2.CAPACITY_TYPE_SPOT,
            price_per_hour=0.5,
            interruption_probability=0.25,
        ),
        "0a036d2d3110031a0a0a0373696d1203682d31220261332a037a2d61300439000000000000e03f4100000000"
        "0000d03f",
    ),
    "a configure request": (
        provider_pb2.ConfigureRequest(
            machine_id="m-1",
            cluster_id="c1",
            bootstrap_blob=b"\x00\x01",
            shard_id="shard-0",
            shard_epoch=2,
            sequence_number=9,
        ),
        "0a036d2d31120263311a020001220773686172642d3028023009",
    ),
    "a report ack": (
        coordinator_pb2.ReportAck(
            instructions=[
                coordinator_pb2.CoordinatorInstruction(
                    coordinator_term=3,
                    sequence_number=1,
                    instruction_id="i1",
                    transfer_ownership=coordinator_pb2.TransferOwnership(
                        machine_ids=["m-1"], from_shard_id="shard-0", to_shard_id="shard-1"
                    ),
                )
            ]
        ),
        "1a21080310011a02693142170a036d2d31120773686172642d301a0773686172642d31",
    ),
}
MACHINE = bytes.fromhex(VECTORS["a machine"][1])
RECORD = MachineRecord(
    id="m-1",
    state=MachineState.IDLE,
    host=Host("sim", "h-1"),
    instance_type="a3",
    zone="z-a",
    capacity_type=CapacityType.SPOT,
    price_per_hour=0.5,
    interruption_probability=0.25,
)
#: Field 99, one of each shape: a number, 8 bytes, a length-delimited text, 4 bytes.
UNKNOWN = {
    "a number": "980605",
    "eight bytes": "99060102030405060708",
    "a text": "9a0603616263",
    "four bytes": "9d0601020304",
}


@pytest.mark.parametrize(("message", "hexadecimal"), VECTORS.values(), ids=VECTORS)
def test_a_message_is_written_to_the_byte(message: Message, hexadecimal: str) -> None:
    assert message.SerializeToString(deterministic=True).hex() == hexadecimal


@pytest.mark.parametrize(("message", "hexadecimal"), VECTORS.values(), ids=VECTORS)
def test_the_bytes_are_read_as_the_message(message: Message, hexadecimal: str) -> None:
    assert type(message).FromString(bytes.fromhex(hexadecimal)) == message


@pytest.mark.parametrize("extra", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize(("message", "hexadecimal"), VECTORS.values(), ids=VECTORS)
def test_an_unknown_field_changes_nothing_that_is_known(
    message: Message, hexadecimal: str, extra: str
) -> None:
    read = type(message).FromString(bytes.fromhex(hexadecimal + extra))
    read.DiscardUnknownFields()
    assert read == message


def test_our_record_of_a_machine_is_the_vector() -> None:
    assert machine_bytes(RECORD) == MACHINE
    assert record_of(MACHINE) == RECORD


def test_our_configure_call_is_the_vector() -> None:
    call = ConfigureCall("m-1", "c1", b"\x00\x01", Token("shard-0", 2, 9))
    assert mutation_bytes(call).hex() == VECTORS["a configure request"][1]
    assert configure_call(bytes.fromhex(VECTORS["a configure request"][1])) == call


@pytest.mark.parametrize("extra", UNKNOWN.values(), ids=UNKNOWN)
def test_a_record_ignores_an_unknown_field(extra: str) -> None:
    assert record_of(MACHINE + bytes.fromhex(extra)) == RECORD


def test_a_record_ignores_the_reserved_field_of_an_older_provider() -> None:
    assert record_of(MACHINE + bytes.fromhex("5805")) == RECORD  # 11, transition_started


def test_a_call_ignores_the_reserved_labels_of_an_older_shard() -> None:
    labels = bytes.fromhex("120a0a04726f6c6512026462")  # 2, a map entry
    assert create_call(b"\x0a\x03m-1" + labels).machine_id == "m-1"


@pytest.mark.parametrize("number", ["63", "ffffffffffffffffff01"], ids=["a new one", "negative"])
def test_an_unknown_state_and_capacity_type_read_as_unspecified(number: str) -> None:
    record = record_of(bytes.fromhex(f"0a036d2d3110{number}30{number}"))
    assert record.state is MachineState.UNSPECIFIED
    assert record.capacity_type is CapacityType.UNSPECIFIED


def test_a_filter_of_unknown_states_only_never_means_any_state() -> None:
    assert list_call(bytes.fromhex("0a0163")) == ListCall((MachineState.UNSPECIFIED,))


@pytest.mark.parametrize("read", [record_of, ack_of, list_of], ids=lambda read: read.__name__)
@pytest.mark.parametrize("content", [b"\x0a\xff", b"\x0a\x01\xff"], ids=["cut", "not text"])
def test_bytes_that_are_no_message_are_refused(read: object, content: bytes) -> None:
    assert callable(read)
    with pytest.raises(ValueError, match=r"no (Machine|TransitionAck|MachineList)"):
        read(content)
