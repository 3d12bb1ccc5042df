"""What a decision leaves to give: free machines by cost, and bound ones by the score of victims."""

from dataclasses import replace

from bigfleet.engine.decision import Decision
from bigfleet.engine.donation import Wanted, spare_machines, victims_below
from bigfleet.model.fleet import FleetMachine, Held, HeldBy, Marks
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.requirements import HOSTNAME_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import cycle_input
from tests.worlds.fleets import NOW, fleet_of
from tests.worlds.gpus import UNIT, bound, gpus, host, idle, plain, slot

ANY = Wanted(min_unit=UNIT)


def everything(machine: str) -> bool:
    return True


def spare(decision: Decision, wanted: Wanted = ANY) -> list[str]:
    return spare_machines(decision, MachineState.IDLE, wanted, everything)


def victims(decision: Decision, priority: int, most: int = 10) -> list[tuple[str, int, int]]:
    options = EngineOptions()
    found = victims_below(decision, priority, ANY, everything, options, most)
    return [(each.machine, each.priority, each.grace_seconds) for each in found]


def fleet(*machines: FleetMachine, needs: tuple[Need, ...] = ()) -> Decision:
    return cycle_input(fleet_of(machines, needs, now=NOW)).decide()


def test_free_machines_come_by_cost_and_then_by_id() -> None:
    assert spare(fleet(host("b", price=2), host("a", price=3), host("c", price=2))) == [
        "b",
        "c",
        "a",
    ]


def test_what_a_need_claims_is_not_free() -> None:
    assert spare(fleet(*idle(3), needs=(plain("shop", 100, 2),))) == ["idle-02"]


def test_what_is_held_is_not_free() -> None:
    held = host("held", marks=Marks(held=Held(HeldBy.OPERATOR)))
    assert spare(fleet(held, host("free"))) == ["free"]


def test_interruptions_cost_what_the_shortfall_says() -> None:
    machines = (slot("risky", 1.0, 0.5), slot("sure", 5.0))
    cheap = spare_machines(
        fleet(*machines), MachineState.SPECULATIVE, Wanted(min_unit=UNIT), everything
    )
    costly = spare_machines(
        fleet(*machines),
        MachineState.SPECULATIVE,
        Wanted(min_unit=UNIT, penalty=float("inf")),
        everything,
    )
    assert (cheap, costly) == (["risky", "sure"], ["sure", "risky"])


def test_a_node_may_be_asked_for_by_name() -> None:
    named = Requirement.of(HOSTNAME_KEY, Operator.IN, ["n-2"])
    labelled = [_labelled(host(f"m-{n}"), f"n-{n}") for n in (1, 2)]
    assert spare(fleet(*labelled), Wanted((named,), UNIT)) == ["m-2"]


def test_what_brings_nothing_of_the_deficit_is_of_no_use() -> None:
    assert spare(fleet(host("m")), Wanted(deficit=gpus(8))) == ["m"]
    assert spare(fleet(host("m")), Wanted(deficit=Resources.of({"cpu": 1}))) == []


def test_victims_are_strictly_lower_and_the_lowest_come_first() -> None:
    fleet_of_three = fleet(
        bound("a", "shop", 500), bound("b", "shop", 100), bound("c", "shop", 1000)
    )
    assert [name for name, *_ in victims(fleet_of_three, 1000)] == ["b", "a"]


def test_a_victim_counts_as_much_as_the_need_that_has_it() -> None:
    machine = bound("a", "shop", 100)
    assert victims(fleet(machine), 1000) == [("a", 100, 600)]
    assert victims(fleet(machine, needs=(plain("shop", 2000, 1),)), 1000) == []


def test_unclaimed_machines_go_before_claimed_ones() -> None:
    """Both are of the same stamp; the Need keeps the first of them."""
    machines = (bound("a", "shop", 100), bound("b", "shop", 100))
    found = victims(fleet(*machines, needs=(plain("shop", 100, 1),)), 1000)
    assert [name for name, *_ in found] == ["b", "a"]


def test_the_grace_is_by_the_gap() -> None:
    assert [grace for *_, grace in victims(fleet(bound("a", "shop", 0)), 950_000)] == [10]


def test_no_more_victims_than_asked_for() -> None:
    many = fleet(*(bound(f"m-{n}", "shop", 100) for n in range(5)))
    assert len(victims(many, 1000, most=2)) == 2


def test_a_fleet_without_demand_or_machines_gives_nothing() -> None:
    assert victims(fleet(), 1000) == []
    assert spare(fleet()) == []


def _labelled(each: FleetMachine, name: str) -> FleetMachine:
    labels = {**each.machine.labels, HOSTNAME_KEY: name}
    return replace(each, machine=replace(each.machine, labels=labels))
