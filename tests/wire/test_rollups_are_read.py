"""Roll-ups: what they say, what is refused whole and why, and what is not read twice."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.needs import Need, aggregate
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.quantities import LARGEST_OF_NEED
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.v1alpha1 import capacity_pb2 as pb
from bigfleet.wire.needs import need_message
from bigfleet.wire.rollups import RollupReader, rollup_bytes

VECTOR = bytes.fromhex(
    "0a02633110011a4d0a280a206e6f64652e6b756265726e657465732e696f2f696e7374616e63652d7479"
    "706510011a02613312080a0363707512013418fbffffffffffffffff013002381b42080a03637075120132"
)
A3 = Requirement.of("node.kubernetes.io/instance-type", Operator.IN, ["a3"])
PLAIN = Need(
    "c1", Profile.of([A3], priority=5), Resources.parse({"cpu": "4"}), arrival_unix_nanos=7
)


def read(
    content: bytes, reader: RollupReader | None = None, cluster: str = "c1", limit: int = 1_000
) -> Rollup:
    return (reader or RollupReader()).read(content, cluster, limit)


def test_the_vector_of_the_contract_is_one_need() -> None:
    rollup = read(VECTOR)
    profile = Profile.of([A3], priority=-5, interruption_bucket=2, reclamation_bucket=27)
    four, two = Resources.parse({"cpu": "4"}), Resources.parse({"cpu": "2"})
    assert rollup.needs == (Need("c1", profile, four, two, 1),)
    assert (rollup.cluster_id, rollup.timestamp_unix_nanos) == ("c1", 1)
    assert rollup_bytes("c1", 1, rollup.needs) == VECTOR


text = st.text(
    alphabet=st.one_of(st.just("\x00"), st.characters(exclude_categories=["Cs"])), max_size=6
)
names = st.text(alphabet="abZ09", min_size=1, max_size=6)
amounts = st.integers(0, 2**40) | st.sampled_from([0, 1, 2**50])


def needs_of(
    key: st.SearchStrategy[str], value: st.SearchStrategy[str], resource: st.SearchStrategy[str]
) -> st.SearchStrategy[Need]:
    requirements = st.builds(
        Requirement.of, key, st.sampled_from(Operator), st.lists(value, max_size=3)
    )
    spreads = st.builds(Spread, key, st.integers(1, 9), st.sampled_from(WhenUnsatisfiable))
    vectors = st.dictionaries(resource, amounts, max_size=4)
    profiles = st.builds(
        Profile.of,
        st.lists(requirements, max_size=3),
        st.lists(spreads, max_size=2),
        st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, 1]),
        st.integers(0, 27),
        st.integers(0, 27),
    )
    return st.builds(
        Need,
        cluster=st.just("c1"),
        profile=profiles,
        aggregate=vectors.map(Resources.of),
        min_unit=vectors.map(Resources.of),
        arrival_unix_nanos=st.just(9),
        group=text,
    )


#: In label syntax but for the group, which is opaque; and as a hostile operator might write them.
needs = needs_of(names, names | st.just(""), st.sampled_from(["cpu", "memory", "x.y/z"]))
any_needs = needs_of(text, text, st.sampled_from(["cpu", "memory", "", "x/y", "\x00"]))


@given(st.lists(needs, max_size=6))
@settings(deadline=None)
def test_what_is_written_is_read_with_one_row_per_identity(rows: Sequence[Need]) -> None:
    assert list(read(rollup_bytes("c1", 9, rows)).needs) == aggregate(rows)


@given(st.lists(needs, max_size=6), st.permutations(range(6)))
@settings(deadline=None)
def test_a_second_reading_with_a_memory_is_the_first_without(
    rows: Sequence[Need], order: Sequence[int]
) -> None:
    reader = RollupReader()
    read(rollup_bytes("c1", 9, rows), reader)
    mixed = [rows[place] for place in order if place < len(rows)]
    assert list(read(rollup_bytes("c1", 9, mixed), reader).needs) == aggregate(mixed)


@given(
    st.lists(any_needs | needs, max_size=3),
    st.binary(max_size=12),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3),
)
@settings(deadline=None, max_examples=150)
def test_exactly_what_protobuf_reads_is_read_and_alike(
    rows: Sequence[Need], tail: bytes, flips: Sequence[tuple[int, int]]
) -> None:
    content = bytearray(rollup_bytes("c1", 9, rows) + tail)
    for place, byte in flips:
        content[place : place + 1] = bytes((byte,))
    try:
        usual = pb.ClusterCapacityNeeds.FromString(bytes(content)).SerializeToString()
    except DecodeError:
        with pytest.raises(RollupRefused):
            read(bytes(content))
    else:
        assert outcome(bytes(content)) == outcome(usual)


def outcome(content: bytes) -> object:
    try:
        return read(content).needs
    except RollupRefused as refused:
        return refused.reason


def test_the_cluster_of_the_hello_stands_where_the_roll_up_names_none() -> None:
    rollup = read(rollup_bytes("", 7, [PLAIN]))
    assert rollup.cluster_id == "c1"
    assert rollup.needs == (PLAIN,)


def row(**fields: object) -> bytes:
    need = pb.CapacityNeed(**fields)  # type: ignore[arg-type]
    good = need_message(PLAIN)
    return pb.ClusterCapacityNeeds(cluster_id="c1", needs=[good, need]).SerializeToString()


def operator(number: int) -> Mapping[str, object]:
    return {"requirements": [{"key": "zone", "operator": number}]}


REFUSED: dict[str, tuple[bytes, str, str]] = {
    "a bucket beyond the last": (
        row(interruption_penalty_bucket=28),
        "bucket",
        "row 1: interruption_penalty_bucket is 28; buckets have the numbers 0 to 27",
    ),
    "a negative bucket": (
        row(reclamation_penalty_bucket=-1),
        "bucket",
        "row 1: reclamation_penalty_bucket is -1",
    ),
    "an operator beyond the last": (
        row(**operator(6)),
        "operator",
        r"row 1: requirements\[0\] on 'zone' has operator 6; operators have the numbers 0 to 5",
    ),
    "a malformed amount": (
        row(aggregate_resources={"cpu": "four"}),
        "quantity",
        r"row 1: aggregate_resources\['cpu'\]: 'four' is not a Kubernetes quantity; write it like",
    ),
    "a negative amount": (
        row(aggregate_resources={"cpu": "4"}, min_unit={"memory": "-1Gi"}),
        "quantity",
        r"row 1: min_unit\['memory'\]: '-1Gi' is negative",
    ),
    "an amount beyond counting": (
        row(min_unit={"memory": "9E"}),
        "quantity",
        "more memory than BigFleet can count",
    ),
    "an amount too large for sums over a shard": (
        row(aggregate_resources={"memory": "64Pi"}),
        "quantity",
        r"row 1: aggregate_resources\['memory'\]: 64Pi is too much for one Need; write less than",
    ),
    "another cluster": (
        rollup_bytes("c2", 7, []),
        "cluster_mismatch",
        "it names cluster 'c2'; a session reports the cluster of its Hello only",
    ),
    "too many rows": (rollup_bytes("c1", 7, [PLAIN] * 11), "too_large", "it has 11 rows and may"),
    "nonsense": (b"\x1a\x05ab", "undecodable", "protobuf cannot read it"),
    "a row that is nonsense": (b"\x1a\x02\x0a\x05", "undecodable", "row 0: protobuf cannot"),
    "a broken text": (b"\x1a\x03\x4a\x01\xff", "undecodable", "row 0: a text is not UTF-8"),
    "a cluster that is not text": (b"\x0a\x01\xff", "undecodable", "a text is not UTF-8"),
    "a key that is not text": (b"\x1a\x05\x0a\x03\x0a\x01\xff", "undecodable", "row 0: protobuf"),
    "a dimension that is not text": (b"\x1a\x05\x12\x03\x0a\x01\xff", "undecodable", "protobuf"),
}


@pytest.mark.parametrize(("content", "reason", "says"), REFUSED.values(), ids=REFUSED)
def test_a_roll_up_is_refused_whole_with_its_reason(content: bytes, reason: str, says: str) -> None:
    with pytest.raises(RollupRefused, match=says) as refused:
        read(content, limit=10)
    assert refused.value.reason == reason
    assert refused.value.text.endswith("the last accepted demand stays")


def test_an_unspecified_operator_and_the_outermost_buckets_are_accepted() -> None:
    fields = {"interruption_penalty_bucket": 0, "reclamation_penalty_bucket": 27}
    assert len(read(row(**operator(0), **fields)).needs) == 2


def test_a_sum_beyond_counting_is_refused() -> None:
    huge = replace(PLAIN, aggregate=Resources.of({"memory": LARGEST_OF_NEED}))
    with pytest.raises(
        RollupRefused, match=r"row 1.*adds up: .* is too much for one Need"
    ) as refused:
        read(rollup_bytes("c1", 7, [huge, huge]))
    assert refused.value.reason == "quantity"


SPREADS: dict[str, tuple[int, int, Spread]] = {
    "no skew on a strict one": (0, 1, Spread("zone", 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)),
    "a negative skew on a strict one": (
        -3,
        1,
        Spread("zone", 1, WhenUnsatisfiable.DO_NOT_SCHEDULE),
    ),
    "no skew on a lenient one": (0, 2, Spread("zone", 0, WhenUnsatisfiable.SCHEDULE_ANYWAY)),
    "an unknown rule": (3, 77, Spread("zone", 3, WhenUnsatisfiable.UNSPECIFIED)),
}


@pytest.mark.parametrize(("skew", "rule", "spread"), SPREADS.values(), ids=SPREADS)
def test_a_spread_that_makes_no_sense_is_mended(skew: int, rule: int, spread: Spread) -> None:
    entry = {"topology_key": "zone", "max_skew": skew, "when_unsatisfiable": rule}
    assert read(row(spread=[entry])).needs[1].profile.spread == (spread,)


def test_rows_of_one_identity_are_summed_in_any_order_of_their_values() -> None:
    def values(*names: str) -> pb.NodeSelectorRequirement:
        return pb.NodeSelectorRequirement(
            key="zone", operator=pb.NodeSelectorRequirement.OPERATOR_IN, values=names
        )

    message = pb.ClusterCapacityNeeds(
        needs=[
            pb.CapacityNeed(
                requirements=[values("a", "b")],
                aggregate_resources={"cpu": "4"},
                min_unit={"cpu": "1", "memory": "8Gi"},
            ),
            pb.CapacityNeed(
                requirements=[values("b", "a", "b")],
                aggregate_resources={"cpu": "500m", "memory": "1Gi"},
                min_unit={"cpu": "2"},
            ),
        ]
    )
    (need,) = read(message.SerializeToString()).needs
    assert need.aggregate == Resources.parse({"cpu": "4500m", "memory": "1Gi"})
    assert need.min_unit == Resources.parse({"cpu": "2", "memory": "8Gi"})


def test_the_same_row_twice_counts_twice_also_from_memory() -> None:
    reader = RollupReader()
    read(rollup_bytes("c1", 7, [PLAIN]), reader)
    (need,) = read(rollup_bytes("c1", 8, [PLAIN, PLAIN]), reader).needs
    assert need.aggregate == Resources.parse({"cpu": "8"})


def test_the_digest_is_of_what_is_said_not_of_when() -> None:
    first, second, other = (
        read(rollup_bytes("c1", time, [replace(PLAIN, group=group)])).digest
        for time, group in ((1, ""), (2, ""), (1, "gang"))
    )
    assert first == second != other


def test_rows_cut_at_another_place_have_another_digest() -> None:
    joined = [PLAIN, replace(PLAIN, group="x")]
    assert read(rollup_bytes("c1", 1, joined)).digest != read(rollup_bytes("c1", 1, [PLAIN])).digest


def test_what_did_not_change_is_the_very_same_need_with_its_first_arrival() -> None:
    reader = RollupReader()
    stays, goes = PLAIN, replace(PLAIN, group="gang")
    before = read(rollup_bytes("c1", 7, [stays, goes]), reader)
    after = read(rollup_bytes("c1", 8, [replace(goes, min_unit=PLAIN.aggregate), stays]), reader)
    assert after.needs[1] is before.needs[0]
    assert after.needs[1].arrival_unix_nanos == 7
    assert after.needs[0].arrival_unix_nanos == 8
    assert after.digest != before.digest


def test_a_row_that_was_gone_arrives_anew() -> None:
    reader = RollupReader()
    arrivals = []
    for time, rows in ((1, [PLAIN]), (2, []), (3, [PLAIN])):
        arrivals += [
            n.arrival_unix_nanos for n in read(rollup_bytes("c1", time, rows), reader).needs
        ]
    assert arrivals == [1, 3]


def test_a_map_written_in_another_order_says_the_same() -> None:
    """Go writes maps in any order, another one each time."""
    cpu, memory = b"\x12\x08\x0a\x03cpu\x12\x014", b"\x12\x0d\x0a\x06memory\x12\x038Gi"
    reader = RollupReader()
    one, other, again = (
        read(b"".join((b"\x1a", bytes((len(a + b),)), a, b)), reader)
        for a, b in ((cpu, memory), (memory, cpu), (memory, cpu))
    )
    assert one.needs == other.needs
    assert one.digest == other.digest == again.digest


def test_clusters_do_not_share_what_they_said() -> None:
    reader = RollupReader()
    read(rollup_bytes("", 7, [PLAIN]), reader)
    other = reader.read(rollup_bytes("", 8, [PLAIN]), "c2", 10)
    assert [(n.cluster, n.arrival_unix_nanos) for n in other.needs] == [("c2", 8)]
    assert other.needs[0].profile is read(rollup_bytes("", 7, [PLAIN]), reader).needs[0].profile


def test_a_refused_roll_up_leaves_the_memory_of_the_last_good_one() -> None:
    reader = RollupReader()
    before = read(rollup_bytes("c1", 7, [PLAIN]), reader)
    with pytest.raises(RollupRefused):
        read(row(interruption_penalty_bucket=28), reader)
    after = read(rollup_bytes("c1", 9, [PLAIN]), reader)
    assert after.needs[0] is before.needs[0]
    assert after.timestamp_unix_nanos == 9


def test_a_forgotten_cluster_begins_anew() -> None:
    reader = RollupReader()
    read(rollup_bytes("c1", 7, [PLAIN]), reader)
    reader.forget("c1")
    assert read(rollup_bytes("c1", 8, [PLAIN]), reader).needs[0].arrival_unix_nanos == 8


def test_old_and_later_fields_are_ignored() -> None:
    count = b"\x20\x07"  # field 4, reserved now
    later = b"\xfa\x01\x03foo"  # field 31
    plain = need_message(PLAIN).SerializeToString(deterministic=True)
    for odd in (count + plain, plain + count, later + plain, plain + later):
        content = b"".join((b"\x1a", bytes((len(odd),)), odd, later))
        assert read(content).needs == (replace(PLAIN, arrival_unix_nanos=0),)


def test_a_number_of_more_than_64_bits_is_left_to_protobuf() -> None:
    """Ten bytes can hold seventy bits; taken at their word, no table could hold the number."""
    content = b"\x0a\x02c1\x10" + b"\xff" * 9 + b"\x7f" + b"\x1a\x00"
    try:
        expected = pb.ClusterCapacityNeeds.FromString(content).timestamp_unix_nanos
    except DecodeError:
        with pytest.raises(RollupRefused):
            read(content)
    else:
        assert read(content).timestamp_unix_nanos == expected
