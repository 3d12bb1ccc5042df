"""Half of each limit goes to the clusters as they come, the other half in equal shares."""

from dataclasses import replace

import pytest

from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import HOSTNAME_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup
from bigfleet.model.settings import Bytes, Seconds
from bigfleet.shard.ingest.cycle_cost import CycleCost, DemandSize, SupplySize, seconds_of
from bigfleet.shard.instructions import Log
from bigfleet.shard.settings import RollupSettings, ShardSettings
from tests.ingest.rig import START, Rig

SMALL = RollupSettings(fleet_bytes=Bytes(1_000), fleet_profiles=100, fleet_resource_names=20)
CPU = Resources.of({"cpu": 1})


class SmallIngest:
    """An ingest whose fleet may weigh little."""

    def __init__(self, settings: RollupSettings = SMALL, engine_timeout: float = 30.0) -> None:
        limited = ShardSettings(rollup=settings, engine_timeout=Seconds(engine_timeout))
        self.rig = Rig(settings=limited)

    def takes(self, cluster: str, needs: list[Need], size_bytes: int = 1) -> bool:
        content = Rollup(cluster, START, tuple(needs), f"{needs}".encode(), size_bytes)
        return self.rig.give(content, cluster=cluster)

    def refusal(self) -> str:
        """Of the last roll-up."""
        logged = [each for each in self.rig.effects.taken() if isinstance(each, Log)]
        return logged[-1].text


def profiles(cluster: str, count: int, word: str = "") -> list[Need]:
    requirement = [Requirement.of("example.com/pool", Operator.IN, [word or cluster])]
    return [Need(cluster, Profile.of(requirement, priority=n), CPU, CPU) for n in range(count)]


def names(cluster: str, count: int) -> list[Need]:
    made = [f"example.com/{cluster}-{n}" for n in range(count)]
    return [Need(cluster, Profile(), Resources.of({name: 1}), group=name) for name in made]


def test_one_cluster_may_have_half_of_the_fleet_and_no_more() -> None:
    door = SmallIngest()
    assert door.takes("evil", profiles("evil", 50))
    assert not door.takes("evil", profiles("evil", 51))
    text = door.refusal()
    assert "distinct profiles of all clusters: 51 with this roll-up, 50 allowed" in text
    assert "rollup.fleet_profiles (100)" in text


