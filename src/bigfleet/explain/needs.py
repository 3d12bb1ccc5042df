"""Why a Need has what it has: for an unmet one everything that stands in its way, in tier order."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.contention import why_others_hold_it
from bigfleet.explain.situation import (
    SUPPLY_STATES,
    Situation,
    demanded,
    failed_requirement,
    is_for,
    machine_name,
    need_name,
    total_of,
)
from bigfleet.explain.topology import why_the_shape_fails
from bigfleet.model.fleet import FleetMachine, HeldBy
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.quantities import quantity_text
from bigfleet.model.reasons import Reason, ordered
from bigfleet.model.requirements import Operator, Requirement

_CODE_OF_HOLD = {HeldBy.BACKOFF: "supply.backoff", HeldBy.QUOTA: "supply.quota"}
_OPERATOR_WORDS = {
    Operator.IN: "in",
    Operator.NOT_IN: "not in",
    Operator.EXISTS: "present",
    Operator.DOES_NOT_EXIST: "absent",
    Operator.SAME: "present (Same)",
}


def reasons_of_need(situation: Situation, verdict: Verdict) -> tuple[Reason, ...]:
    if verdict.satisfied:
        return ordered(_why_satisfied(situation, verdict))
    reasons = [
        *why_the_shape_fails(situation, verdict),
        *_why_no_supply(situation, verdict),
        *_what_is_on_its_way(situation, verdict),
        *why_others_hold_it(situation, verdict),
    ]
    return ordered(reasons or [Reason("supply.none", {}, (), situation.cycle)])


def _why_satisfied(situation: Situation, verdict: Verdict) -> Iterator[Reason]:
    acquired = verdict.bootstraps + verdict.provisions
    refs = (need_name(verdict.need),)
    if acquired:
        facts = {"bootstraps": verdict.bootstraps, "provisions": verdict.provisions}
        yield Reason("cost.rank", facts, refs, situation.cycle)
    kept = len(verdict.claimed) - acquired
    if kept:
        facts_kept = {"kept": kept, "cluster": verdict.need.cluster}
        yield Reason("keep.order", facts_kept, refs, situation.cycle)
    elif not acquired:
        yield Reason("keep.order", {}, refs, situation.cycle)


def _why_no_supply(situation: Situation, verdict: Verdict) -> Iterator[Reason]:
    yield from _held_supply(situation, verdict.need)
    if verdict.matching_supply:
        return
    supply = [
        m for m in situation.fleet.machines if m.machine.state in SUPPLY_STATES and not m.marks.held
    ]
    if not supply:
        facts = {"machines": len(situation.fleet.machines)}
        yield Reason("supply.none", facts, (), situation.cycle)
        return
    yield from _rejections(situation, verdict.need)


def _held_supply(situation: Situation, need: Need) -> Iterator[Reason]:
    """Machines that fit and may not be taken now, by what holds them."""
    held: dict[HeldBy, list[FleetMachine]] = {}
    for entry in situation.fitting(need):
        if entry.marks.held is not None:
            held.setdefault(entry.marks.held.by, []).append(entry)
    for by, machines in sorted(held.items()):
        facts: dict[str, Any] = {"held": len(machines), "by": by.value}
        ends = [m.marks.held.until for m in machines if m.marks.held and m.marks.held.until]
        if ends and by is HeldBy.BACKOFF:
            facts["until"] = instant_text(min(ends))
        code = _CODE_OF_HOLD.get(by, "supply.none")
        yield Reason(code, facts, _refs(machines), situation.cycle)


def _rejections(situation: Situation, need: Need) -> Iterator[Reason]:
    """Of all that could be supply: how many fail at which requirement, or are too small."""
    failed: Counter[Requirement] = Counter()
    example: dict[Requirement, Machine] = {}
    small: list[FleetMachine] = []
    machines = 0
    for shape in situation.shapes:
        supply = [m for m in shape.machines if m.machine.state in SUPPLY_STATES]
        machines += len(supply)
        requirement = failed_requirement(need, shape.example)
        if requirement is None:
            small += [m for m in supply if not _holds_a_unit(m.machine, need)]
        elif supply:
            failed[requirement] += len(supply)
            example.setdefault(requirement, supply[0].machine)
    for requirement, count in sorted(failed.items(), key=lambda item: (-item[1], item[0])):
        machine = example[requirement]
        facts = {
            "requirement": requirement_text(requirement),
            "rejected": count,
            "machines": machines,
            "example": machine.id,
            "value": machine.attribute(requirement.key) or "none",
        }
        yield Reason("supply.requirement", facts, (machine_name(machine.id),), situation.cycle)
    if small:
        yield _too_small(situation, need, [entry.machine for entry in small])


def _holds_a_unit(machine: Machine, need: Need) -> bool:
    return machine.effective_allocatable.covers(need.min_unit)


def _too_small(situation: Situation, need: Need, machines: list[Machine]) -> Reason:
    """The machine that comes nearest, by the number of dimensions it lacks."""

    def lacking(machine: Machine) -> list[str]:
        have = machine.effective_allocatable
        return [name for name, amount in need.min_unit.amounts if have[name] < amount]

    nearest = min(machines, key=lambda m: (len(lacking(m)), m.id))
    dimension = max(
        (d for d in lacking(nearest)),
        key=lambda d: (-nearest.effective_allocatable[d] / need.min_unit[d], d),
    )
    facts = {
        "rejected": len(machines),
        "dimension": dimension,
        "have": quantity_text(dimension, nearest.effective_allocatable[dimension]),
        "want": quantity_text(dimension, need.min_unit[dimension]),
        "example": nearest.id,
    }
    return Reason("supply.min-unit", facts, (machine_name(nearest.id),), situation.cycle)


def requirement_text(requirement: Requirement) -> str:
    words = _OPERATOR_WORDS.get(requirement.operator, "unknown")
    values = f" [{', '.join(requirement.values)}]" if requirement.values else ""
    return f"{requirement.key} {words}{values}"


def _what_is_on_its_way(situation: Situation, verdict: Verdict) -> Iterator[Reason]:
    need = verdict.need
    claimed = [situation.machine_of_id[machine] for machine in verdict.claimed]
    for state, code in (
        (MachineState.CREATING, "flight.creating"),
        (MachineState.CONFIGURING, "flight.configuring"),
    ):
        machines = [entry for entry in claimed if entry.machine.state is state]
        if machines:
            yield _flight(situation, need, code, machines)
    reserved = [
        entry
        for machine, reservation in situation.fleet.memory.reservations.items()
        if is_for(reservation, need) and (entry := situation.machine_of_id.get(machine))
    ]
    draining = [entry for entry in reserved if entry.machine.state is MachineState.DRAINING]
    if verdict.preempts:
        yield _new_victims(situation, verdict)
    if draining:
        yield _flight(situation, need, "flight.draining", draining)
    waiting = [entry for entry in reserved if entry.machine.state is MachineState.IDLE]
    if waiting:
        yield Reason("flight.reserved", {"own": len(waiting)}, _refs(waiting), situation.cycle)
    others = [
        entry
        for entry in situation.fitting(need)
        if entry.machine.state is MachineState.IDLE
        and situation.reserved_for_other(entry.machine.id, need)
    ]
    if others:
        yield Reason("flight.reserved", {"count": len(others)}, _refs(others), situation.cycle)


def _flight(situation: Situation, need: Need, code: str, machines: list[FleetMachine]) -> Reason:
    facts = {"count": len(machines), "capacity": demanded(total_of(machines), need)}
    return Reason(code, facts, _refs(machines), situation.cycle)


def _new_victims(situation: Situation, verdict: Verdict) -> Reason:
    """Its Preempts of this cycle; a victim is one kind of thing on its way."""
    preempts = situation.preempts_of_need.get(verdict.need.key, [])
    facts = {
        "victims": len(preempts),
        "grace": max((a.grace_seconds for a in preempts), default=0),
    }
    refs = tuple(machine_name(action.machine) for action in preempts[:8])
    return Reason("flight.draining", facts, refs, situation.cycle)


def _refs(machines: Iterable[FleetMachine]) -> tuple[str, ...]:
    """A few names to start from, in id order."""
    return tuple(machine_name(m) for m in sorted(e.machine.id for e in machines)[:8])
