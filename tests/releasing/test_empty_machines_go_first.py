"""U23: among machines of equal price and reclamation penalty the one that runs nothing goes."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import FleetMachine, Marks
from bigfleet.model.machines import Assigned, MachineState
from tests.worlds.fleets import actions_of, decided, reclaimed, verdict_of
from tests.worlds.racks import in_rack, m5, own_stamp, rack_gang, small_need


def bound(
    name: str, *, empty: bool = False, price: float = 1.0, penalty: float = 0.0
) -> FleetMachine:
    return m5(
        name,
        MachineState.CONFIGURED,
        cluster="c",
        price=price,
        rack="a",
        stamp=Assigned(reclamation_penalty=penalty),
        marks=Marks(empty=empty),
    )


def test_of_equal_machines_the_empty_one_is_the_excess() -> None:
    machines = [bound("m-1", empty=True), bound("m-2"), bound("m-3")]
    decision = decided(machines, [small_need("c", 8)])
    assert verdict_of(decision).claimed == ("m-2", "m-3")
    assert reclaimed(decision) == ["m-1"]


def test_unknown_counts_as_busy() -> None:
    assert reclaimed(decided([bound("m-1"), bound("m-2")], [small_need("c", 4)])) == ["m-2"]


def test_a_cheaper_machine_stays_although_it_is_empty() -> None:
    machines = [bound("m-1", empty=True, price=1.0), bound("m-2", price=2.0)]
    assert reclaimed(decided(machines, [small_need("c", 4)])) == ["m-2"]


def test_a_machine_that_is_dear_to_give_up_stays_although_it_is_empty() -> None:
    machines = [bound("m-1"), bound("m-2", empty=True, penalty=9.0)]
    assert reclaimed(decided(machines, [small_need("c", 4)])) == ["m-1"]


def test_inside_the_excess_too_empty_machines_are_told_last() -> None:
    """Emission, and with it the reclaim cap, runs in keep order: dearest to lose first to stay."""
    machines = [bound("m-1", empty=True), bound("m-2"), bound("m-3", empty=True)]
    given_back = actions_of(decided(machines), ActionKind.RECLAIM)
    assert [action.machine for action in given_back] == ["m-2", "m-1", "m-3"]


def test_a_gang_keeps_its_own_machine_before_a_busy_one_of_others() -> None:
    """Own incumbents first, as ever; emptiness decides only between equals."""
    need = rack_gang("c", 4, "g-1")
    own = m5(
        "own",
        MachineState.CONFIGURED,
        rack="a",
        cluster="c",
        stamp=own_stamp(need),
        marks=Marks(empty=True),
    )
    others = in_rack("a", 1, MachineState.CONFIGURED, cluster="c")
    assert verdict_of(decided([own, *others], [need])).claimed == ("own",)
