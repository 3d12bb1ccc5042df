"""What hosts were billed, by hand: from the order to the end, at the price of each moment."""

import pytest

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.distributions import distribution_of
from bigfleet.provider.sim.world.economy import new_substrate
from bigfleet.provider.sim.world.events import Command, CommandGiven, Step, StepAsked, TimePassed
from bigfleet.provider.sim.world.offerings import offering
from bigfleet.provider.sim.world.report import state_report
from bigfleet.provider.sim.world.state import Rules, Substrate
from bigfleet.provider.sim.world.step import step

SECOND = 1_000_000_000
PRICE = 0.36


def substrate(stock: str = "inf") -> Substrate:
    made = new_substrate(
        Rules(
            latency={"create": distribution_of("fixed:60s"), "delete": distribution_of("fixed:30s")}
        ),
        [
            offering("std-8", CapacityType.ON_DEMAND, "a", 2, price=PRICE, id_prefix="od"),
            offering("std-8", CapacityType.BARE_METAL, "a", 2, id_prefix="bm"),
        ],
    )
    step(made, CommandGiven(Command("stock", {"select": "capacity=on_demand", "value": stock}), 0))
    return made


def asked(world: Substrate, kind: Step, at: int) -> None:
    step(world, StepAsked(kind, "od-0000", f"{kind}-{at}", at * SECOND))


def billed(world: Substrate, at: int) -> float:
    step(world, TimePassed(at * SECOND))
    return sum(map(world.billed, world.supply.pools.values()))


def test_a_host_is_billed_from_its_order_to_its_end() -> None:
    world = substrate()
    asked(world, Step.CREATE, 100)
    assert billed(world, 200) == pytest.approx(PRICE * 100 / 3600)
    asked(world, Step.DELETE, 400)
    assert billed(world, 10_000) == pytest.approx(PRICE * (430 - 100) / 3600)


def test_a_create_that_is_refused_at_once_is_not_billed() -> None:
    world = substrate(stock="0")
    asked(world, Step.CREATE, 100)
    assert billed(world, 10_000) == 0


def test_a_new_price_holds_from_when_it_is_published() -> None:
    world = substrate()
    asked(world, Step.CREATE, 0)
    said = Command("price", {"select": "capacity=on_demand", "value": "x2"})
    step(world, CommandGiven(said, 600 * SECOND))
    assert billed(world, 1_000) == pytest.approx(PRICE * (600 + 2 * 400) / 3600)


def test_the_state_of_each_pool_tells_its_bill() -> None:
    world = substrate()
    asked(world, Step.CREATE, 0)
    step(world, TimePassed(36_000 * SECOND))
    report = state_report(world)
    pools = report["pools"]
    assert isinstance(pools, list)
    assert {pool["pool"]: pool["billed"] for pool in pools} == {
        "std-8/a/on-demand": 3.6,
        "std-8/a/bare-metal": 0.0,
    }
