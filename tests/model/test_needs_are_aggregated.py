"""Worked case N16 and the identity of a Need: rows of one identity become one row."""

import hashlib

import pytest

from bigfleet.model.needs import Need, NeedKey, aggregate, earliest
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources

LOW, HIGH = Profile.of(priority=100), Profile.of(priority=200)


def cpus(count: int) -> Resources:
    return Resources.parse({"cpu": str(count)})


def row(cluster: str, profile: Profile, cpu: int, arrival: int = 0, group: str = "") -> Need:
    return Need(cluster, profile, cpus(cpu), cpus(cpu), arrival, group)


def test_rows_of_one_identity_sum_their_demand_and_keep_the_largest_unit() -> None:
    rows = [row("a", LOW, 1), row("a", LOW, 1), row("a", LOW, 3), row("b", LOW, 2)]
    merged = aggregate([*rows, row("a", HIGH, 4)])
    assert [(n.cluster, n.profile, n.aggregate, n.min_unit) for n in merged] == [
        ("a", LOW, cpus(5), cpus(3)),
        ("b", LOW, cpus(2), cpus(2)),
        ("a", HIGH, cpus(4), cpus(4)),
    ]


def test_gangs_of_different_groups_stay_apart() -> None:
    merged = aggregate([row("a", LOW, 1, group="g-1"), row("a", LOW, 1, group="g-2")])
    assert [n.group for n in merged] == ["g-1", "g-2"]


def test_a_dimension_one_row_lacks_is_still_summed() -> None:
    with_gpu = Need("a", LOW, Resources.parse({"gpu": "8"}), Resources.parse({"gpu": "1"}))
    (merged,) = aggregate([row("a", LOW, 2), with_gpu])
    assert merged.aggregate == Resources.parse({"cpu": "2", "gpu": "8"})
    assert merged.min_unit == Resources.parse({"cpu": "2", "gpu": "1"})


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [(300, 100, 100), (100, 300, 100), (0, 300, 300), (300, 0, 300), (0, 0, 0)],
    ids=["later first", "earlier first", "first unknown", "second unknown", "both unknown"],
)
def test_the_earliest_known_arrival_is_kept(first: int, second: int, kept: int) -> None:
    (merged,) = aggregate([row("a", LOW, 1, first), row("a", LOW, 1, second)])
    assert merged.arrival_unix_nanos == earliest(first, second) == kept


def test_no_rows_make_no_demand() -> None:
    assert aggregate([]) == []


def test_the_key_of_a_need_is_its_cluster_fingerprint_and_group() -> None:
    assert row("a", LOW, 1, group="g").key == NeedKey("a", LOW.fingerprint, "g")


def test_the_name_of_a_need_is_twelve_digits_of_the_hash_of_its_key() -> None:
    key = NeedKey("ml", LOW.fingerprint, "train-7")
    digest = hashlib.sha256(b"ml\0" + LOW.fingerprint.encode() + b"\0train-7").hexdigest()
    assert key.need_id == "n" + digest[:12]


def test_the_name_of_a_need_does_not_change_between_releases() -> None:
    assert NeedKey("shop", Profile().fingerprint, "").need_id == "n51b5d86a6596"
