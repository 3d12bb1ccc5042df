"""The same edits on the records of a fleet file, one record after the other: the slow twin."""

from dataclasses import replace

from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Held, HeldBy
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need, aggregate
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import scaled_amounts
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import (
    AddDemand,
    AddMachines,
    Edit,
    NeedSelector,
    Overlay,
    RemoveMachines,
    ReplaceDemand,
    ScaleDemand,
    SetAttributes,
    SetPenalty,
    SetPriority,
    StockOut,
)
from bigfleet.whatif.ids import ids_of


def edited(fleet: Fleet, overlay: Overlay) -> Fleet:
    for edit in overlay:
        fleet = _edited(fleet, edit)
    return fleet


def _edited(fleet: Fleet, edit: Edit) -> Fleet:
    match edit:
        case RemoveMachines(selector):
            left = tuple(m for m in fleet.machines if not is_meant(m, selector))
            return replace(fleet, machines=left)
        case AddMachines(template):
            new = tuple(FleetMachine(replace(template, id=name)) for name in ids_of(edit))
            return replace(fleet, machines=(*fleet.machines, *new))
        case SetAttributes() | StockOut():
            machines = tuple(
                _changed(m, edit) if is_meant(m, edit.selector) else m for m in fleet.machines
            )
            return replace(fleet, machines=machines)
        case ScaleDemand(selector, 0.0):
            return _with_needs(fleet, [n for n in _needs(fleet) if not _asks(n, selector)])
        case ScaleDemand() | SetPriority() | SetPenalty():
            needs = [_rewritten(n, edit) if _asks(n, edit.selector) else n for n in _needs(fleet)]
            return _with_needs(fleet, needs)
        case ReplaceDemand(cluster, ()):
            ready = fleet.options.clusters_ready
            options = replace(
                fleet.options, clusters_ready=None if ready is None else ready | {cluster}
            )
            others = [n for n in _needs(fleet) if n.cluster != cluster]
            return replace(_with_needs(fleet, others), options=options)
        case AddDemand(need):
            arrived = replace(need, arrival_unix_nanos=need.arrival_unix_nanos or fleet.now or 0)
            return _with_needs(fleet, [*_needs(fleet), arrived])
        case _:
            raise AssertionError(f"{edit} has no twin")


def is_meant(entry: FleetMachine, selector: MachineSelector) -> bool:
    machine = entry.machine
    return (
        (not selector.ids or machine.id in selector.ids)
        and (not selector.states or machine.state in selector.states)
        and (not selector.zones or machine.attribute(ZONE_KEY) in selector.zones)
        and (
            not selector.instance_types
            or (machine.attribute(INSTANCE_TYPE_KEY) or "") in selector.instance_types
        )
        and (not selector.capacity_types or int(machine.capacity_type) in selector.capacity_types)
        and (not selector.cluster or machine.cluster == selector.cluster)
    )


def _changed(entry: FleetMachine, edit: SetAttributes | StockOut) -> FleetMachine:
    machine = entry.machine
    if isinstance(edit, StockOut):
        sold_out = machine.state is MachineState.SPECULATIVE
        held = Held(HeldBy.BACKOFF)
        return replace(entry, marks=replace(entry.marks, held=held)) if sold_out else entry
    if edit.price is not None:
        price = edit.price.of(machine.price_per_hour)
        machine = replace(machine, price_per_hour=price)
    if edit.probability is not None:
        probability = min(1.0, edit.probability.of(machine.interruption_probability))
        machine = replace(machine, interruption_probability=probability)
    return replace(entry, machine=machine)


def _needs(fleet: Fleet) -> list[Need]:
    return [row.need for row in fleet.needs]


def _with_needs(fleet: Fleet, needs: list[Need]) -> Fleet:
    return replace(fleet, needs=tuple(FleetNeed(need) for need in aggregate(needs)))


def _asks(need: Need, selector: NeedSelector) -> bool:
    return (
        (not selector.cluster or need.cluster == selector.cluster)
        and need.key.need_id.startswith(selector.need_id)
        and selector.priority_min <= need.profile.priority <= selector.priority_max
    )


def _rewritten(need: Need, edit: ScaleDemand | SetPriority | SetPenalty) -> Need:
    profile = need.profile
    match edit:
        case ScaleDemand(_, factor):
            grown = scaled_amounts(need.aggregate.amounts, factor)
            return replace(need, aggregate=Resources.of(grown))
        case SetPriority(_, priority):
            return replace(need, profile=replace(profile, priority=priority))
        case SetPenalty(_, interruption, reclamation):
            changed = Profile(
                profile.requirements,
                profile.spread,
                profile.priority,
                profile.interruption_bucket if interruption is None else interruption,
                profile.reclamation_bucket if reclamation is None else reclamation,
            )
            return replace(need, profile=changed)
