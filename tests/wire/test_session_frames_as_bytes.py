"""Frames of a session: the vectors of the contract, round trips, and what is not understood."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
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
from bigfleet.v1alpha1 import capacity_pb2, shard_pb2
from bigfleet.wire.session_frames import (
    NoFrame,
    operator_bytes,
    operator_frame,
    shard_bytes,
    shard_frame,
)

ROLLUP = bytes.fromhex(
    "0a02633110011a4d0a280a206e6f64652e6b756265726e657465732e696f2f696e7374616e63652d7479"
    "706510011a02613312080a0363707512013418fbffffffffffffffff013002381b42080a03637075120132"
)
FROM_OPERATORS: dict[str, tuple[OperatorFrame, str]] = {
    "a hello": (Hello("c1"), "0a0e0a0263311a087631616c70686131"),
    "a roll-up": (RollupFrame(ROLLUP), "1255" + ROLLUP.hex()),
}
FROM_SHARDS: dict[str, tuple[ShardFrame, str]] = {
    "a reclaim instruction": (
        ReclaimInstruction("bf1-7", ("m-1",), 600),
        "1a0f0a056266312d3712036d2d3118d804",
    )
}


@pytest.mark.parametrize(("frame", "content"), FROM_OPERATORS.values(), ids=FROM_OPERATORS)
def test_what_operators_say_has_the_bytes_of_the_contract(
    frame: OperatorFrame, content: str
) -> None:
    assert operator_bytes(frame).hex() == content
    assert operator_frame(bytes.fromhex(content)) == frame


@pytest.mark.parametrize(("frame", "content"), FROM_SHARDS.values(), ids=FROM_SHARDS)
def test_what_shards_say_has_the_bytes_of_the_contract(frame: ShardFrame, content: str) -> None:
    assert shard_bytes(frame).hex() == content
    assert shard_frame(bytes.fromhex(content)) == frame


text = st.text(
    alphabet=st.one_of(st.just("\x00"), st.characters(exclude_categories=["Cs"])), max_size=8
)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
requirements = st.lists(
    st.builds(Requirement.of, text, st.sampled_from(Operator), st.lists(text, max_size=3)),
    max_size=2,
).map(tuple)
resources = st.dictionaries(text, st.integers(0, 2**40), max_size=3).map(Resources.of)
operator_frames = st.one_of(
    st.builds(Hello, text, text),
    st.builds(RollupFrame, st.binary(max_size=300)),
    st.builds(BootstrapResponse, text, st.binary(max_size=8), int64, text),
    st.builds(ReclaimAck, text, int32),
)
shard_frames = st.one_of(
    st.builds(Acknowledgement, text, int64, int64),
    st.builds(BootstrapRequest, text, text, requirements),
    st.builds(ReclaimInstruction, text, st.lists(text, max_size=2).map(tuple), int64, int32),
    st.builds(
        NodeStateUpdate,
        machine_id=text,
        cluster_id=text,
        state=st.sampled_from(MachineState),
        node_name=text,
        provider_id=text,
        last_error=text,
        labels=st.dictionaries(text, text, max_size=3),
        resources=resources,
        taints=st.lists(st.builds(Taint, text, text, text), max_size=2).map(tuple),
    ),
    st.builds(
        AvailableCapacityUpdate,
        text,
        requirements,
        int32,
        st.sampled_from(Confidence),
        st.floats(allow_nan=False),
        resources,
    ),
)


@given(operator_frames)
@settings(deadline=None)
def test_any_frame_of_an_operator_survives_the_wire(frame: OperatorFrame) -> None:
    assert operator_frame(operator_bytes(frame)) == frame


@given(shard_frames)
@settings(deadline=None)
def test_any_frame_of_a_shard_survives_the_wire(frame: ShardFrame) -> None:
    assert shard_frame(shard_bytes(frame)) == frame


@given(operator_frames)
@settings(deadline=None)
def test_any_frame_of_an_operator_is_what_protobuf_says_it_is(frame: OperatorFrame) -> None:
    if not isinstance(frame, RollupFrame):
        message = shard_pb2.OperatorMessage.FromString(operator_bytes(frame))
        assert operator_frame(message.SerializeToString()) == frame


def test_a_roll_up_is_cut_out_unread() -> None:
    assert operator_frame(b"\x12\x03\xff\xff\xff") == RollupFrame(b"\xff\xff\xff")


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_384, 2_097_152])
def test_roll_ups_of_every_width_are_cut_out_right(size: int) -> None:
    frame = RollupFrame(b"x" * size)
    assert operator_frame(operator_bytes(frame)) == frame


def test_a_roll_up_that_comes_in_two_pieces_is_one_roll_up() -> None:
    """Protobuf joins a message that is given twice."""
    pieces = b"".join(
        operator_bytes(RollupFrame(piece.SerializeToString()))
        for piece in (
            capacity_pb2.ClusterCapacityNeeds(cluster_id="c1"),
            capacity_pb2.ClusterCapacityNeeds(timestamp_unix_nanos=7),
        )
    )
    frame = operator_frame(pieces)
    assert isinstance(frame, RollupFrame)
    assert capacity_pb2.ClusterCapacityNeeds.FromString(
        frame.content
    ) == capacity_pb2.ClusterCapacityNeeds(cluster_id="c1", timestamp_unix_nanos=7)


def test_a_payload_of_a_later_version_is_told_apart_from_nonsense() -> None:
    later = bytes.fromhex("fa0103666f6f")  # field 31: "foo"
    assert operator_frame(later) == UnknownFrame()
    assert operator_frame(operator_bytes(UnknownFrame())) == UnknownFrame()
    assert shard_frame(later) is None


def test_a_field_of_a_later_version_beside_a_payload_is_ignored() -> None:
    later = bytes.fromhex("fa0103666f6f")
    assert operator_frame(operator_bytes(Hello("c1")) + later) == Hello("c1")
    assert operator_frame(operator_bytes(RollupFrame(ROLLUP)) + later) == RollupFrame(ROLLUP)


@pytest.mark.parametrize(
    "nonsense",
    [b"\x0a\x05ab", b"\x0a\x03\x0a\x01\xff", b"\x12", b"\x12\x80", b"\x12" + b"\xff" * 9],
)
def test_nonsense_is_not_a_frame(nonsense: bytes) -> None:
    with pytest.raises(NoFrame, match="not an OperatorMessage"):
        operator_frame(nonsense)


def test_an_unknown_number_reads_as_unspecified() -> None:
    update = shard_pb2.NodeStateUpdate(machine_id="m-1", state=77)  # type: ignore[arg-type]
    frame = shard_frame(shard_pb2.ShardMessage(node_state_update=update).SerializeToString())
    assert frame == NodeStateUpdate("m-1", "", MachineState.UNSPECIFIED)


def test_updates_carry_the_key_under_which_a_newer_one_replaces_them() -> None:
    node = NodeStateUpdate("m-1", "c1", MachineState.IDLE)
    hint = AvailableCapacityUpdate("p=1|", (), 3, Confidence.HIGH, 0.5)
    messages = [shard_pb2.ShardMessage.FromString(shard_bytes(frame)) for frame in (node, hint)]
    assert messages[0].node_state_update.supersedes_key == "node:m-1"
    assert messages[1].available_capacity.supersedes_key == "available:p=1|"


def test_a_blob_is_never_printed() -> None:
    frame = operator_frame(operator_bytes(BootstrapResponse("r-1", b"secret")))
    assert "secret" not in repr(frame)
