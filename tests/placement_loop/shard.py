"""A shard without a process: the real engine over machines that take their time.

Voluntary reclaims are asked of the cluster first, as instructions; a machine that is claimed again
while one is open stays. Preempted machines lose their pods after the grace.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from bigfleet.engine.decide import decide
from bigfleet.engine.decision import Decision
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.need_views import NeedViews
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.cluster_reports import ClusterReportReply
from bigfleet.model.machines import (
    Assigned,
    CapacityType,
    Host,
    Instant,
    Machine,
    MachineState,
)
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources

#: An unchanged fleet is decided on again only for the sake of releases and reservations.
RELEASE_EVERY = 60 * SECOND


@dataclass(frozen=True, slots=True)
class KindOfMachine:
    name: str
    declared: Resources
    #: What the Node keeps for itself.
    reserved: Resources
    price: float
    slots: int
    zones: tuple[str, ...] = ("a",)


@dataclass(slots=True)
class Shard:
    kinds: Sequence[KindOfMachine]
    chance: Random
    inventory: Inventory = field(default_factory=Inventory)
    table: NeedsTable = field(default_factory=NeedsTable)
    memory: EngineMemory = field(default_factory=EngineMemory)
    machines: dict[str, Machine] = field(default_factory=dict)
    kind_of: dict[str, KindOfMachine] = field(default_factory=dict)
    #: What is under way: when each machine reaches its next state.
    ends: dict[str, Instant] = field(default_factory=dict)
    profile_of: dict[str, tuple[Profile, str]] = field(default_factory=dict)
    #: Open instructions by machine, with the time they were given.
    instructions: dict[str, Instant] = field(default_factory=dict)
    #: Machines that are preempted, and when their pods go.
    preempted: dict[str, Instant] = field(default_factory=dict)
    decision: Decision | None = None
    #: Times of everything decided but releases.
    acted_at: list[Instant] = field(default_factory=list)
    bought: list[tuple[str, Instant]] = field(default_factory=list)
    ready: set[str] = field(default_factory=set)
    _dirty: bool = True
    _decided_at: Instant = 0
    _replies: dict[str, ClusterReportReply] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in self.kinds:
            for slot in range(kind.slots):
                name = f"{kind.name}-{slot:03d}"
                machine = Machine(
                    id=name,
                    state=MachineState.SPECULATIVE,
                    capacity_type=CapacityType.ON_DEMAND,
                    instance_type=kind.name,
                    zone=kind.zones[slot % len(kind.zones)],
                    resources=kind.declared,
                    price_per_hour=kind.price,
                )
                self.machines[name] = machine
                self.kind_of[name] = kind
                self.inventory.insert(machine)

    # -- clusters --------------------------------------------------------------------------------

    def on_rollup(self, cluster: str, rows: Iterable[Need], at: Instant) -> None:
        stamped = [replace(row, arrival_unix_nanos=at) for row in rows]
        self.table.replace(cluster, stamped)
        self.ready.add(cluster)
        self._dirty = True

    def reply(self, cluster: str) -> ClusterReportReply:
        if self.decision is None:
            return ClusterReportReply()
        if cluster not in self._replies:
            views = NeedViews(self.decision)
            rows = views.rows(cluster).tolist()
            standings = tuple(s for row in rows for s in views.standings(row))
            self._replies[cluster] = ClusterReportReply(standings, cycle=1)
        return self._replies[cluster]

    def drained(self, machine: str, at: Instant) -> None:
        """The cluster has emptied it."""
        self.instructions.pop(machine, None)
        self.preempted.pop(machine, None)
        self._put(replace(self.machines[machine], state=MachineState.DRAINING), at)
        self.ends[machine] = at + self._seconds(5, 15)

    def lose(self, machine: str, at: Instant) -> None:
        """The host died; its slot can be bought again."""
        lost = self.machines[machine]
        self.instructions.pop(machine, None)
        self.preempted.pop(machine, None)
        self.ends.pop(machine, None)
        failed = replace(lost, state=MachineState.SPECULATIVE, cluster="", host=Host())
        self.machines[machine] = replace(failed, assigned=Assigned())
        self.inventory.apply(self.machines[machine], now=at, adopted=True)
        self._dirty = True

    def of_cluster(self, cluster: str) -> list[Machine]:
        return [m for m in self.machines.values() if m.cluster == cluster]

    # -- time ------------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        return bool(self.ends or self.instructions or self.preempted or self._dirty)

    def step(self, at: Instant) -> None:
        for name in sorted(n for n, end in self.ends.items() if end <= at):
            self._finish(name, at)
        if self._dirty or at >= self._decided_at + RELEASE_EVERY:
            self.cycle(at)

    def cycle(self, at: Instant) -> None:
        self._dirty = False
        self._decided_at = at
        self._replies.clear()
        options = EngineOptions(clusters_ready=frozenset(self.ready))
        decision = decide(
            self.inventory.snapshot(), self.table.snapshot(), self.memory, options, at
        )
        self.decision, self.memory = decision, decision.memory
        excess = {a.machine for a in decision.actions if a.kind is ActionKind.RECLAIM}
        for machine in [m for m in self.instructions if m not in excess]:
            del self.instructions[machine]
        for action in decision.actions:
            self._execute(action, at)

    def _execute(self, action: Action, at: Instant) -> None:
        machine = self.machines[action.machine]
        match action.kind:
            case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
                assert action.source_profile is not None
                self.acted_at.append(at)
                self.bought.append((action.cluster, at))
                stamp = Assigned(
                    cluster=action.cluster,
                    need_fingerprint=action.source_profile.fingerprint,
                    group=action.source_group,
                )
                self.profile_of[machine.id] = (action.source_profile, action.cluster)
                if action.kind is ActionKind.BOOTSTRAP:
                    self._configure(machine, stamp, action.cluster, at)
                else:
                    self._put(replace(machine, state=MachineState.CREATING, assigned=stamp), at)
                    self.ends[machine.id] = at + self._seconds(20, 60)
            case ActionKind.RECLAIM:
                if machine.id not in self.instructions:
                    self.acted_at.append(at)
                    self.instructions[machine.id] = at
            case ActionKind.PREEMPT:
                if machine.id not in self.preempted:
                    self.acted_at.append(at)
                    self.preempted[machine.id] = at + action.grace_seconds * SECOND
            case ActionKind.DELETE:
                self._put(replace(machine, state=MachineState.DELETING), at)
                self.ends[machine.id] = at + self._seconds(5, 10)

    def _configure(self, machine: Machine, stamp: Assigned, cluster: str, at: Instant) -> None:
        configuring = replace(
            machine, state=MachineState.CONFIGURING, cluster=cluster, assigned=stamp
        )
        self._put(configuring, at)
        self.ends[machine.id] = at + self._seconds(10, 30)

    def _finish(self, name: str, at: Instant) -> None:
        del self.ends[name]
        machine = self.machines[name]
        unbound = replace(machine, cluster="", assigned=Assigned())
        match machine.state:
            case MachineState.CREATING:
                self._put(replace(unbound, state=MachineState.IDLE, host=Host("sim", name)), at)
            case MachineState.CONFIGURING:
                profile, _ = self.profile_of[name]
                stamp = replace(
                    machine.assigned,
                    priority=profile.priority,
                    interruption_penalty=upper_bound_dollars(profile.interruption_bucket),
                    reclamation_penalty=upper_bound_dollars(profile.reclamation_bucket),
                )
                self._put(replace(machine, state=MachineState.CONFIGURED, assigned=stamp), at)
            case MachineState.DRAINING:
                self._put(replace(unbound, state=MachineState.IDLE), at)
            case MachineState.DELETING:
                self._put(replace(unbound, state=MachineState.SPECULATIVE, host=Host()), at)
            case _:
                raise AssertionError(f"{name} has nothing under way in {machine.state.label}")

    def _put(self, machine: Machine, at: Instant) -> None:
        self.machines[machine.id] = machine
        self.inventory.apply(machine, now=at)
        self._dirty = True

    def _seconds(self, least: int, most: int) -> Instant:
        return self.chance.randint(least, most) * SECOND
