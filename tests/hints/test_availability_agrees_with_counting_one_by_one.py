"""The columns of availability against machines counted one by one, on generated fleets."""

from hypothesis import Phase, given, settings

from bigfleet.engine.availability import availability_of
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import Confidence
from bigfleet.plan.cycle import cycle_input
from tests.generated.fleets import fleet_of_seed, fleets
from tests.oracle.availability import Available, available

_SUPPLY = (MachineState.IDLE, MachineState.SPECULATIVE)


@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(fleets())
def test_counts_and_costs_are_those_of_the_machines(fleet: Fleet) -> None:
    found = availability_of(cycle_input(fleet).decide().outcome)
    counted = {
        (found.cluster_name(row), found.profile_of(row).fingerprint): Available(
            int(found.idle[row]),
            int(found.speculative[row]),
            float(found.idle_price[row]),
            float(found.speculative_cost[row]),
        )
        for row in range(len(found))
    }
    assert counted == available(fleet)
    assert (found.healthy == found.speculative).all()
    nothing = found.count == 0
    assert ((found.confidence == Confidence.NONE) == nothing).all()
    assert (found.cost[nothing] == 0).all()


def test_the_generated_fleets_hold_machines_back_and_ask_for_several_units() -> None:
    """What the comparison above stands on."""
    held = several = 0
    for seed in range(300):
        fleet = fleet_of_seed(seed)
        held += any(m.marks.held and m.machine.state in _SUPPLY for m in fleet.machines)
        units: dict[tuple[str, str], set[object]] = {}
        for row in fleet.needs:
            pair = (row.need.cluster, row.need.profile.fingerprint)
            units.setdefault(pair, set()).add(row.need.min_unit.positive())
        several += any(len(each) > 1 for each in units.values())
    assert held > 50
    assert several > 50
