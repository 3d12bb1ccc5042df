"""The spot market: prices walk around their mean, hosts are taken back with notice."""

import math
from statistics import mean

import pytest

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.backend import instance_of
from bigfleet.provider.sim.world.distributions import HOUR, MINUTE, SECOND
from bigfleet.provider.sim.world.events import (
    Failure,
    Refuse,
    ReportGone,
    Reprice,
    Step,
    WarnOfEnd,
)
from bigfleet.provider.sim.world.market import Hazard, Market, rate_of
from bigfleet.provider.sim.world.offerings import offering
from bigfleet.provider.sim.world.state import Rules
from tests.sim.handles import SPOT, SimHandle, hand

CALM = Rules(interruptions=False)


def prices(sim: SimHandle, hours: int) -> list[float]:
    sim.wait(f"{hours}h")
    return [float(str(note.facts["price"])) for note in sim.events("price")]


def test_prices_stay_in_their_band_and_near_their_mean() -> None:
    sim = hand(SPOT, rules=CALM)
    found = prices(sim, 24 * 14)
    assert min(found) >= 0.0095
    assert max(found) <= 0.095
    assert mean(found) == pytest.approx(0.30 * 0.095, rel=0.10)


def test_a_price_is_published_with_four_decimals_and_only_when_it_moved_a_per_cent() -> None:
    found = prices(hand(SPOT, rules=CALM), 24)
    assert all(round(price, 4) == price for price in found)
    steps = zip([0.0285, *found], found, strict=False)
    assert all(abs(after - before) >= 0.01 * before for before, after in steps)


def test_a_walk_that_is_off_stands_still() -> None:
    sim = hand(SPOT, rules=CALM)
    sim.do("walk", "off")
    assert prices(sim, 24) == []
    sim.do("walk", "on")
    assert prices(sim, 24)


def test_the_walk_pulls_a_price_back_to_its_mean() -> None:
    market = Market.at_mean(1.0, 0.3, walking=True)
    market.set_price(0.9)
    for _ in range(60):
        market.tick(0.0)
    assert market.published == pytest.approx(0.3, rel=0.02)


def test_a_new_price_is_told_for_its_pool_only() -> None:
    sim = hand()
    sim.do("walk", "off")
    assert sim.do("price", "capacity=spot", "0.05") == {"pools": {"std-2/sim-1a/spot": 0.05}}
    assert sim.do("price", "std-2/sim-1a/spot", "x2") == {"pools": {"std-2/sim-1a/spot": 0.1}}
    assert instance_of(sim.slot("sp-0000")).price_per_hour == 0.1
    assert instance_of(sim.slot("od-0000")).price_per_hour == 0.095


def test_price_moves_risk_only_where_they_are_coupled() -> None:
    free, tied = hand(SPOT), hand(SPOT, rules=Rules(couple=True))
    for sim in (free, tied):
        sim.do("walk", "off")
        sim.do("price", "capacity=spot", "x2")
    assert free.slot("sp-0000").pool.probability == 0.30
    assert tied.slot("sp-0000").pool.probability == 0.9
    tied.do("price", "capacity=spot", "x0.25")
    assert tied.slot("sp-0000").pool.probability == pytest.approx(0.075, rel=0.01)


def test_a_notice_comes_first_and_the_host_ends_when_it_runs_out() -> None:
    sim = hand(SPOT, rules=CALM)
    sim.do("walk", "off")
    sim.done(Step.CREATE, "sp-0000")
    assert sim.do("interrupt", "sp-0000") == {"machines": 1, "of": 1}
    assert instance_of(sim.slot("sp-0000")).interruption_probability == 1.0
    assert sim.wait("119s") == []
    assert sim.wait("1s") == [ReportGone("sp-0000", "the host was taken back")]
    assert sim.state("sp-0000") == "speculative"
    assert instance_of(sim.slot("sp-0000")).interruption_probability == 0.30