def test_a_cluster_that_took_half_does_not_lock_the_others_out() -> None:
    door = SmallIngest()
    assert door.takes("evil", profiles("evil", 50))
    assert door.takes("shop", profiles("shop", 25))
    assert not door.takes("shop", profiles("shop", 26))
    assert door.takes("ml", profiles("ml", 50 // 3))


def test_all_clusters_together_stay_below_the_limit() -> None:
    door = SmallIngest()
    for number in range(60):
        cluster = f"c{number}"
        for count in range(40, 0, -1):
            if door.takes(cluster, profiles(cluster, count)):
                break
    assert len(door.rig.needs.vocabulary(lambda name: True).profiles) <= 100


def test_what_others_have_too_costs_nothing() -> None:
    door = SmallIngest()
    assert door.takes("evil", profiles("evil", 50))
    for number in range(20):
        assert door.takes(f"c{number}", profiles(f"c{number}", 50, "evil"))


def test_resource_names_of_all_clusters_are_limited() -> None:
    door = SmallIngest()
    assert door.takes("evil", names("evil", 10))
    assert door.takes("shop", names("shop", 5))
    assert not door.takes("ml", names("ml", 4))
    assert "rollup.fleet_resource_names (20)" in door.refusal()


def test_bytes_of_all_clusters_are_limited() -> None:
    door = SmallIngest()
    assert door.takes("evil", profiles("evil", 1), 500)
    assert not door.takes("shop", profiles("shop", 1), 251)
    assert "rollup.fleet_bytes (1,000)" in door.refusal()
    assert door.takes("shop", profiles("shop", 1), 250)


def test_what_a_cluster_withdraws_is_free_for_others() -> None:
    door = SmallIngest()
    assert door.takes("evil", profiles("evil", 50), 500)
    assert not door.takes("shop", profiles("shop", 40), 300)
    door.rig.ingest.forget("evil")
    assert door.takes("shop", profiles("shop", 40), 300)


def test_a_fleet_that_is_too_heavy_may_shrink() -> None:
    door = SmallIngest()
    assert door.takes("evil", profiles("evil", 50), 500)
    smaller = replace(SMALL, fleet_profiles=20, fleet_bytes=Bytes(100))
    door.rig.parts.settings.replace(ShardSettings(rollup=smaller))
    assert door.takes("evil", profiles("evil", 40), 400)
    assert not door.takes("evil", profiles("evil", 41), 400)


def test_a_first_roll_up_that_is_refused_has_not_reported() -> None:
    """Otherwise the cluster's machines would be taken for excess."""
    door = SmallIngest()
    assert not door.takes("evil", profiles("evil", 60))
    assert "evil" not in door.rig.ingest.reported
    assert door.rig.rows() == 0


def test_the_last_good_roll_up_stays_in_force() -> None:
    door = SmallIngest()
    assert door.takes("evil", profiles("evil", 7))
    assert not door.takes("evil", profiles("evil", 60))
    assert door.rig.rows() == 7


# -- the time of a cycle ---------------------------------------------------------------------------


def test_a_roll_up_that_would_break_the_deadline_is_refused_with_estimate_and_setting() -> None:
    door = SmallIngest(RollupSettings(fleet_profiles=10_000_000), engine_timeout=1.0)
    assert door.takes("shop", profiles("shop", 100))
    assert not door.takes("evil", profiles("evil", 40_000))
    text = door.refusal()
    assert "estimated time of a decision" in text
    assert "raise engine_timeout (1 s)" in text
    assert door.takes("shop", profiles("shop", 101))


def test_200000_profiles_break_the_deadline_and_2000_do_not() -> None:
    machines = SupplySize(kinds=5_000, machines=50_000, resource_names=4)
    assert seconds_of(DemandSize(200_000, 200_000, 200_000), machines) > 15
    assert seconds_of(DemandSize(2_000, 2_000, 2_000), machines) < 1


def test_names_of_nodes_make_kinds_but_never_more_than_there_are_machines() -> None:
    machines = SupplySize(kinds=10, machines=1_000)
    some, all_of_them, more = (
        seconds_of(DemandSize(100, 100, 100, hosts), machines) for hosts in (100, 990, 5_000)
    )
    assert some < all_of_them == more


def test_node_names_that_a_roll_up_names_are_counted() -> None:
    named = [Requirement.of(HOSTNAME_KEY, Operator.IN, [f"node-{n}"]) for n in range(30_000)]
    needs = [Need("evil", Profile.of([each]), CPU, CPU) for each in named]
    assert not SmallIngest(RollupSettings(), engine_timeout=20.0).takes("evil", needs)


@pytest.mark.parametrize(
    ("multiples", "slowness"),
    [((1.0,), 1.0), ((9.0, 2.0, 7.0), 2.0), ((50.0,), 4.0), ((0.01,), 0.5)],
    ids=["as measured", "the fastest counts", "at most four times", "at least half"],
)
def test_cycles_tell_how_fast_the_machine_is(multiples: tuple[float, ...], slowness: float) -> None:
    cost, demand, machines = CycleCost(), DemandSize(100_000, 1_000, 1_000), SupplySize()
    for multiple in multiples:
        cost.on_cycle_ended(demand, machines, multiple * seconds_of(demand, machines))
    assert cost.slowness == pytest.approx(slowness)


def test_a_short_cycle_says_nothing_of_the_speed() -> None:
    cost = CycleCost()
    cost.on_cycle_ended(DemandSize(10, 1, 1), SupplySize(), 20.0)
    assert cost.slowness == 1.0


def test_what_was_accepted_while_a_cycle_ran_counts_on() -> None:
    cost = CycleCost()
    cost.on_accepted(100)
    cost.on_cycle_begun()
    cost.on_accepted(7)
    cost.on_cycle_ended(DemandSize(keys=80), SupplySize(), 0.1)
    assert cost.keys == 87


@pytest.mark.parametrize(
    "demand",
    [
        DemandSize(460_000, 500, 20_000),
        DemandSize(250_000, 13, 100),
        DemandSize(50_000, 5_000, 50_000),
    ],
    ids=["uber-500k", "B2-Unaggregated", "5,000 clusters of ten rows"],
)
def test_the_largest_fleets_stay_far_from_the_deadline(demand: DemandSize) -> None:
    machines = SupplySize(kinds=5_000, machines=500_000, resource_names=5)
    assert seconds_of(demand, machines) < 15 / 2


def test_the_demand_of_a_large_fleet_is_taken_whole() -> None:
    """Every cluster of uber-50k, a tenth of it, at the default limits."""
    door = SmallIngest(RollupSettings())
    for cluster, needs in SHAPES["uber-50k"].build(0.1).needs.items():
        assert door.takes(cluster, list(needs), 300 * len(needs))


# -- what the tables forget ------------------------------------------------------------------------


def test_the_tables_shrink_when_a_heavy_cluster_has_gone() -> None:
    table = NeedsTable()
    table.replace("shop", profiles("shop", 5))
    for number in range(3):
        table.replace("evil", profiles("evil", 3_000, f"pool-{number}"))
        table.snapshot()
    table.replace("evil", ())
    table.snapshot()
    assert (table.profile_count, len(table.snapshot())) == (5, 5)


def test_resource_names_leave_with_the_cluster_that_brought_them() -> None:
    table = NeedsTable()
    table.replace("shop", profiles("shop", 5))
    table.replace("evil", names("evil", 60))
    assert table.name_count == 61
    table.replace("evil", ())
    table.snapshot()
    assert table.name_count == 1
