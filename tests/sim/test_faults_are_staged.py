"""Failures and holds that were asked for: which work they hit, and when they end."""

import pytest

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.events import Failure, Finish, Instruction, Refuse, Step
from bigfleet.provider.sim.world.offerings import offering
from bigfleet.provider.sim.world.state import Rules
from tests.sim.handles import ON_DEMAND, SimHandle, hand

SELECTORS = Rules(fault_selectors=True)


def failure_of(said: list[Instruction]) -> Failure | None:
    [end] = [i for i in said if isinstance(i, Finish | Refuse)]
    return end.failure if isinstance(end, Refuse) else None


def created(sim: SimHandle, machine: str) -> Failure | None:
    sim.ask(Step.CREATE, machine)
    return failure_of(sim.wait("1h"))


def test_the_next_operations_fail_and_the_one_after_them_does_not() -> None:
    sim = hand(ON_DEMAND)
    sim.do("fail-next", "od-0000", "create", "error", "2")
    assert [created(sim, "od-0000") for _ in range(3)] == [Failure.ERROR, Failure.ERROR, None]


def test_a_staged_failure_hits_only_the_machines_and_the_kind_it_names() -> None:
    sim = hand(ON_DEMAND)
    sim.do("fail-next", "od-0001", "create")
    assert created(sim, "od-0000") is None
    sim.do("fail-next", "zone=sim-1a", "configure", "stockout")
    assert created(sim, "od-0001") is Failure.ERROR
    sim.ask(Step.CONFIGURE, "od-0000", "shop")
    assert failure_of(sim.wait("1h")) is Failure.STOCKOUT


def test_a_timeout_never_answers() -> None:
    sim = hand(ON_DEMAND)
    sim.do("fail-next", "od-0000", "create", "timeout")
    sim.ask(Step.CREATE, "od-0000")
    assert sim.wait("24h") == []
    assert sim.state("od-0000") == "creating"


def test_held_work_stays_transitional_until_it_is_released() -> None:
    sim = hand(ON_DEMAND)
    sim.do("hold", "create")
    sim.ask(Step.CREATE, "od-0000")
    assert sim.wait("24h") == []
    assert sim.state("od-0000") == "creating"
    assert sim.do("release") == {"holds": 1, "operations": 1}
    assert failure_of(sim.wait("0")) is None


def test_a_hold_with_a_selector_keeps_only_what_it_selects() -> None:
    sim = hand(ON_DEMAND)
    sim.do("hold", "create", "od-0000")
    sim.ask(Step.CREATE, "od-0000")
    sim.ask(Step.CREATE, "od-0001")
    assert failure_of(sim.wait("1h")) is None
    assert (sim.state("od-0000"), sim.state("od-0001")) == ("creating", "idle")


def test_work_that_began_before_the_hold_is_held_too() -> None:
    sim = hand(ON_DEMAND)
    sim.ask(Step.CREATE, "od-0000")
    sim.do("hold", "all")
    assert sim.wait("1h") == []


def test_a_release_by_name_leaves_other_holds() -> None:
    sim = hand(ON_DEMAND)
    sim.do("hold", "create", "od-0000")
    sim.do("hold", "create", "od-0001")
    sim.ask(Step.CREATE, "od-0000")
    sim.ask(Step.CREATE, "od-0001")
    sim.wait("1h")
    assert sim.do("release", "create", "od-0001") == {"holds": 1, "operations": 1}
    sim.wait("0")
    assert (sim.state("od-0000"), sim.state("od-0001")) == ("creating", "idle")


def test_a_failure_rate_hits_about_its_share_and_the_same_machines_each_run() -> None:
    def failed() -> list[str]:
        many = offering("std-2", CapacityType.ON_DEMAND, "z", 500, id_prefix="m")
        sim = hand(many)
        sim.do("failure-rate", "create", "0.2")
        for number in range(500):
            sim.ask(Step.CREATE, f"m-{number:04d}")
        return sorted(i.machine for i in sim.wait("1h") if isinstance(i, Refuse))

    first = failed()
    assert len(first) == pytest.approx(100, abs=25)
    assert first == failed()


def test_a_host_that_vanishes_says_nothing() -> None:
    sim = hand(ON_DEMAND)
    sim.done(Step.CREATE, "od-0000")
    assert sim.do("vanish", "od-0000") == {"machines": 1}
    assert sim.wait("1h") == []
    assert sim.state("od-0000") == "speculative"


def test_a_removed_slot_is_no_longer_offered() -> None:
    sim = hand(ON_DEMAND)
    sim.do("remove", "od-0000", "od-0001")
    assert list(sim.substrate.supply.slots) == ["od-0002", "od-0003"]
    assert "not a machine" in sim.problem("fail", "od-0000")


def test_an_added_offering_can_be_bought_at_once() -> None:
    sim = hand(ON_DEMAND)
    added = '{"instance_type": "std-4", "zone": "z", "capacity_type": "spot", "count": 2}'
    assert sim.do("add", added) == {"machines": 2}
    sim.done(Step.CREATE, "sim--spot--std-4--z--000")


class TestSelectorsCarriedOnTheWire:
    def test_a_slow_cluster_is_ready_when_its_name_says(self) -> None:
        sim = hand(ON_DEMAND, rules=SELECTORS)
        sim.done(Step.CREATE, "od-0000")
        sim.ask(Step.CONFIGURE, "od-0000", "fault-ready-slow:7200", operation="c")
        sim.wait("1h")
        sim.ask(Step.READY, "od-0000", "fault-ready-slow:7200", operation="c")
        assert sim.wait("59m") == []
        assert failure_of(sim.wait("1h")) is None

    def test_a_flaky_cluster_fails_once_and_works_on_retry(self) -> None:
        sim = hand(ON_DEMAND, rules=SELECTORS)
        sim.done(Step.CREATE, "od-0000")
        sim.ask(Step.CONFIGURE, "od-0000", "fault-flaky:1")
        assert failure_of(sim.wait("1h")) is Failure.RETRYABLE

    def test_a_host_crashes_so_long_after_it_was_configured(self) -> None:
        sim = hand(ON_DEMAND, rules=SELECTORS)
        sim.done(Step.CREATE, "od-0000")
        sim.ask(Step.CONFIGURE, "od-0000", "fault-crash-after:30", operation="c")
        said = sim.wait("1h")
        assert len(said) == 2
        assert sim.state("od-0000") == "speculative"

    @pytest.mark.parametrize(
        ("label", "step", "failure"),
        [
            ({"conformance.fault/create": "stockout"}, Step.CREATE, Failure.STOCKOUT),
            ({"conformance.fault/delete": "error"}, Step.DELETE, Failure.ERROR),
        ],
        ids=["create", "delete"],
    )
    def test_a_labelled_slot_fails_its_step(
        self, label: dict[str, str], step: Step, failure: Failure
    ) -> None:
        part = offering("std-2", CapacityType.ON_DEMAND, "z", 1, id_prefix="f", labels=label)
        sim = hand(part, rules=SELECTORS)
        if step is Step.DELETE:
            sim.done(Step.CREATE, "f-0000")
        sim.ask(step, "f-0000")
        assert failure_of(sim.wait("1h")) is failure

    def test_selectors_mean_nothing_unless_they_are_on(self) -> None:
        sim = hand(ON_DEMAND)
        sim.done(Step.CREATE, "od-0000")
        sim.ask(Step.CONFIGURE, "od-0000", "fault-flaky:1")
        assert failure_of(sim.wait("1h")) is None