def test_work_under_way_fails_with_the_host() -> None:
    sim = hand(SPOT, rules=CALM)
    sim.do("walk", "off")
    sim.done(Step.CREATE, "sp-0000")
    sim.do("hold", "configure")
    sim.ask(Step.CONFIGURE, "sp-0000", "shop")
    sim.do("interrupt", "sp-0000", "1", "10s")
    refused = [i for i in sim.wait("10s") if isinstance(i, Refuse)]
    assert [(r.step, r.failure) for r in refused] == [(Step.CONFIGURE, Failure.GONE)]


def test_a_wave_takes_a_fraction_and_the_same_one_in_every_run() -> None:
    def struck() -> list[str]:
        many = offering("std-2", CapacityType.SPOT, "z", 40, id_prefix="sp", walk=False)
        sim = hand(many, rules=CALM)
        for number in range(40):
            sim.ask(Step.CREATE, f"sp-{number:04d}")
        sim.wait("1h")
        assert sim.do("interrupt", "capacity=spot", "0.3") == {"machines": 12, "of": 40}
        return [note.subject for note in sim.events("spot.notice")]

    first = struck()
    assert len(set(first)) == 12
    assert first == struck()


def test_only_spot_is_taken_back() -> None:
    sim = hand()
    sim.done(Step.CREATE, "od-0000")
    assert sim.do("interrupt", "state=idle") == {"machines": 0, "of": 0}


def test_a_second_notice_changes_nothing() -> None:
    sim = hand(SPOT, rules=CALM)
    sim.done(Step.CREATE, "sp-0000")
    sim.do("interrupt", "sp-0000")
    assert sim.do("interrupt", "sp-0000") == {"machines": 0, "of": 0}


def test_hosts_are_lost_as_often_as_their_probability_says() -> None:
    many = offering("std-2", CapacityType.SPOT, "z", 2000, id_prefix="sp", walk=False)
    sim = hand(many)
    for number in range(2000):
        sim.ask(Step.CREATE, f"sp-{number:04d}")
    sim.wait("10m")
    before = len(sim.events("spot.notice"))
    alive = 2000 - before
    sim.wait("1h")
    lost = len(sim.events("spot.notice")) - before
    assert lost / alive == pytest.approx(0.30, abs=0.03)


def test_a_change_of_risk_needs_no_new_draw() -> None:
    """Half an hour at one rate and half at twice the rate is an hour and a half at the first."""
    hazard = Hazard()
    hazard.set_rate(1.0, 0)
    hazard.enrol("m", 1, survives=1.5, now=0)
    assert hazard.next_at() == math.ceil(1.5 * HOUR)
    hazard.set_rate(2.0, 30 * MINUTE)
    assert hazard.next_at() == HOUR
    assert hazard.taken(HOUR) == [("m", 1)]
    assert hazard.next_at() is None


def test_a_hazard_per_hour_is_the_probability_of_loss_within_it() -> None:
    assert 1 - math.exp(-rate_of(0.30)) == pytest.approx(0.30)
    assert rate_of(0.0) == 0.0


def test_a_rate_that_comes_late_finds_the_hosts_that_are_there() -> None:
    frozen = offering("std-2", CapacityType.SPOT, "z", 1, id_prefix="sp", walk=False)
    sim = hand(frozen, rules=CALM)
    sim.done(Step.CREATE, "sp-0000")
    sim.substrate.rules = Rules()
    sim.do("probability", "capacity=spot", "0.999999")
    said = sim.wait("24h")
    assert [i.machine for i in said if isinstance(i, WarnOfEnd)] == ["sp-0000"]


def test_a_crash_rate_ends_hosts_without_notice() -> None:
    sim = hand()
    sim.done(Step.CREATE, "od-0000")
    sim.do("failure-rate", "crash", "0.99")
    said = sim.wait("24h")
    assert not [i for i in said if isinstance(i, WarnOfEnd) and i.machine.startswith("od")]
    assert {i.machine for i in said if isinstance(i, ReportGone)} >= {"od-0000", "bm-0000"}


def test_a_repricing_names_its_pool() -> None:
    sim = hand(SPOT, rules=CALM)
    said = sim.wait("1h")
    assert {i.pool for i in said if isinstance(i, Reprice)} == {"std-2/sim-1a/spot"}
    assert sim.substrate.now == HOUR
    assert all(note.at % (60 * SECOND) == 0 for note in sim.events("price"))
