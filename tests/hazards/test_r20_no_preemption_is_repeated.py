"""R20: while victims drain, their deficit asks for no others."""

from tests.hazards.virtual_fleet import VirtualFleet, bound, need

MACHINES = [f"m{n}" for n in range(8)]
TEN_MINUTES = dict.fromkeys(MACHINES, 600)


def test_r20_two_missing_machines_cost_two_preempts_over_a_hundred_cycles() -> None:
    fleet = VirtualFleet([bound(name, "batch") for name in MACHINES], TEN_MINUTES)
    fleet.report("batch", need("batch", 8, 100))
    fleet.run(2)
    fleet.report("web", need("web", 2, 1000))
    fleet.run(100)
    assert len(fleet.preempted) == 2
    assert len(fleet.of("batch")) == 6
    fleet.run(510)
    assert fleet.of("web") == set(fleet.preempted)
    assert len(fleet.preempted) == 2
