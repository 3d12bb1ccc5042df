"""Effective cost: a price, and what an interruption would cost times how likely it is."""

import math

import numpy as np
import pytest

from bigfleet.engine.kernels import acquire
from bigfleet.engine.kernels.records import KindArrays, NeedArrays
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import PINNED, bucket_of_dollars
from tests.costs.sources import source_of
from tests.worlds import gpus
from tests.worlds.fleets import bootstrapped, decided, provisioned

cost_of = source_of(acquire.cost_of)


def kind_of(price: float, probability: float) -> KindArrays:
    """One kind of machine; only its price and risk matter here."""
    return KindArrays(
        price=np.array([price]),
        probability=np.array([probability]),
        type_rank=np.zeros(1, np.int32),
        units=np.zeros((1, 1), np.int64),
        domain=np.zeros((1, 1), np.int32),
        eligible=np.ones((1, 2), np.bool_),
    )


def need_with(penalty: float) -> NeedArrays:
    """One Need; only what an interruption costs it matters here."""
    small, wide, no = np.zeros(1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.bool_)
    return NeedArrays(
        cluster=small,
        key=small,
        pair=wide,
        identity=wide,
        fingerprint=wide,
        parked=no,
        wanted=np.zeros((1, 1), np.int64),
        same=small,
        spread=small,
        skew=wide,
        priority=wide,
        precedence=wide,
        pinned=no,
        penalty=np.array([penalty]),
    )


def effective_cost(price: float, probability: float, penalty: float) -> float:
    return cost_of(0, 0, need_with(penalty), kind_of(price, probability))


@pytest.mark.parametrize(
    ("price", "probability", "penalty", "cost"),
    [
        pytest.param(6.0, 0.0, 100.0, 6.0, id="C1: no risk costs the price"),
        pytest.param(1.8, 0.1, 5.0, 2.3, id="C2: risk times penalty is added"),
        pytest.param(6.0, 0.0, math.inf, 6.0, id="U4: pinned without risk costs the price"),
        pytest.param(1.8, 0.1, math.inf, math.inf, id="U4: pinned at risk is infinite"),
    ],
)
def test_effective_cost(price: float, probability: float, penalty: float, cost: float) -> None:
    assert effective_cost(price, probability, penalty) == pytest.approx(cost)


def test_the_dearer_the_interruption_the_safer_the_choice() -> None:
    """C3."""
    assert effective_cost(1.8, 0.1, 5.0) < effective_cost(6.0, 0.0, 5.0)
    assert effective_cost(1.8, 0.1, 50.0) > effective_cost(6.0, 0.0, 50.0)


SAFE_GANG = gpus.profile(0, same_zone=True, interruption=PINNED)
SAFE_SPREAD = gpus.profile(0, spread=(gpus.STRICT_ZONES,), interruption=PINNED)


def pinned_need(count: int) -> Need:
    return gpus.need("train", gpus.profile(0, interruption=PINNED), count)


def test_for_pinned_demand_machines_at_risk_come_last_and_only_then() -> None:
    """U4."""
    slots = [gpus.slot("a-risky", 1.0, 0.01), gpus.slot("b-safe", 50.0)]
    assert provisioned(decided(slots, [pinned_need(1)])) == ["b-safe"]
    assert provisioned(decided(slots, [pinned_need(2)])) == ["a-risky", "b-safe"]


def test_a_bucket_costs_its_upper_bound() -> None:
    """$5 falls into the bucket of $8: 1.8 + 0.1 x 8 is more than $2.5."""
    need = gpus.need("c", gpus.profile(0, interruption=bucket_of_dollars(5)), 1)
    machines = [
        gpus.host("a-spot", MachineState.SPECULATIVE, price=1.8, probability=0.1),
        gpus.host("b-safe", MachineState.SPECULATIVE, price=2.5),
    ]
    assert provisioned(decided(machines, [need])) == ["b-safe"]


def idle_spot(name: str, price: float, probability: float, zone: str = "") -> FleetMachine:
    return gpus.host(name, price=price, probability=probability, zone=zone)


def test_a_need_that_must_not_be_interrupted_does_not_take_an_idle_spot_machine() -> None:
    """U27: the spot machine is cheaper by its raw price, and would cost far more."""
    machines = [idle_spot("a-spot", 1.0, 0.2), gpus.host("b-safe", price=6.0)]
    assert bootstrapped(decided(machines, [pinned_need(1)])) == ["b-safe"]
    assert bootstrapped(decided(machines, [pinned_need(2)])) == ["a-spot", "b-safe"]


def test_for_demand_that_bears_an_interruption_the_idle_spot_machine_is_the_cheaper() -> None:
    need = gpus.need("c", gpus.profile(0, interruption=bucket_of_dollars(1)), 1)
    machines = [idle_spot("b-spot", 1.0, 0.2), gpus.host("a-safe", price=6.0)]
    assert bootstrapped(decided(machines, [need])) == ["b-spot"]


def test_idle_machines_still_come_before_what_must_be_bought() -> None:
    """An idle machine at risk costs a pinned Need infinitely much, and is taken all the same."""
    machines = [idle_spot("a-spot", 1.0, 0.2), gpus.slot("b-slot", 0.5)]
    assert bootstrapped(decided(machines, [pinned_need(1)])) == ["a-spot"]


def test_owned_machines_go_by_price_then_id_as_before() -> None:
    machines = [
        gpus.host(name, price=price) for name, price in (("c", 1.0), ("b", 2.0), ("a", 2.0))
    ]
    assert bootstrapped(decided(machines, [pinned_need(2)])) == ["a", "c"]


def test_a_gang_takes_the_safe_machines_of_its_zone_first() -> None:
    need = Need("train", SAFE_GANG, gpus.units(1), gpus.UNIT, group="g")
    machines = [idle_spot("a-spot", 1.0, 0.2, zone="z"), gpus.host("b-safe", price=6.0, zone="z")]
    assert bootstrapped(decided(machines, [need])) == ["b-safe"]


def test_a_spread_goes_to_the_zone_whose_first_machine_costs_least() -> None:
    need = Need("train", SAFE_SPREAD, gpus.units(1), gpus.UNIT)
    machines = [idle_spot("a-spot", 1.0, 0.2, zone="a"), gpus.host("b-safe", price=6.0, zone="b")]
    assert bootstrapped(decided(machines, [need])) == ["b-safe"]


def test_a_spread_buys_in_the_zone_whose_first_slot_costs_least() -> None:
    need = Need("train", SAFE_SPREAD, gpus.units(1), gpus.UNIT)
    machines = [
        gpus.host("a-spot", MachineState.SPECULATIVE, price=1.0, probability=0.2, zone="a"),
        gpus.host("b-safe", MachineState.SPECULATIVE, price=6.0, zone="b"),
    ]
    assert provisioned(decided(machines, [need])) == ["b-safe"]
