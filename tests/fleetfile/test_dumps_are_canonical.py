"""Dumping, loading and dumping again gives the same bytes, in every format."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.fleetfile import dump_fleet, load_fleet
from bigfleet.model.fleet import (
    Costs,
    Fleet,
    FleetMachine,
    FleetNeed,
    Held,
    HeldBy,
    Marks,
    PlanOptions,
    Provenance,
)
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind, Shortfall
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import EngineOptions, Parking, VictimWeights
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources

FORMATS = ("fleet.yaml", "fleet.json", "fleet.jsonl", "fleet.yaml.gz")

# Texts that a YAML reader may take for something else, and texts of any characters.
tricky = st.sampled_from(
    ["no", "010", "1e3", "0x1F", "~", "null", "12:30", "2026-01-01", "=", "<<", "- a", "a: b", ".5"]
)
texts = tricky | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
maybe = st.just("") | texts
# The same for what must be a name: of labels, and of machines and clusters.
names = st.sampled_from(
    ["no", "010", "1e3", "0x1F", "null", "2026-01-01", "1.0", "1_000", "y"]
) | st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,6}[A-Za-z0-9])?", fullmatch=True)
maybe_named = st.just("") | names
ids = st.sampled_from(
    ["no", "010", "1e3", "~", "null", "12:30", "=", "<<", "-a", "a:b", ".5", "#a", "&a", "*a", "'"]
) | st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=8).filter(
    lambda text: ".." not in text
)
#: A hold for any other would have no effect, and is refused.
RELEASED = [CapacityType.ON_DEMAND, CapacityType.SPOT]
instants = st.integers(-(10**18), 4 * 10**18)
dollars = st.floats(0, 1e9) | st.just(math.inf)
resources = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods"]),
    st.integers(0, 2**50 - 1),
    max_size=3,
).map(Resources.of)
keys = st.builds(NeedKey, maybe, maybe, maybe)
stamps = st.builds(
    Assigned, st.integers(-(2**31), 2**31 - 1), dollars, dollars, maybe, maybe, maybe
)


@st.composite
def machines(draw: st.DrawFn, machine_id: str) -> FleetMachine:
    state = draw(st.sampled_from([s for s in MachineState if s]))
    hosted = state not in (MachineState.SPECULATIVE, MachineState.CREATING)
    bound = state in (MachineState.CONFIGURED, MachineState.DRAINING)
    hosts = st.just(Host("sim", machine_id)) | st.builds(Host, texts, maybe)
    machine = Machine(
        machine_id,
        state,
        draw(st.sampled_from(CapacityType)),
        draw(hosts) if hosted else Host(),
        draw(ids) if bound else "",
        draw(maybe_named),
        draw(maybe_named),
        draw(st.dictionaries(names, maybe_named, max_size=3)),
        draw(resources),
        draw(resources),
        draw(st.floats(0, 1e6)),
        draw(st.floats(0, 1)),
        draw(texts) if state is MachineState.FAILED else draw(maybe),
        draw(stamps),
    )
    held = st.none() | st.builds(Held, st.sampled_from(HeldBy), st.none() | instants)
    return FleetMachine(
        machine,
        Marks(
            draw(st.none() | instants) if state is MachineState.IDLE else None,
            draw(held) if state in (MachineState.IDLE, MachineState.SPECULATIVE) else None,
            draw(st.booleans()),
            empty=draw(st.booleans()) if state is MachineState.CONFIGURED else False,
        ),
    )


requirements = st.builds(
    Requirement.of,
    names,
    st.sampled_from([o for o in Operator if o]),
    st.lists(maybe_named, max_size=3),
)
spreads = st.builds(Spread, names, st.integers(0, 9), st.sampled_from(WhenUnsatisfiable))
profiles = st.builds(
    Profile.of,
    st.lists(requirements, max_size=2),
    st.lists(spreads, max_size=2),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 27),
    st.integers(0, 27),
)
needs = st.builds(
    FleetNeed,
    st.builds(Need, ids, profiles, resources, resources, instants, maybe, st.booleans()),
    maybe,
    st.sampled_from(["", "pod", "buffer", "provisioning-request"]),
)
memories = st.builds(
    lambda reservations, parking, shortfalls: EngineMemory(
        {r.machine: r for r in reservations},
        parking,
        {key: Shortfall(Resources(), age) for key, age in shortfalls.items()},
    ),
    st.lists(
        st.builds(Reservation, texts, st.sampled_from(ReservationKind), keys, st.none() | instants),
        max_size=2,
    ),
    st.dictionaries(keys, st.integers(0, 99), max_size=2),
    st.dictionaries(keys, st.integers(0, 99), max_size=2),
)
options = st.builds(
    EngineOptions,
    st.none() | st.frozensets(texts, max_size=2),
    st.dictionaries(
        st.sampled_from([CapacityType.ON_DEMAND, CapacityType.SPOT]), st.floats(0, 1e6), max_size=3
    ),
    st.builds(VictimWeights, *[st.floats(0, 9)] * 4),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.builds(Parking, st.integers(0, 99), st.integers(1, 99)),
    st.booleans(),
)


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    machine_ids = draw(st.lists(ids, max_size=4, unique=True))
    rows = draw(st.lists(needs, max_size=3, unique_by=lambda row: row.need.key))
    return Fleet(
        machines=tuple(draw(machines(machine_id)) for machine_id in machine_ids),
        needs=tuple(rows),
        now=draw(st.none() | instants),
        options=draw(st.just(EngineOptions()) | options),
        plan=PlanOptions(draw(st.floats(0, 1)), draw(st.integers(0, 99)), draw(st.integers(1, 99))),
        memory=draw(memories),
        name=draw(maybe),
        provenance=draw(
            st.builds(Provenance, maybe, maybe, maybe, st.none() | instants, st.booleans())
        ),
        costs=draw(
            st.builds(
                Costs,
                st.dictionaries(texts, st.floats(0, 1e6), max_size=2),
                st.dictionaries(texts, maybe, max_size=2),
            )
        ),
    )


@settings(max_examples=settings().max_examples // 3)
@given(fleets(), st.sampled_from(FORMATS))
def test_a_dump_loads_and_dumps_to_the_same_bytes(fleet: Fleet, name: str) -> None:
    dump = dump_fleet(fleet, name)
    assert dump_fleet(load_fleet(dump, name), name) == dump


@settings(max_examples=settings().max_examples // 3)
@given(fleets())
def test_every_format_says_the_same(fleet: Fleet) -> None:
    loaded = [load_fleet(dump_fleet(fleet, name), name) for name in FORMATS]
    assert all(other == loaded[0] for other in loaded)
    assert loaded[0].memory == fleet.memory
    assert loaded[0].needs == fleet.needs
    assert loaded[0].options == fleet.options


def test_a_dump_leaves_out_defaults_and_sorts_machines() -> None:
    fleet = load_fleet(
        b"""
version: 1
kind: Fleet
machines:
  - {id: b, state: Idle, capacityType: Spot, resources: {memory: 1024Mi, cpu: 1000m},
     allocatable: {cpu: 1, memory: 1Gi}, host: sim/b, pricePerHour: 0, zone: ""}
  - {id: a, state: Speculative, capacityType: Reserved, count: 1}
needs: []
options: {cycles: 1, drainSeconds: 30, clustersReady: all}
""",
        "fleet.yaml",
    )
    assert dump_fleet(fleet, "out.yaml").decode() == (
        "version: 1\n"
        "kind: Fleet\n"
        "machines:\n"
        "- {id: a, state: Speculative, capacityType: Reserved}\n"
        "- id: b\n"
        "  state: Idle\n"
        "  capacityType: Spot\n"
        "  resources: {cpu: '1', memory: 1Gi}\n"
        "needs: []\n"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_fleet_is_a_fleet(name: str) -> None:
    assert load_fleet(dump_fleet(Fleet(), name), name) == Fleet()
