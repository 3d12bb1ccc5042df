"""The map: machines of all shards in one order, as bytes, and as changes of places in them."""

import numpy as np
import pytest

from bigfleet.model.fleet_maps import map_bytes, map_changes, map_of, with_changes
from bigfleet.web.live.maps import FleetMaps
from tests.web.maps import changed, event, read_body, shard_map

ABC = shard_map(["m-0", "m-1", "m-2"], zones=["b", "a"], zoneIdx=[0, 1, 0], state=[1, 2, 3])


def test_machines_are_ordered_by_group_and_then_by_id() -> None:
    maps = FleetMaps()
    maps.put("shard-0", ABC)
    header, columns, ids = read_body(maps.body("zone", 7))
    assert ids == ["m-1", "m-0", "m-2"]
    assert columns["state"] == [2, 1, 3]
    assert header["groups"] == [
        {"name": "a", "start": 0, "end": 1},
        {"name": "b", "start": 1, "end": 3},
    ]
    assert (header["cycle"], header["epoch"], header["sequence"]) == (9, 3, 7)


def test_shards_are_side_by_side_with_names_of_the_whole_fleet() -> None:
    maps = FleetMaps()
    maps.put("s-1", shard_map(["x"], clusters=["", "shop"], clusterIdx=[1]))
    maps.put("s-0", shard_map(["y", "z"], clusters=["", "ml", "shop"], clusterIdx=[2, 1]))
    header, columns, ids = read_body(maps.body("cluster", 0))
    names = header["legend"]["cluster"]
    assert [names[number] for number in columns["clusterIdx"]] == ["ml", "shop", "shop"]
    assert ids == ["z", "y", "x"]
    assert header["shards"] == ["s-0", "s-1"]


def test_hostile_ids_come_through_as_they_are() -> None:
    hostile = ["<img src=x onerror=alert(1)>", "m\0x", "ü" * 200, "\u202emachine"]
    maps = FleetMaps()
    maps.put("s", shard_map(sorted(hostile)))
    assert sorted(read_body(maps.body("type", 0))[2]) == sorted(hostile)


def test_an_empty_fleet_is_an_empty_map() -> None:
    header, columns, ids = read_body(FleetMaps().body("zone", 0))
    assert (header["count"], header["groups"], ids) == (0, [], [])
    assert set(map(len, columns.values())) == {0}


def test_a_change_names_the_place_in_the_order_of_the_map() -> None:
    maps = FleetMaps()
    maps.put("s", ABC)
    before = read_body(maps.body("zone", 0))
    after = changed(ABC, state={0: 3})
    [told] = maps.change("s", map_changes(ABC, after), event())
    [[index, column, value]] = told.document["changes"]
    assert before[2][index] == "m-0"
    assert before[0]["columns"][column]["name"] == "state"
    assert value == 3
    assert told.document["layout"] == before[0]["layout"]
    assert read_body(maps.body("zone", 0))[1]["state"][index] == 3


def test_a_name_that_is_new_comes_with_the_change_that_brings_it() -> None:
    maps = FleetMaps()
    first = shard_map(["x"], clusters=[""])
    maps.put("s", first)
    maps.body("zone", 0)
    after = shard_map(["x"], version=2, clusters=["", "shop"], clusterIdx=[1])
    [told] = maps.change("s", map_changes(first, after), event())
    [[_, _, value]] = told.document["changes"]
    assert told.document["legend"]["cluster"][value] == "shop"


def test_machines_that_come_or_go_are_a_reset() -> None:
    more = shard_map(["m-0", "m-1", "m-2", "m-3"], version=2)
    assert map_changes(ABC, more).reset
    maps = FleetMaps()
    maps.put("s", ABC)
    first = maps.layout("zone").number
    [told] = maps.put("s", more)
    assert told.document["reset"]
    assert maps.layout("zone").number > first


def test_a_machine_that_changes_its_cluster_keeps_its_place_until_machines_are_regrouped() -> None:
    maps = FleetMaps()
    first = shard_map(["x", "y"], clusters=["", "shop"], clusterIdx=[0, 0])
    maps.put("s", first)
    maps.body("cluster", 0)
    assert maps.regroup("cluster") == []
    [told] = maps.change("s", map_changes(first, changed(first, clusterIdx={0: 1})), event())
    assert not told.document["reset"]
    assert read_body(maps.body("cluster", 0))[2] == ["x", "y"]
    [over] = maps.regroup("cluster")
    assert over.document["reset"]
    assert read_body(maps.body("cluster", 0))[2] == ["y", "x"]


def test_changes_that_do_not_follow_are_refused() -> None:
    later = changed(changed(ABC, state={0: 3}), state={1: 3})
    with pytest.raises(ValueError, match="do not follow"):
        with_changes(ABC, map_changes(ABC, later))


def test_a_shard_that_left_takes_its_machines_along() -> None:
    maps = FleetMaps()
    maps.put("s-0", ABC)
    maps.put("s-1", shard_map(["x"]))
    maps.body("zone", 0)
    [told] = maps.drop("s-1")
    assert told.document["reset"]
    assert "x" not in read_body(maps.body("zone", 0))[2]


@pytest.mark.parametrize("seed", range(20))
def test_changes_lead_from_one_map_to_the_next(seed: int) -> None:
    chance = np.random.default_rng(seed)
    ids = [f"m-{number:03}" for number in range(50)]
    first = shard_map(ids, state=chance.integers(0, 9, 50).tolist())
    after = changed(
        first,
        state={int(row): int(chance.integers(0, 9)) for row in chance.integers(0, 50, 10)},
        sinceSeconds={
            int(row): int(chance.integers(0, 2**32)) for row in chance.integers(0, 50, 9)
        },
    )
    found = with_changes(first, map_changes(first, after))
    for name, column in after.columns.items():
        assert found.columns[name].tolist() == column.tolist(), f"seed {seed}"


def test_a_map_is_the_same_after_its_way() -> None:
    again = map_of(ABC.header, map_bytes(ABC))
    assert list(again.ids) == list(ABC.ids)
    for name, column in ABC.columns.items():
        assert again.columns[name].tolist() == column.tolist()


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_map_that_was_cut_is_refused(cut: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - NumPy says it in its own words
        map_of(ABC.header, map_bytes(ABC)[:-cut])
