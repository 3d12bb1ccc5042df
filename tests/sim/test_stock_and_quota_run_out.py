"""Pools run dry, regions fill up, and both recover."""

import pytest

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.distributions import HOUR, MINUTE
from bigfleet.provider.sim.world.events import Failure, Finish, Refuse, Step
from bigfleet.provider.sim.world.market import BadStock, Fixed, Windows, limit_at, stock_of
from bigfleet.provider.sim.world.offerings import offering
from tests.sim.handles import SimHandle, hand


def limited(stock: object, count: int = 3) -> SimHandle:
    part = offering(
        "std-2", CapacityType.ON_DEMAND, "z", count, id_prefix="m", stock=stock_of(stock)
    )
    return hand(part)


def test_an_empty_pool_refuses_at_once_and_names_how_long_to_rest() -> None:
    sim = limited(1)
    sim.done(Step.CREATE, "m-0000")
    sim.ask(Step.CREATE, "m-0001")
    [end] = sim.wait("0")
    assert isinstance(end, Refuse)
    assert (end.failure, end.after_seconds) == (Failure.STOCKOUT, 60)
    assert sim.state("m-0001") == "speculative"


def test_a_host_that_is_still_being_made_takes_stock() -> None:
    sim = limited(1)
    sim.ask(Step.CREATE, "m-0000")
    sim.ask(Step.CREATE, "m-0001")
    ends = sim.wait("1h")
    assert sorted(type(end).__name__ for end in ends) == ["Finish", "Refuse"]


def test_a_host_given_back_makes_room() -> None:
    sim = limited(1)
    sim.done(Step.CREATE, "m-0000")
    sim.done(Step.DELETE, "m-0000")
    sim.done(Step.CREATE, "m-0001")


def test_a_window_limits_stock_only_while_it_lasts() -> None:
    stock = stock_of([{"from": "1h", "to": "2h", "stock": 0}])
    ages = [0, HOUR - 1, HOUR, 2 * HOUR - 1, 2 * HOUR]
    assert [limit_at(stock, age, 0) == 0 for age in ages] == [False, False, True, True, False]


def test_a_markov_pool_is_up_and_down_about_as_long_as_it_says() -> None:
    sim = limited("markov:up=6h,down=20m")
    sim.wait("4000h")
    flips = [note for note in sim.log if note.event.startswith("stock.")]
    ends = [note.at for note in flips]
    ups = [b - a for a, b in zip([0, *ends[1::2]], ends[::2], strict=False)]
    downs = [b - a for a, b in zip(ends[::2], ends[1::2], strict=False)]
    assert sum(ups) / len(ups) == pytest.approx(6 * HOUR, rel=0.15)
    assert sum(downs) / len(downs) == pytest.approx(20 * MINUTE, rel=0.15)


def test_a_markov_pool_that_is_down_has_no_stock() -> None:
    sim = limited("markov:up=1h,down=1h")
    while not sim.events("stock.empty"):
        sim.wait("1m")
    sim.ask(Step.CREATE, "m-0000")
    [end] = sim.wait("0")
    assert isinstance(end, Refuse)


def test_stock_is_changed_by_a_verb_for_every_pool_it_selects() -> None:
    sim = hand()
    sim.do("stock", "capacity=Spot zone=sim-1a", "0")
    sim.ask(Step.CREATE, "sp-0000")
    [end] = sim.wait("0")
    assert isinstance(end, Refuse)
    sim.do("stock", "capacity=spot", "inf")
    sim.done(Step.CREATE, "sp-0000")


@pytest.mark.parametrize(
    "value",
    ["some", "-1", "markov:up=1h", "markov:up=0,down=1s", [{"from": "1h"}]],
    ids=["a word", "less than none", "half a chain", "a phase of no length", "half a window"],
)
def test_what_is_not_a_stock_is_refused(value: object) -> None:
    with pytest.raises(BadStock):
        stock_of(value)


def test_a_stock_is_written_as_it_is_read() -> None:
    assert [str(stock_of(v)) for v in ("inf", 3, "markov:up=6h,down=20m")] == [
        "inf",
        "3",
        "markov:up=6h,down=20m",
    ]
    assert isinstance(stock_of([{"from": 0, "to": "1h", "stock": 2}]), Windows)
    assert stock_of("7") == Fixed(7)


def test_quota_counts_all_pools_of_a_region_and_refuses_before_acceptance() -> None:
    sim = hand()
    hosts = sim.substrate.supply.hosts_of_region["sim-1"]
    sim.do("quota", "sim-1", str(hosts + 2))
    assert sim.admission(Step.CREATE, "od-0000") is None
    assert sim.admission(Step.CREATE, "sp-0000") is None
    refused = sim.admission(Step.CREATE, "od-0001")
    assert refused is not None
    assert refused.failure is Failure.QUOTA


def test_an_admitted_create_that_never_began_gives_its_place_back() -> None:
    sim = hand()
    hosts = sim.substrate.supply.hosts_of_region["sim-1"]
    sim.do("quota", "sim-1", str(hosts + 1))
    assert sim.admission(Step.CREATE, "od-0000") is None
    assert sim.admission(Step.CREATE, "od-0001") is not None
    sim.wait("20m")
    assert sim.admission(Step.CREATE, "od-0001") is None


def test_a_region_without_quota_admits_everything() -> None:
    sim = hand()
    assert all(sim.admission(Step.CREATE, f"od-000{n}") is None for n in range(4))
    sim.ask(Step.CREATE, "od-0000")
    assert isinstance(sim.wait("1h")[0], Finish)
