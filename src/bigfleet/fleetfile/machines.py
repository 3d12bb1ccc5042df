"""The machines of a fleet file, the `count` shorthand included.

With `count: N` the id holds zeros in braces, `od-{00}`, which become the running number from 0
(with more digits where it outgrows them). Machine i stands in `zones[i % Z]`; `racks: R` puts it in
one of R racks of each zone, `<zone>-rack-<(i // Z) % R>` as label `topology.bigfleet/rack`, so
every zone has as many racks for every Z and R.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from bigfleet.fleetfile.complaints import Path
from bigfleet.fleetfile.limits import MOST_DOLLARS_PER_HOUR, MOST_MACHINES
from bigfleet.fleetfile.records import Record
from bigfleet.fleetfile.shapes import Shapes
from bigfleet.model.counted_ids import counted_id, is_counted
from bigfleet.model.fleet import FleetMachine, Held, HeldBy, Marks
from bigfleet.model.machines import (
    Assigned,
    Host,
    Machine,
    MachineState,
    broken_invariants,
)
from bigfleet.model.requirements import RACK_KEY
from bigfleet.model.syntax import why_not_cluster_id, why_not_label_value, why_not_machine_id

#: A slip of the keyboard in `count` must not eat all memory.
MOST_MACHINES_PER_ENTRY = 2_000_000
#: Characters of an id that is repeated.
LONGEST_COUNTED_ID = 253
#: Labels that one entry may stand for: every zone and rack has a set of its own.
MOST_LABELS_PER_ENTRY = 20_000_000

STATES = {state.label: state for state in MachineState if state is not MachineState.UNSPECIFIED}
HELD_BY = {by.value: by for by in HeldBy}
DEFAULT_PROVIDER = "sim"

HOSTED = frozenset(
    {
        MachineState.IDLE,
        MachineState.CONFIGURING,
        MachineState.CONFIGURED,
        MachineState.DRAINING,
        MachineState.DELETING,
    }
)
_FALLEN_BACK = ("host", "cluster", "lastError")
_HOLDABLE = (MachineState.IDLE, MachineState.SPECULATIVE)

_KEYS = frozenset(
    "id count state cluster instanceType zone zones racks capacityType pricePerHour"
    " interruptionProbability resources allocatable labels host idleSince lastError held overdue"
    " empty assigned".split()
)
_MARK_KEYS = frozenset({"idleSince", "held", "overdue", "empty"})
_HELD_KEYS = frozenset({"by", "until"})
_HOST_KEYS = frozenset({"provider", "ref"})
_UNASSIGNED = Assigned()
_UNMARKED = Marks()


def machines_of(records: Iterator[Record]) -> tuple[FleetMachine, ...]:
    machines: list[FleetMachine] = []
    shapes = Shapes()
    entry_of_id: dict[str, Path] = {}
    for record in records:
        raw = record.raw
        plain = "count" not in raw and "zones" not in raw and "racks" not in raw
        first = _machine_of(record, shapes)
        for machine in (first,) if plain else _expanded(record, first):
            machine_id = machine.machine.id
            other = entry_of_id.setdefault(machine_id, record.path)
            if other is not record.path:
                record.complaints.add_value(
                    (*record.path, "id"),
                    machine_id,
                    f"duplicate id, first used by machines[{other[-1]}]",
                )
            machines.append(machine)
            if len(machines) > MOST_MACHINES:
                more = f"more than {MOST_MACHINES:,} machines in one file; leave some out"
                record.complaints.add(record.path, more)
                return ()
    return tuple(machines)


def _machine_of(record: Record, shapes: Shapes) -> FleetMachine:
    record.check_keys(_KEYS)
    before = len(record.complaints)
    raw = record.raw
    machine_id = record.text(
        "id", required="every machine has an id of its own", why_not=why_not_machine_id
    )
    state = record.choice(
        "state", STATES, MachineState.UNSPECIFIED, required=f"one of {', '.join(STATES)}"
    )
    shape = shapes.shape_of(record)
    machine = Machine(
        machine_id,
        state,
        shape.capacity_type,
        _host_of(record, machine_id, state),
        record.text("cluster", why_not=why_not_cluster_id),
        shape.instance_type,
        shape.zone,
        shape.labels,
        shape.resources,
        shape.allocatable,
        shape.price_per_hour,
        shape.interruption_probability,
        record.text("lastError") if "lastError" in raw else "",
        shapes.assigned_of(record) if "assigned" in raw else _UNASSIGNED,
    )
    if MOST_DOLLARS_PER_HOUR < machine.price_per_hour < math.inf:
        record.refuse("pricePerHour", f"write dollars an hour, at most {MOST_DOLLARS_PER_HOUR:g}")
    if broken := broken_invariants(machine):
        _complain_of(record, broken, refused_already=len(record.complaints) > before)
    return FleetMachine(machine, _marks_of(record, state))


def _complain_of(record: Record, broken: list[tuple[str, str]], *, refused_already: bool) -> None:
    for key, sentence in broken:
        # A state or host that cannot be read was refused as such; do not report it as missing too.
        if key == "state" or (refused_already and key in _FALLEN_BACK and key in record.raw):
            continue
        if key in record.raw:
            record.refuse(key, sentence)
        else:
            record.miss(key, sentence)


def _host_of(record: Record, machine_id: str, state: MachineState) -> Host:
    value = record.raw.get("host")
    if value is None:
        return Host(DEFAULT_PROVIDER, machine_id) if state in HOSTED else Host()
    if type(value) is dict:
        parts = record.record("host")
        parts.check_keys(_HOST_KEYS)
        return Host(parts.text("provider"), parts.text("ref"))
    if type(value) is str:
        provider, slash, ref = value.partition("/")
        if slash or not value:
            return Host(provider, ref)
    record.refuse("host", "write provider/ref or {provider: ..., ref: ...}")
    return Host()


def _marks_of(record: Record, state: MachineState) -> Marks:
    raw = record.raw
    if raw.keys().isdisjoint(_MARK_KEYS):
        return _UNMARKED
    idle_since = record.instant("idleSince")
    if idle_since is not None and state is not MachineState.IDLE:
        record.refuse("idleSince", "only an Idle machine has one; leave it out")
    held = None
    if raw.get("held") is not None:
        held = _held_of(record.record("held"))
        if state not in _HOLDABLE:
            record.refuse("held", "only Idle and Speculative machines are held; leave it out")
    empty = record.flag("empty", False)
    if empty and state is not MachineState.CONFIGURED:
        record.refuse("empty", "only a Configured machine is empty; leave it out")
    return Marks(idle_since, held, record.flag("overdue", False), empty)


def _held_of(record: Record) -> Held:
    record.check_keys(_HELD_KEYS)
    by = record.choice("by", HELD_BY, HeldBy.OPERATOR, required=f"one of {', '.join(HELD_BY)}")
    return Held(by, record.instant("until"))


def _expanded(record: Record, first: FleetMachine) -> Iterator[FleetMachine]:
    count = record.whole("count", 1, 0, MOST_MACHINES_PER_ENTRY)
    zones = record.texts("zones", why_not=why_not_label_value)
    racks = record.whole("racks", 0, 1, MOST_MACHINES_PER_ENTRY)
    machine = first.machine
    numbered = "count" in record.raw and is_counted(machine.id)
    if "count" in record.raw and not numbered and count != 1:
        record.refuse("id", "with count the id holds zeros in braces, like od-{000}")
        return
    if numbered and len(machine.id) > LONGEST_COUNTED_ID:
        record.refuse("id", f"with count it has at most {LONGEST_COUNTED_ID} characters")
        return
    places = min(count, max(1, len(zones)) * max(1, racks))
    if places * (len(machine.labels) + 1) > MOST_LABELS_PER_ENTRY:
        text = f"at most {MOST_LABELS_PER_ENTRY:,} labels in one entry; write fewer racks or labels"
        record.refuse("racks" if racks else "zones", text)
        return
    if zones and machine.zone:
        record.refuse("zones", "give zone or zones, not both")
    if racks and RACK_KEY in machine.labels:
        record.refuse("racks", f"the labels already name a rack ({RACK_KEY})")
    own_host = record.raw.get("host") is not None
    if own_host and count > 1 and not machine.host.empty:
        record.refuse("host", "machines of one count cannot share a host; leave it out")
    labels_of_place: dict[tuple[str, int], Mapping[str, str]] = {}
    for i in range(count):
        machine_id = counted_id(machine.id, i) if numbered else machine.id
        zone = zones[i % len(zones)] if zones else machine.zone
        rack = (i // max(1, len(zones))) % racks if racks else -1
        labels = labels_of_place.get((zone, rack))
        if labels is None:
            labels = dict(machine.labels)
            if racks:
                labels[RACK_KEY] = f"{zone}-rack-{rack}" if zone else f"rack-{rack}"
            labels = labels_of_place[zone, rack] = dict(sorted(labels.items()))
        host = (
            machine.host if own_host or machine.host.empty else Host(DEFAULT_PROVIDER, machine_id)
        )
        yield replace(
            first, machine=replace(machine, id=machine_id, zone=zone, labels=labels, host=host)
        )
