"""The request of a sync: who asks, what is short, and what is held."""

from dataclasses import replace

from bigfleet.model.coordination import ProviderEntry
from bigfleet.model.needs import Need
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from tests.transfers.shards import ADDRESS, UNIT, Shard, idle, machine, need


def test_it_says_who_it_is_and_what_it_has() -> None:
    shard = Shard(idle(2))
    shard.report("shop", need("shop", 1, 100))
    shard.run(3)
    said = shard.sync()
    assert (said.shard_id, said.epoch, said.ownership_revision) == ("shard-a", 1, 1)
    assert said.cycle == shard.state.decision_loop.number
    assert said.cluster_ids == ("shop",)
    assert said.providers == (ProviderEntry("cloud", ADDRESS),)


def test_shortfalls_come_with_all_another_shard_must_know() -> None:
    shard = Shard(idle(1))
    wanted = Profile.of(
        [Requirement.of("zone", Operator.IN, ["a"])],
        priority=700,
        interruption_bucket=bucket_of_dollars(8),
    )
    shard.report("shop", Need("shop", wanted, UNIT.times(3), UNIT))
    shard.run(4)
    [short] = shard.sync().shortfalls
    assert short.fingerprint == wanted.fingerprint
    assert short.requirements == wanted.requirements
    assert (short.min_unit, short.deficit) == (UNIT, UNIT.times(3))
    assert (short.priority, short.age_cycles, short.same) == (700, 4, False)
    assert short.interruption_bucket == bucket_of_dollars(8)


def test_clusters_that_are_short_of_the_same_are_one_shortfall_of_the_largest_unit() -> None:
    shard = Shard([])
    small = need("shop", 2, 100)
    large = replace(need("web", 1, 100), min_unit=Resources.parse({"cpu": "16"}))
    shard.report("shop", small)
    shard.report("web", large)
    shard.run(2)
    [short] = shard.sync().shortfalls
    assert short.deficit == UNIT.times(3)
    assert short.min_unit == Resources.parse({"cpu": "16"})


def test_a_gang_says_that_it_must_stay_together() -> None:
    shard = Shard([])
    wanted = Profile.of([Requirement.of(RACK_KEY, Operator.SAME)], priority=100)
    shard.report("train", Need("train", wanted, UNIT.times(4), UNIT, group="g"))
    shard.run(2)
    [short] = shard.sync().shortfalls
    assert short.same is True


def test_no_more_shortfalls_than_the_limit_the_most_urgent_first() -> None:
    shard = Shard([])
    shard.report("shop", *(need("shop", 1, 100 + n) for n in range(5)))
    shard.run(2)
    priorities = [short.priority for short in shard.state.parts.shortfalls.details(3)]
    assert priorities == [104, 103, 102]


def test_what_waits_for_victims_only_is_not_short() -> None:
    shard = Shard([machine("m-0")], drain_seconds={"m-0": 60})
    shard.report("batch", need("batch", 1, 10))
    shard.run(3)
    shard.report("web", need("web", 1, 1000))
    shard.run(3)
    assert [short.priority for short in shard.sync().shortfalls] == [10]


def test_a_shard_that_decided_nothing_yet_is_short_of_nothing() -> None:
    assert Shard([]).restarted().sync().shortfalls == ()


def test_it_says_which_machines_are_its_own_by_a_row() -> None:
    shard = Shard(idle(2), name="shard-b")
    row = MachineOverride("m-00", "shard-b", "shard-a", "1-1")
    shard.view(row)
    assert shard.sync().held_overrides == (row,)


def test_it_says_what_it_holds_only_where_that_is_asked() -> None:
    shard = Shard(idle(2))
    request = shard.state.coordination.request
    assert request(shard.at, False).held_pairs == ()
    assert [value for _, value in request(shard.at, True).held_pairs] == [ADDRESS]
