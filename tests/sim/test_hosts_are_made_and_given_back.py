"""The steps of an operation: when they end, and what they leave behind."""

import pytest

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.distributions import SECOND, distribution_of
from bigfleet.provider.sim.world.events import (
    Failure,
    Finish,
    HostAdopted,
    Refuse,
    ResetAsked,
    Step,
    StepAbandoned,
)
from bigfleet.provider.sim.world.offerings import offering
from bigfleet.provider.sim.world.state import Rules
from tests.sim.handles import METAL, ON_DEMAND, hand

CREATE_30S = Rules(latency={"create": distribution_of("fixed:30s")})


def test_a_create_ends_after_its_latency_and_not_before() -> None:
    sim = hand(rules=CREATE_30S)
    sim.ask(Step.CREATE, "od-0000")
    assert sim.wait("29s") == []
    assert sim.state("od-0000") == "creating"
    [end] = sim.wait("1s")
    assert isinstance(end, Finish)
    assert end.host_ref.startswith("sim-")
    assert sim.state("od-0000") == "idle"


def test_no_latency_still_ends_in_a_later_turn() -> None:
    sim = hand(rules=Rules(latency={"create": distribution_of("0")}))
    sim.ask(Step.CREATE, "od-0000")
    assert sim.state("od-0000") == "creating"
    sim.wait("0")
    assert sim.state("od-0000") == "idle"


def test_a_machine_goes_round_and_gets_another_host_each_time() -> None:
    sim = hand(ON_DEMAND)
    first = sim.done(Step.CREATE, "od-0000")
    sim.done(Step.CONFIGURE, "od-0000", "shop")
    assert sim.state("od-0000") == "configured"
    sim.done(Step.READY, "od-0000", "shop")
    sim.done(Step.DRAIN, "od-0000")
    assert sim.state("od-0000") == "idle"
    sim.done(Step.DELETE, "od-0000")
    assert sim.state("od-0000") == "speculative"
    assert sim.done(Step.CREATE, "od-0000") != first


def test_readiness_runs_from_the_end_of_configure_however_late_it_is_asked_for() -> None:
    rules = Rules(
        latency={"configure": distribution_of("fixed:5s"), "ready": distribution_of("fixed:20s")}
    )
    sim = hand(ON_DEMAND, rules=rules)
    sim.done(Step.CREATE, "od-0000")
    sim.ask(Step.CONFIGURE, "od-0000", "shop", operation="c")
    sim.wait("15s")
    sim.ask(Step.READY, "od-0000", "shop", operation="c")
    assert sim.wait("9s") == []
    assert len(sim.wait("1s")) == 1


def test_a_drain_never_takes_longer_than_its_grace() -> None:
    sim = hand(rules=Rules(latency={"drain": distribution_of("fixed:20s")}))
    sim.done(Step.CREATE, "od-0000")
    sim.done(Step.CONFIGURE, "od-0000", "shop")
    sim.ask(Step.DRAIN, "od-0000", grace=3)
    assert len(sim.wait("3s")) == 1


def test_metal_takes_longer_to_configure_unless_a_latency_is_given() -> None:
    sim = hand(METAL, ON_DEMAND)
    sim.ask(Step.CONFIGURE, "bm-0000", "shop")
    assert sim.wait("25s") == []
    assert len(sim.wait("30m")) == 1
    quick = hand(METAL, rules=Rules(latency={"configure": distribution_of("fixed:1s")}))
    quick.ask(Step.CONFIGURE, "bm-0000", "shop")
    assert len(quick.wait("1s")) == 1


def test_speed_divides_every_latency() -> None:
    sim = hand(rules=Rules(latency={"create": distribution_of("fixed:30s")}, speed=10))
    sim.ask(Step.CREATE, "od-0000")
    assert len(sim.wait("3s")) == 1


def test_an_offering_may_have_its_own_latency() -> None:
    slow = offering(
        "std-4",
        CapacityType.ON_DEMAND,
        "z",
        1,
        id_prefix="slow",
        latency={"create": distribution_of("fixed:1h")},
    )
    sim = hand(slow, rules=CREATE_30S)
    sim.ask(Step.CREATE, "slow-0000")
    assert sim.wait("59m") == []


def test_a_repeat_of_a_finished_create_finds_the_same_host_at_once() -> None:
    sim = hand(ON_DEMAND)
    operation = sim.ask(Step.CREATE, "od-0000")
    [end] = sim.wait("1h")
    sim.ask(Step.CREATE, "od-0000", operation=operation)
    assert isinstance(end, Finish)
    assert sim.slot("od-0000").host is not None
    assert sim.slot("od-0000").generation == 1


def test_a_create_that_was_given_up_leaves_no_host_and_no_claim_on_stock() -> None:
    sim = hand(ON_DEMAND)
    operation = sim.ask(Step.CREATE, "od-0000")
    sim.tell(StepAbandoned(Step.CREATE, operation, sim.substrate.now))
    assert sim.wait("1h") == []
    assert sim.state("od-0000") == "speculative"
    assert sim.slot("od-0000").pool.hosts == 0


def test_work_on_a_host_that_is_not_there_fails_at_once() -> None:
    sim = hand(ON_DEMAND)
    sim.ask(Step.CONFIGURE, "od-0000", "shop")
    [end] = sim.wait("0")
    assert isinstance(end, Refuse)
    assert end.failure is Failure.GONE


def test_an_owned_machine_is_not_given_back() -> None:
    sim = hand()
    refused = sim.admission(Step.DELETE, "bm-0000")
    assert refused is not None
    assert "never given back" in refused.text
    assert sim.admission(Step.DELETE, "od-0000") is None


def test_a_failed_rented_host_is_gone_and_a_failed_owned_one_waits_for_its_reset() -> None:
    sim = hand()
    sim.done(Step.CREATE, "od-0000")
    sim.do("fail", "od-0000")
    sim.do("fail", "bm-0000")
    assert (sim.state("od-0000"), sim.state("bm-0000")) == ("speculative", "failed")
    sim.tell(ResetAsked("bm-0000", sim.substrate.now))
    assert sim.state("bm-0000") == "idle"


def test_a_server_that_remembers_more_than_the_world_is_believed() -> None:
    sim, before = hand(ON_DEMAND, METAL), hand(ON_DEMAND, METAL)
    ref = before.done(Step.CREATE, "od-0000")
    sim.tell(HostAdopted("od-0000", sim.substrate.now, ref, "shop"))
    sim.tell(HostAdopted("bm-0000", sim.substrate.now))
    assert (sim.state("od-0000"), sim.state("bm-0000")) == ("configured", "speculative")
    assert sim.slot("od-0000").pool.hosts == 1
    assert sim.slot("bm-0000").pool.hosts == 1
    sim.done(Step.DRAIN, "od-0000")
    sim.done(Step.DELETE, "od-0000")
    assert sim.done(Step.CREATE, "od-0000") != ref


@pytest.mark.parametrize("seconds", [0.001, 1, 3600])
def test_time_never_runs_backwards(seconds: float) -> None:
    sim = hand()
    sim.wait(f"{seconds}s")
    before = sim.substrate.now
    sim.tell(StepAbandoned(Step.CREATE, "unknown", before - SECOND))
    assert sim.substrate.now == before
