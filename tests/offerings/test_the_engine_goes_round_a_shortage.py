"""The acceptance of the back-off with the engine that decides: what is asked for, and when."""

import pytest

from bigfleet.model.machines import CapacityType, Machine
from tests.offerings.market import Market, slots

CLUSTERS = 100
#: Seconds from one cycle to the next.
STEP = 10


def short_of_small(*others: Machine, wanted: int = 3) -> Market:
    """The cheapest type has run out, and a cluster wants as many machines as it shows slots."""
    market = Market([*slots("small", wanted, 1.0), *others])
    market.exhausted.add("small")
    market.wants("shop", wanted)
    return market


def test_a_need_with_an_alternative_is_covered_within_two_cycles_of_the_first_failure() -> None:
    market = short_of_small(*slots("large", 3, 2.0))
    market.cycle()
    assert market.creates_of("small") >= 1, "the first failure"
    assert market.bound() == []
    for _ in range(2):
        market.cycle()
    assert len(market.bound("large")) == 3
    assert market.creates_of("small") <= 3


def test_a_hundred_clusters_that_want_what_is_not_there_cause_at_most_twelve_creates() -> None:
    market = Market(slots("small", CLUSTERS, 1.0))
    market.exhausted.add("small")
    for number in range(CLUSTERS):
        market.wants(f"cluster-{number:03d}", 1)
    market.cycle()
    under_way = len(market.creates)
    assert under_way >= 1
    for _ in range(90 * 60 // STEP):
        market.pass_time(STEP - 1)
        market.cycle()
    assert 5 <= len(market.creates) - under_way <= 12
    assert market.bound() == []


@pytest.mark.parametrize("minutes", [1, 10, 40])
def test_the_full_rate_returns_within_one_probe_interval_of_the_stock(minutes: int) -> None:
    market = short_of_small(wanted=8)
    market.cycle()
    for _ in range(minutes * 60 // STEP):
        market.pass_time(STEP - 1)
        market.cycle()
    market.exhausted.clear()
    (resting,) = market.state.parts.offerings.views()
    while market.at < resting.next_probe_at:
        assert market.bound() == []
        market.pass_time(STEP - 1)
        market.cycle()
    for _ in range(2):
        market.cycle()
    assert len(market.bound("small")) == 8
    assert market.state.parts.offerings.views() == ()


def test_a_reset_takes_effect_in_the_next_cycle() -> None:
    market = short_of_small()
    market.cycle()
    market.cycle()
    before = len(market.creates)
    market.exhausted.clear()
    assert market.state.parts.offerings.reset("cloud/small/a/OnDemand", market.at)
    market.cycle()
    assert len(market.creates) - before == 3
    assert len(market.bound("small")) == 3


def test_owned_metal_of_the_same_type_and_zone_is_never_backed_off_by_a_clouds_failure() -> None:
    """Three types of the zone run out, so that all that is bought of it rests."""
    metal = slots("metal", 2, 9.0, CapacityType.BARE_METAL)
    reserved = slots("kept", 2, 9.0, CapacityType.RESERVED)
    types = ("small", "medium", "large")
    market = Market([m for kind in types for m in slots(kind, 2, 1.0)] + metal + reserved)
    market.exhausted.update(types)
    market.wants("shop", 4)
    for _ in range(6):
        market.cycle()
    assert "cloud/*/a" in {view.name for view in market.state.parts.offerings.views()}
    assert sorted(market.bound()) == sorted(m.id for m in (*metal, *reserved))
    assert all(market.creates.count(m.id) == 1 for m in (*metal, *reserved))
