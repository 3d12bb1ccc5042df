"""Two Needs of one identity (a plain one, and gangs folded into its like) share no victim."""

from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY
from bigfleet.plan.cycle import decide_fleet
from tests.generated.agreement import differences
from tests.generated.parts import NOW, SAMES, UNIT
from tests.oracle import decide as oracle


def bound(name: str, state: MachineState, zone: str) -> FleetMachine:
    machine = Machine(
        id=name,
        state=state,
        capacity_type=CapacityType.ON_DEMAND,
        host=Host("sim", name),
        cluster="beta",
        zone=zone,
        labels={RACK_KEY: "r1"},
        resources=UNIT,
        assigned=Assigned(cluster="beta"),
    )
    return FleetMachine(machine)


def test_a_victim_that_drains_for_one_of_them_does_not_narrow_the_spread_of_the_other() -> None:
    strict = Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)
    gang = Profile.of(SAMES[0], (strict,), 500_000, 1, 1)
    plain = gang.without_same()
    holder = NeedKey("alpha", plain.fingerprint, "")
    fleet = Fleet(
        machines=(
            bound("draining", MachineState.DRAINING, "a"),
            bound("first", MachineState.CONFIGURED, "a"),
            bound("second", MachineState.CONFIGURED, "b"),
        ),
        needs=(
            FleetNeed(Need("alpha", plain, UNIT, UNIT, 1)),
            FleetNeed(Need("alpha", gang, UNIT, UNIT, 1, "gang")),
        ),
        now=NOW,
        memory=EngineMemory(
            {"draining": Reservation("draining", ReservationKind.PREEMPTION, holder, None)}
        ),
    )
    decision = decide_fleet(fleet)
    assert differences(decision, oracle.decide(fleet)) == []
    assert decision.actions[0].machine == "first"
