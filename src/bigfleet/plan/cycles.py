"""The cycles of a plan, one after the other, each on what the one before left.

The fleet after a cycle whose actions all completed at once; the way `cycles` > 1 goes on.

Machines in transition in the file stay so: a plan finishes only what it started.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.decision import Decision
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, Marks
from bigfleet.model.machines import Assigned, Host, Instant, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import SECOND
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.reclaim_cap import PastReclaims
from bigfleet.plan.cycle import FileDecision, cycle_input
from bigfleet.plan.rails import RailResult, kept_of
from bigfleet.plan.verifier_facts import batch_of, spend_of
from bigfleet.verifier.facts import Veto
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import Policy
from bigfleet.verifier.verify import reclaimed_places
from bigfleet.verifier.verify import verify as verified

#: Where a plan's new machines stand; the provider of every host a fleet file does not name.
PLANNED_PROVIDER = "sim"


def next_fleet(fleet: Fleet, actions: tuple[Action, ...], memory: EngineMemory) -> Fleet:
    """The inputs of the next cycle: actions done, memory handed on, the clock a second later."""
    return replace(
        fleet,
        machines=machines_after(fleet, actions),
        memory=memory,
        now=None if fleet.now is None else fleet.now + SECOND,
    )


def machines_after(fleet: Fleet, actions: tuple[Action, ...]) -> tuple[FleetMachine, ...]:
    action_of_machine: Mapping[str, Action] = {action.machine: action for action in actions}
    return tuple(
        _completed(entry, action, fleet.now)
        if (action := action_of_machine.get(entry.machine.id))
        else entry
        for entry in fleet.machines
    )


def _completed(entry: FleetMachine, action: Action, now: Instant | None) -> FleetMachine:
    machine = entry.machine
    match action.kind:
        case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
            return FleetMachine(_bound(machine, action))
        case ActionKind.RECLAIM | ActionKind.PREEMPT:
            idle = replace(machine, state=MachineState.IDLE, cluster="", assigned=Assigned())
            return FleetMachine(idle, Marks(idle_since=now))
        case ActionKind.DELETE:
            slot = replace(
                machine,
                state=MachineState.SPECULATIVE,
                host=Host(),
                cluster="",
                assigned=Assigned(),
            )
            return FleetMachine(slot)


def _bound(machine: Machine, action: Action) -> Machine:
    """Configured and stamped with what it was acquired for."""
    profile = action.source_profile
    stamp = Assigned(cluster=action.cluster, group=action.source_group)
    if profile is not None:
        stamp = replace(
            stamp,
            priority=profile.priority,
            interruption_penalty=upper_bound_dollars(profile.interruption_bucket),
            reclamation_penalty=upper_bound_dollars(profile.reclamation_bucket),
            need_fingerprint=profile.fingerprint,
        )
    return replace(
        machine,
        state=MachineState.CONFIGURED,
        cluster=action.cluster,
        assigned=stamp,
        host=Host(PLANNED_PROVIDER, machine.id) if machine.host.empty else machine.host,
    )


@dataclass(frozen=True, slots=True)
class PlannedCycle:
    #: From 1.
    number: int
    fleet: Fleet
    decision: FileDecision
    kept: RailResult
    #: How long the decision itself took, by the clock given.
    seconds: float
    #: By place among the kept actions; None: they were not verified.
    vetoes: Mapping[int, Veto] | None = None

    @property
    def name(self) -> str:
        """The cycle as reasons name it: the recorded one where the file is a dump."""
        recorded = self.fleet.provenance.cycle
        if not recorded:
            return str(self.number)
        return recorded if self.number == 1 else f"{recorded}+{self.number - 1}"


def planned_cycles(
    fleet: Fleet,
    *,
    workers: int,
    clock: Callable[[], float],
    run_workers: RunWorkers = map,
    verify: bool = False,
) -> Iterator[PlannedCycle]:
    """`verify`: say what the verifier has against the actions; they are planned all the same."""
    recent = RecentReclaims()
    past: tuple[PastReclaims, ...] = ()
    for number in range(1, fleet.plan.cycles + 1):
        given = cycle_input(fleet, workers=workers, run_workers=run_workers)
        started = clock()
        decided = given.decide()
        seconds = clock() - started
        decision = given.in_file_order(decided)
        kept = kept_of(decision, fleet, past)
        vetoes = _verified(decided, fleet, kept, recent) if verify else None
        yield PlannedCycle(number, fleet, decision, kept, seconds, vetoes)
        past = kept.reclaims
        fleet = next_fleet(fleet, kept.actions, kept.memory)


def _verified(
    decision: Decision, fleet: Fleet, kept: RailResult, recent: RecentReclaims
) -> Mapping[int, Veto]:
    batch = batch_of(
        decision,
        kept.actions,
        fleet.memory.reservations,
        reported=fleet.options.clusters_ready,
        at=fleet.now,
        spend_per_hour=spend_of(decision.outcome.scene.snapshot),
    )
    policy = Policy(reclaim_cap_fraction=fleet.plan.reclaim_cap_fraction)
    vetoes = verified(batch, policy, recent)
    if fleet.now is not None:
        # Nothing is held back in a plan: what the policies have against one cycle counts for it.
        machines = (action.machine for action in kept.actions)
        recent.started(reclaimed_places(batch, machines), fleet.now)
    return vetoes
