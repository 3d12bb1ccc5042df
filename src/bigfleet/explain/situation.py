"""Situation: a fleet and the decision on it, indexed for the questions reasons ask.

Machines of one shape (attributes and capacity) are matched against a Need once. Nothing here
decides; who claims what is read from the verdicts. It answers NeedFacts and ActionFacts from
records.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from bigfleet.engine.decision import Verdict
from bigfleet.explain.actions import ActingNeed, MachineFacts, effective_cost, json_cost
from bigfleet.explain.need_facts import (
    ACQUIRABLE,
    MOST_NAMES,
    SUPPLY_STATES,
    Group,
    Holder,
    NewVictims,
    Offer,
    Rejection,
    Rejections,
    TooSmall,
    need_name,
)
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, HeldBy
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources

_ShapeKey = tuple[str, str, tuple[tuple[str, str], ...], Resources]
_Asked = tuple[tuple[Requirement, ...], Resources]


class CycleDecision(Protocol):
    """What a cycle decided, as a shard or a plan keeps it."""

    @property
    def actions(self) -> tuple[Action, ...]: ...

    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...


@dataclass(frozen=True, slots=True)
class AlikeMachines:
    """Machines no requirement and no unit can tell apart."""

    example: Machine
    machines: list[FleetMachine]


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """What a Need could have had of one state in one domain, in the order it picks."""

    position_of_machine: Mapping[str, int]
    taken: int
    #: The first one it left.
    following: Machine | None


@dataclass(frozen=True, slots=True)
class Situation:
    fleet: Fleet
    decision: CycleDecision
    #: The cycle all reasons speak about.
    cycle: str
    machine_of_id: Mapping[str, FleetMachine]
    shapes: tuple[AlikeMachines, ...]
    #: Who claims a machine this cycle.
    holder_of_machine: Mapping[str, Verdict]
    configured_of_cluster: Mapping[str, int]
    #: Of those, the ones some Need claims.
    claimed_of_cluster: Mapping[str, int]
    preempts_of_need: Mapping[NeedKey, list[Action]]
    #: By Need, state and domain; filled as reasons are asked for.
    _pools: dict[tuple[int, MachineState, str | None], CandidatePool] = field(default_factory=dict)
    _fitting: dict[_Asked, tuple[FleetMachine, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, fleet: Fleet, decision: CycleDecision, cycle: str) -> "Situation":
        shapes: dict[_ShapeKey, AlikeMachines] = {}
        configured: Counter[str] = Counter()
        claimed: Counter[str] = Counter()
        holders = {machine: v for v in decision.verdicts for machine in v.claimed}
        for entry in fleet.machines:
            machine = entry.machine
            key = (
                machine.instance_type,
                machine.zone,
                tuple(machine.labels.items()),
                machine.effective_allocatable,
            )
            shapes.setdefault(key, AlikeMachines(machine, [])).machines.append(entry)
            if machine.state is MachineState.CONFIGURED:
                configured[machine.cluster] += 1
                claimed[machine.cluster] += machine.id in holders
        return cls(
            fleet,
            decision,
            cycle,
            {entry.machine.id: entry for entry in fleet.machines},
            tuple(shapes.values()),
            holders,
            configured,
            claimed,
            _preempts_of(decision),
        )

    def fitting(self, need: Need) -> tuple[FleetMachine, ...]:
        """Machines in any state that meet the requirements and hold one unit."""
        asked = (need.profile.requirements, need.min_unit)
        known = self._fitting.get(asked)
        if known is None:
            known = self._fitting[asked] = tuple(
                entry
                for shape in self.shapes
                if failed_requirement(need, shape.example) is None
                and shape.example.effective_allocatable.covers(need.min_unit)
                for entry in shape.machines
            )
        return known

    def reserved_for_other(self, machine_id: str, need: Need) -> bool:
        reservation = self.fleet.memory.reservations.get(machine_id)
        return reservation is not None and not is_for(reservation, need)

    # -- ActionFacts -----------------------------------------------------------------------------

    @property
    def options(self) -> EngineOptions:
        return self.fleet.options

    @property
    def now(self) -> Instant | None:
        return self.fleet.now

    def machine_facts(self, machine: str) -> MachineFacts:
        entry = self.machine_of_id[machine]
        found = entry.machine
        return MachineFacts(
            found.id,
            found.cluster,
            found.capacity_type,
            found.price_per_hour,
            found.interruption_probability,
            found.assigned,
            entry.marks.empty,
            entry.marks.idle_since,
        )

    def acting_need(self, action: Action) -> ActingNeed:
        verdict = self._verdict_of(action)
        penalty = upper_bound_dollars(verdict.need.profile.interruption_bucket)
        return ActingNeed(need_name(verdict.need.key), penalty, verdict.domain, verdict.preempts)

    def claimed_by(self, machine: str) -> tuple[str, int] | None:
        holder = self.holder_of_machine.get(machine)
        if holder is None:
            return None
        return need_name(holder.need.key), holder.need.profile.priority

    def cluster_counts(self, cluster: str) -> tuple[int, int]:
        return (
            self.configured_of_cluster.get(cluster, 0),
            self.claimed_of_cluster.get(cluster, 0),
        )

    def ranking(self, action: Action) -> Mapping[str, Any]:
        verdict = self._verdict_of(action)
        need, machine = verdict.need, self.machine_of_id[action.machine].machine
        pool = self._pool_of(action, machine, machine.state)
        free = len(pool.position_of_machine)
        facts: dict[str, Any] = {
            "matches": free,
            "taken": pool.taken,
            "rank": pool.position_of_machine.get(machine.id, free) + 1,
        }
        if key := _domain_key(need):
            facts |= {"domainKey": key, "domain": machine.attribute(key)}
        following = pool.following
        if following is None and machine.state is MachineState.IDLE:
            following = self._pool_of(action, machine, MachineState.SPECULATIVE).following
        if following is not None:
            facts |= {
                "next": following.id,
                "nextState": following.state.label,
                "nextCost": json_cost(_cost_for(need, following)),
            }
        return facts

    def _verdict_of(self, action: Action) -> Verdict:
        assert action.need is not None, "an action that acquires or preempts names its Need"
        return self.decision.verdicts[action.need]

    def _pool_of(self, action: Action, machine: Machine, state: MachineState) -> CandidatePool:
        """Of this state, in the machine's domain, not held, not others' by claim or reservation."""
        verdict = self._verdict_of(action)
        need = verdict.need
        key = _domain_key(need)
        domain = machine.attribute(key) if key else None
        pool_key = (action.need or 0, state, domain)
        if pool_key in self._pools:
            return self._pools[pool_key]
        free = [
            entry.machine
            for entry in self.fitting(need)
            if entry.machine.state is state
            and entry.marks.held is None
            and self.holder_of_machine.get(entry.machine.id, verdict) is verdict
            and not self.reserved_for_other(entry.machine.id, need)
            and (key is None or entry.machine.attribute(key) == domain)
        ]
        free.sort(key=lambda each: (_cost_for(need, each), each.id))
        claimed = frozenset(verdict.claimed)
        pool = self._pools[pool_key] = CandidatePool(
            {each.id: position for position, each in enumerate(free)},
            sum(each.id in claimed for each in free),
            next((each for each in free if each.id not in claimed), None),
        )
        return pool

    # -- NeedFacts -------------------------------------------------------------------------------

    @property
    def machine_count(self) -> int:
        return len(self.fleet.machines)

    @property
    def has_supply(self) -> bool:
        return any(
            entry.machine.state in SUPPLY_STATES and not entry.marks.held
            for entry in self.fleet.machines
        )

    @property
    def parking_probe(self) -> int:
        return self.fleet.options.parking.probe

    def parking_age(self, need: Need) -> int | None:
        return self.fleet.memory.parking.get(need.key)

    def held_supply(self, verdict: Verdict) -> dict[HeldBy, tuple[Group, Instant | None]]:
        held: dict[HeldBy, list[FleetMachine]] = {}
        for entry in self.fitting(verdict.need):
            if entry.marks.held is not None:
                held.setdefault(entry.marks.held.by, []).append(entry)
        return {by: (group_of(found), _first_end(found)) for by, found in held.items()}

    def rejections(self, verdict: Verdict) -> Rejections:
        need = verdict.need
        failed: dict[Requirement, list[Machine]] = {}
        small: list[Machine] = []
        machines = 0
        for shape in self.shapes:
            supply = [e.machine for e in shape.machines if e.machine.state in SUPPLY_STATES]
            machines += len(supply)
            requirement = failed_requirement(need, shape.example)
            if requirement is not None:
                failed.setdefault(requirement, []).extend(supply)
            elif not shape.example.effective_allocatable.covers(need.min_unit):
                small += supply
        told = []
        for requirement, found in failed.items():
            if found:
                example = min(found, key=lambda machine: machine.id)
                value = example.attribute(requirement.key)
                told.append(Rejection(requirement, len(found), example.id, value))
        return Rejections(machines, tuple(told), _nearest(need, small) if small else None)

    def coming(self, verdict: Verdict, state: MachineState) -> Group:
        claimed = (self.machine_of_id[machine] for machine in verdict.claimed)
        return group_of(entry for entry in claimed if entry.machine.state is state)

    def reserved(self, verdict: Verdict, state: MachineState) -> Group:
        return group_of(
            entry
            for machine, reservation in self.fleet.memory.reservations.items()
            if is_for(reservation, verdict.need)
            and (entry := self.machine_of_id.get(machine))
            and entry.machine.state is state
        )

    def reserved_for_others(self, verdict: Verdict) -> Group:
        return group_of(
            entry
            for entry in self.fitting(verdict.need)
            if entry.machine.state is MachineState.IDLE
            and self.reserved_for_other(entry.machine.id, verdict.need)
        )

    def new_victims(self, verdict: Verdict) -> NewVictims:
        preempts = self.preempts_of_need.get(verdict.need.key, [])
        grace = max((action.grace_seconds for action in preempts), default=0)
        names = tuple(action.machine for action in preempts[:MOST_NAMES])
        return NewVictims(len(preempts), grace, names)

    def holders(self, verdict: Verdict) -> list[Holder]:
        held: Counter[NeedKey] = Counter()
        needs: dict[NeedKey, Need] = {}
        for entry in self.fitting(verdict.need):
            holder = self.holder_of_machine.get(entry.machine.id)
            if holder is not None and holder is not verdict:
                held[holder.need.key] += 1
                needs[holder.need.key] = holder.need
        return [Holder(needs[key], machines) for key, machines in held.items()]

    def configured(self, verdict: Verdict) -> tuple[int, int]:
        found = [
            self._victim_priority(entry.machine)
            for entry in self.fitting(verdict.need)
            if entry.machine.state is MachineState.CONFIGURED
        ]
        return len(found), min(found, default=0)

    def _victim_priority(self, machine: Machine) -> int:
        """The priority of the Need that claims it this cycle, else the stamped one."""
        holder = self.holder_of_machine.get(machine.id)
        return holder.need.profile.priority if holder else machine.assigned.priority

    def offers(self, verdict: Verdict, key: str) -> dict[str, Offer]:
        claimed = frozenset(verdict.claimed)
        own: dict[str, list[FleetMachine]] = {}
        free: dict[str, list[FleetMachine]] = {}
        for entry in self.fitting(verdict.need):
            value = entry.machine.attribute(key)
            if value and entry.machine.id in claimed:
                own.setdefault(value, []).append(entry)
            elif value and self._is_free(entry, verdict.need):
                free.setdefault(value, []).append(entry)
        return {
            value: Offer(group_of(own.get(value, ())), group_of(free.get(value, ())))
            for value in own.keys() | free.keys()
        }

    def _is_free(self, entry: FleetMachine, need: Need) -> bool:
        machine_id = entry.machine.id
        return (
            entry.machine.state in ACQUIRABLE
            and entry.marks.held is None
            and machine_id not in self.holder_of_machine
            and not self.reserved_for_other(machine_id, need)
        )


def _domain_key(need: Need) -> str | None:
    if need.profile.same is not None:
        return need.profile.same.key
    return need.profile.strict_spread.topology_key if need.profile.strict_spread else None


def _cost_for(need: Need, machine: Machine) -> float:
    penalty = upper_bound_dollars(need.profile.interruption_bucket)
    return effective_cost(machine.price_per_hour, machine.interruption_probability, penalty)


def _preempts_of(decision: CycleDecision) -> dict[NeedKey, list[Action]]:
    preempts: dict[NeedKey, list[Action]] = {}
    for action in decision.actions:
        if action.kind is ActionKind.PREEMPT and action.need is not None:
            preempts.setdefault(decision.verdicts[action.need].need.key, []).append(action)
    return preempts


def is_for(reservation: Reservation, need: Need) -> bool:
    return reservation.holder == need.key


def failed_requirement(need: Need, machine: Machine) -> Requirement | None:
    """The first requirement the machine does not meet."""
    for requirement in need.profile.requirements:
        if not requirement.met_by(machine.attribute(requirement.key)):
            return requirement
    return None


def group_of(machines: Iterable[FleetMachine]) -> Group:
    found = list(machines)
    total = Resources()
    for entry in found:
        total = total.plus(entry.machine.effective_allocatable)
    names = sorted(entry.machine.id for entry in found)[:MOST_NAMES]
    return Group(len(found), total.positive(), tuple(names))


def _first_end(held: Iterable[FleetMachine]) -> Instant | None:
    ends = (entry.marks.held.until for entry in held if entry.marks.held)
    return min((end for end in ends if end is not None), default=None)


def _nearest(need: Need, small: list[Machine]) -> TooSmall:
    def lacking(machine: Machine) -> int:
        have = machine.effective_allocatable
        return sum(have[name] < amount for name, amount in need.min_unit.amounts)

    nearest = min(small, key=lambda machine: (lacking(machine), machine.id))
    return TooSmall(len(small), nearest.id, nearest.effective_allocatable)
