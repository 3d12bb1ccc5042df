"""A cluster of few rows and many machines: demand that nearly vanishes is held as well."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import Host, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.ingest.rig import START
from tests.shard_parts import parts_of


def rollup(*rows: dict[str, str]) -> Rollup:
    needs = tuple(
        Need("shop", Profile.of(priority=row), Resources.parse(amounts), Resources(), START)
        for row, amounts in enumerate(rows)
    )
    return Rollup("shop", START, needs, repr(rows).encode())


class SmallCluster:
    """A cluster whose demand is in force, and so many machines claimed for it."""

    def __init__(self, claimed: int = 6, rails: RailSettings | None = None) -> None:
        self.parts = parts = parts_of(ShardSettings(rails=rails or RailSettings()))
        self.needs, self.ingest = parts.needs, parts.ingest
        for number in range(claimed):
            name = f"m-{number}"
            machine = Machine(name, MachineState.CONFIGURED, host=Host("cloud", name))
            parts.machines.insert(replace(machine, cluster="shop"), "cloud", START, "listed")

    def loses(self, machines: int) -> None:
        for number in range(machines):
            self.parts.machines.remove(f"m-{number}", START, "gone", StorySource.PROVIDER)

    def says(self, *rows: dict[str, str], after: float = 0) -> bool:
        return self.ingest.on_rollup("shop", rollup(*rows), START + round(after * SECOND))


SIX_ROWS = [{"cpu": "8", "memory": "32Gi"}] * 6


def test_a_cluster_whose_six_rows_vanish_keeps_its_demand() -> None:
    shop = SmallCluster()
    shop.says(*SIX_ROWS)
    assert shop.says(after=10)
    assert len(shop.needs) == 6
    (held,) = shop.ingest.quarantines()
    assert (held.baseline, held.observed) == (6, 0)
    assert held.what == "0 rows after 6, and 0 of 48 cpu and 0 of 192Gi memory for 6 machines"


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        ([{"cpu": "4", "memory": "16Gi"}], True),
        ([{"cpu": "5", "memory": "16Gi"}], False),
        ([{"cpu": "4", "memory": "192Gi"}], False),
        ([{"nvidia.com/gpu": "8"}], True),
        ([{"cpu": "1"}] * 6, False),
    ],
    ids=[
        "below a tenth of both",
        "above a tenth of one",
        "all the memory",
        "only something else",
        "as many rows with an eighth of the cpu each",
    ],
)
def test_it_is_held_when_every_resource_falls_below_a_tenth(
    rows: list[dict[str, str]], held: bool
) -> None:
    shop = SmallCluster()
    shop.says(*SIX_ROWS)
    shop.says(*rows, after=10)
    assert bool(shop.ingest.quarantines()) is held


def test_one_row_for_many_machines_is_protected_too() -> None:
    shop = SmallCluster(claimed=40)
    shop.says({"cpu": "320"})
    shop.says({"cpu": "8"}, after=10)
    assert len(shop.ingest.quarantines()) == 1


@pytest.mark.parametrize(("claimed", "rows"), [(4, 0), (5, 6)])
def test_four_machines_are_not_many_and_five_are(claimed: int, rows: int) -> None:
    shop = SmallCluster(claimed=claimed)
    shop.says(*SIX_ROWS)
    shop.says(after=10)
    assert len(shop.needs) == rows


def test_what_is_said_three_times_over_twenty_seconds_is_believed() -> None:
    shop = SmallCluster()
    shop.says(*SIX_ROWS)
    for after in (10, 20, 29):
        shop.says(after=after)
    assert len(shop.needs) == 6
    shop.says(after=30)
    assert len(shop.needs) == 0


def test_the_demand_of_before_ends_the_hold() -> None:
    shop = SmallCluster()
    shop.says(*SIX_ROWS)
    shop.says(after=10)
    shop.says(*SIX_ROWS, after=20)
    assert shop.ingest.quarantines() == []
    assert len(shop.needs) == 6


def test_the_hold_lasts_while_its_machines_drain() -> None:
    """What is claimed is asked when the hold begins: it must not end because a machine left."""
    shop = SmallCluster()
    shop.says(*SIX_ROWS)
    shop.says(after=10)
    shop.loses(3)
    shop.says(after=20)
    assert len(shop.needs) == 6


def test_the_guard_can_be_turned_off() -> None:
    shop = SmallCluster(rails=RailSettings(empty_rollup_guard=False))
    shop.says(*SIX_ROWS)
    shop.says(after=10)
    assert len(shop.needs) == 0
