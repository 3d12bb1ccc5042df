"""Machines move between two shards, and what both of them have is never more than there may be."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from bigfleet.coordinator.rebalancing import quotas
from bigfleet.model.coordination import TransferTier
from tests.nightly import IS_NIGHTLY
from tests.quotas.limited_cloud import LimitedCloud, hosts_and_slots
from tests.transfers.shards import S

#: Schedules in which a shard that went by its last grant alone would buy too much.
TIGHT = (17, 53, 54, 55)
SEEDS = range(200) if IS_NIGHTLY else TIGHT
NAMES = ("shard-a", "shard-b")


def two_regions() -> LimitedCloud:
    records = [*hosts_and_slots("north", 3, 6), *hosts_and_slots("south", 2, 6)]
    return LimitedCloud({"north": 6, "south": 5}, records)


Step = Callable[[LimitedCloud, str, random.Random], None]
STEPS: dict[str, tuple[int, Step]] = {
    "a second passes": (3, lambda cloud, name, chance: cloud.second()),
    "a round": (3, lambda cloud, name, chance: cloud.round(name)),
    "a report": (1, lambda cloud, name, chance: cloud.report(name)),
    "a sync": (1, lambda cloud, name, chance: cloud.sync(name)),
    "an answer to a report is lost": (
        1,
        lambda cloud, name, chance: cloud.report(name, answered=False),
    ),
    "an answer to a sync is lost": (
        1,
        lambda cloud, name, chance: cloud.sync(name, answered=False),
    ),
    "a sweep": (2, lambda cloud, name, chance: cloud.sweep()),
    "demand changes": (
        2,
        lambda cloud, name, chance: cloud.wants(
            name, chance.randint(0, 9), chance.choice([10, 100, 1000])
        ),
    ),
}


def lived(seed: int) -> LimitedCloud:
    """After two hundred steps of that seed, none of which broke the law."""
    chance, cloud = random.Random(seed), two_regions()
    weights = [weight for weight, _ in STEPS.values()]
    for _ in range(200):
        name = chance.choice(NAMES)
        ((_, step),) = chance.choices(list(STEPS.values()), weights)
        step(cloud, name, chance)
        cloud.check()
    return cloud


@pytest.mark.parametrize("seed", SEEDS)
def test_hosts_never_exceed_their_quota_in_any_order_of_events(seed: int) -> None:
    assert lived(seed).hosts() <= Counter({"north": 6, "south": 5})


def test_hosts_and_slots_have_moved_in_these_schedules() -> None:
    """Otherwise they would show nothing."""
    rows = [row for seed in (17, 54) for row in lived(seed).rows()]
    done = {row.transfer.tier for row in rows if row.granted_at is not None}
    assert done >= {TransferTier.IDLE, TransferTier.SPECULATIVE}


def until_granted(cloud: LimitedCloud) -> None:
    for _ in range(30):
        for name in NAMES:
            cloud.round(name)
        if cloud.moved():
            return
        cloud.second()
        cloud.sweep()
    raise AssertionError(f"nothing moved: {cloud.open_transfers()}")


def shares(cloud: LimitedCloud) -> dict[str, dict[str, int]]:
    return {each.region: dict(each.per_shard) for each in quotas.quotas(cloud.coordinator.book)}


def test_slots_move_in_the_region_of_their_machines() -> None:
    cloud = two_regions()
    cloud.wants("shard-b", 4, 1000)
    until_granted(cloud)
    (row,) = cloud.rows()
    machines = row.transfer.machine_ids
    there = {region: sum(m.startswith(region) for m in machines) for region in cloud.totals}
    assert sum(there.values()) == 3, "no more go at a time"
    assert {region: each.get("shard-b", 0) for region, each in shares(cloud).items()} == there


def test_a_donor_that_hears_of_the_grant_last_buys_nothing_meanwhile() -> None:
    """Both want everything while the donor's slots are already the receiver's."""
    cloud = two_regions()
    cloud.wants("shard-b", 4, 1000)
    until_granted(cloud)
    cloud.wants("shard-a", 12, 1000)
    cloud.wants("shard-b", 12, 1000)
    for _ in range(5):
        cloud.sync("shard-b")
        cloud.second()
        cloud.second()
    for _ in range(10):
        for name in NAMES:
            cloud.round(name)
        cloud.second()
        cloud.second()
    assert cloud.hosts() == {"north": 6, "south": 5}, "what there may be is all in use"
    assert {r.state for r in cloud.shelf.values()} == {S.CONFIGURED, S.SPECULATIVE}
