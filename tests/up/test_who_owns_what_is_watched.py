"""What a watch of owners finds, and what it lets pass."""

from collections.abc import Mapping

from bigfleet.model.options import SECOND
from bigfleet.up.owner_watch import OwnerWatch

STAY, LOOK = 150.0, 5.0


def watched(*looks: tuple[float, Mapping[str, str]]) -> list[str]:
    """Of looks at the machines of each shard, as words."""
    watch = OwnerWatch(STAY, LOOK)
    for seconds, owned in looks:
        sets = {shard: frozenset(names.split()) for shard, names in owned.items()}
        watch.on_owners(sets, round(seconds * SECOND))
    return watch.findings


def test_every_machine_is_one_shards_all_the_time() -> None:
    here = {"a": "m1 m2", "b": "m3"}
    assert watched((0, here), (100, here)) == []


def test_a_machine_of_two_shards_is_found_at_once_and_told_once() -> None:
    both = {"a": "m1 m2", "b": "m2"}
    assert watched((0, both), (5, both)) == ["m2: owned by a and b"]


def test_a_machine_may_lack_an_owner_for_a_minute_and_no_longer() -> None:
    gone = {"a": "m1", "b": "m3"}
    looks = [(0, {"a": "m1 m2", "b": "m3"}), (5, gone), (65, gone)]
    assert watched(*looks) == []
    assert watched(*looks, (66, gone)) == ["m2: without an owner for more than 60 s"]


def test_a_machine_moves_once_within_its_stay() -> None:
    left, right = {"a": "m1", "b": ""}, {"a": "", "b": "m1"}
    assert watched((0, left), (10, right), (STAY + 10, left)) == []
    [found] = watched((0, left), (10, right), (100, left))
    assert found == "m1: moved again before its minimum stay was over"


def test_a_machine_without_an_owner_on_its_way_has_moved_all_the_same() -> None:
    left, right, away = {"a": "m1", "b": ""}, {"a": "", "b": "m1"}, {"a": "", "b": ""}
    looks = [(0, left), (5, away), (10, right), (50, away), (55, left)]
    assert len(watched(*looks)) == 1


def test_many_machines_are_one_sentence() -> None:
    names = " ".join(f"m{number}" for number in range(5))
    [found] = watched((0, {"a": names, "b": names}))
    assert found == "m0, m1, m2 and 2 more: owned by a and b"


def test_looks_are_some_time_apart() -> None:
    watch = OwnerWatch(STAY, LOOK)
    assert watch.is_due(0)
    watch.on_owners({"a": frozenset(["m1"])}, 0)
    assert not watch.is_due(4 * SECOND)
    assert watch.is_due(5 * SECOND)
