"""Equal seed, equal calls, equal times: equal logs, byte for byte."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.events import Step
from bigfleet.provider.sim.world.market import stock_of
from bigfleet.provider.sim.world.offerings import offering
from bigfleet.provider.sim.world.state import Rules
from tests.sim.handles import METAL, SimHandle, hand

FLEET = (
    METAL,
    offering("std-2", CapacityType.ON_DEMAND, "a", 6, id_prefix="od", stock=stock_of(4)),
    offering("std-2", CapacityType.SPOT, "b", 6, id_prefix="sp", failure_rate={"create": 0.2}),
    offering(
        "std-4",
        CapacityType.SPOT,
        "c",
        6,
        id_prefix="mk",
        stock=stock_of("markov:up=2h,down=30m"),
    ),
)
MACHINES = [f"{prefix}-{n:04d}" for prefix in ("od", "sp", "mk") for n in range(6)]
MOVES = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(list(Step)), st.sampled_from(MACHINES)),
    st.tuples(st.just("wait"), st.sampled_from(["1s", "20s", "3m", "2h"]), st.just("")),
    st.tuples(
        st.just("do"),
        st.sampled_from(
            [
                "interrupt capacity=spot 0.5",
                "vanish state=idle",
                "price capacity=spot x1.5",
                "stock type=std-2 2",
                "hold configure",
                "release",
                "failure-rate create 0.3",
                "latency create gamma:20s,2",
            ]
        ),
        st.just(""),
    ),
)


def played(moves: list[tuple[str, object, str]], seed: int) -> SimHandle:
    sim = hand(*FLEET, rules=Rules(seed=seed, couple=True))
    for move, what, machine in moves:
        match move:
            case "ask":
                assert isinstance(what, Step)
                if machine not in sim.substrate.work_of:
                    sim.ask(what, machine, "shop")
            case "wait":
                sim.wait(str(what))
            case _:
                verb, *words = str(what).split(" ")
                sim.reply(verb, *words)
        validate(sim)
    sim.wait("24h")
    validate(sim)
    return sim


def validate(sim: SimHandle) -> None:
    """Counts agree with what is there; all work is on the agenda, parked or endless."""
    substrate = sim.substrate
    for pool in substrate.supply.pools.values():
        hosts = sum(slot.host is not None for slot in pool.slots.values())
        reserved = sum(
            work.reserves for work in substrate.work.values() if work.machine in pool.slots
        )
        assert pool.hosts == hosts + reserved
    regions = {pool.offering.region for pool in substrate.supply.pools.values()}
    for region in regions:
        pools = [p for p in substrate.supply.pools.values() if p.offering.region == region]
        assert substrate.supply.hosts_of_region.get(region, 0) == sum(pool.hosts for pool in pools)
    assert {id(work) for work in substrate.work.values()} == {
        id(work) for work in substrate.work_of.values()
    }
    for (step, operation), work in substrate.work.items():
        assert work.parked or substrate.agenda.at("work", step, operation) is not None


@settings(deadline=None, max_examples=30)
@given(st.lists(MOVES, max_size=40), st.integers(0, 3))
def test_the_same_run_writes_the_same_log(moves: list[tuple[str, object, str]], seed: int) -> None:
    assert played(moves, seed).log_text() == played(moves, seed).log_text()


@settings(deadline=None, max_examples=40)
@given(st.permutations(MACHINES[6:]))
def test_the_order_of_calls_within_an_instant_changes_nothing(order: list[str]) -> None:
    def run(machines: list[str]) -> str:
        sim = hand(*FLEET)
        for machine in machines:
            sim.ask(Step.CREATE, machine, operation=f"create-{machine}")
        sim.wait("3h")
        return sim.log_text()

    assert run(order) == run(sorted(order))


def test_another_seed_is_another_world() -> None:
    moves: list[tuple[str, object, str]] = [("ask", Step.CREATE, "sp-0000"), ("wait", "2h", "")]
    assert played(moves, 1).log_text() != played(moves, 2).log_text()


def test_one_long_wait_and_many_short_ones_are_the_same_day() -> None:
    def run(waits: list[str]) -> str:
        sim = hand(*FLEET)
        for machine in MACHINES:
            sim.ask(Step.CREATE, machine)
        for wait in waits:
            sim.wait(wait)
        return sim.log_text()

    assert run(["24h"]) == run(["1m"] * 1440)
