"""Small fleets drawn at random: every state, gangs, spreads, holds, reservations."""

from hypothesis import strategies as st

from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Held, HeldBy, Marks, PlanOptions
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import RACK_KEY, ZONE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources

NOW = 10**6 * SECOND
CLUSTERS = ["a", "b", "c"]


@st.composite
def machines(draw: st.DrawFn, machine_id: str) -> FleetMachine:
    state = draw(st.sampled_from([s for s in MachineState if s]))
    slot = state in (MachineState.SPECULATIVE, MachineState.CREATING)
    bound = state in (MachineState.CONFIGURED, MachineState.DRAINING, MachineState.CONFIGURING)
    free = state in (MachineState.IDLE, MachineState.SPECULATIVE)
    machine = Machine(
        machine_id,
        state,
        draw(st.sampled_from(CapacityType)),
        Host() if slot else Host("sim", machine_id),
        draw(st.sampled_from(CLUSTERS)) if bound else "",
        draw(st.sampled_from(["", "t1", "t2"])),
        draw(st.sampled_from(["", "z1", "z2"])),
        draw(st.sampled_from([{}, {RACK_KEY: "r1"}, {RACK_KEY: "r2"}])),
        Resources.of({"cpu": draw(st.sampled_from([2000, 4000, 8000]))}),
        Resources(),
        draw(st.sampled_from([0.0, 0.5, 2.0])),
        draw(st.sampled_from([0.0, 0.25])),
        "lost" if state is MachineState.FAILED else "",
        Assigned(draw(st.integers(0, 3))) if bound else Assigned(),
    )
    held = st.sampled_from([None, None, Held(HeldBy.BACKOFF, NOW), Held(HeldBy.UNSEEN)])
    return FleetMachine(
        machine,
        Marks(
            draw(st.sampled_from([None, 0, NOW])) if state is MachineState.IDLE else None,
            draw(held) if free else None,
            draw(st.booleans()) if bound else False,
        ),
    )


requirements = st.sampled_from(
    [
        (),
        (Requirement.of(ZONE_KEY, Operator.IN, ["z1"]),),
        (Requirement.of(RACK_KEY, Operator.SAME),),
        (Requirement.of(ZONE_KEY, Operator.SAME), Requirement.of(RACK_KEY, Operator.EXISTS)),
        (Requirement.of("node.kubernetes.io/instance-type", Operator.IN, ["t9"]),),
    ]
)
spreads = st.sampled_from([(), (Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE),)])
needs = st.builds(
    lambda cluster, asks, spread, priority, bucket, cpus, unit, group: FleetNeed(
        Need(
            cluster,
            Profile.of(asks, spread, priority, bucket),
            Resources.of({"cpu": cpus * 1000}),
            Resources.of({"cpu": unit * 1000}),
            group=group,
        )
    ),
    st.sampled_from(CLUSTERS),
    requirements,
    spreads,
    st.integers(0, 3),
    st.sampled_from([0, 3, 27]),
    st.integers(0, 40),
    st.integers(1, 8),
    st.sampled_from(["", "g"]),
)


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    count = draw(st.integers(0, 12))
    return Fleet(
        tuple(draw(machines(f"m{i:02d}")) for i in range(count)),
        tuple(draw(st.lists(needs, max_size=5, unique_by=lambda row: row.need.key))),
        draw(st.sampled_from([None, NOW])),
        plan=PlanOptions(draw(st.sampled_from([0.0, 0.5])), draw(st.sampled_from([0, 3])), 3),
    )
