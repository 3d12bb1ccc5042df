"""A fleet in which the engine asks for every kind of action, and engines that ask for too much."""

from collections.abc import Callable
from dataclasses import replace

from bigfleet.engine.decision import Decision
from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.fleet import Fleet, FleetMachine, Marks
from bigfleet.model.machines import Assigned, CapacityType, MachineState
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.plan.cycle import cycle_input
from bigfleet.plan.verifier_facts import batch_of, spend_of
from bigfleet.verifier.facts import Batch, Veto
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import Policy
from bigfleet.verifier.verify import verify
from tests.worlds import gpus
from tests.worlds.fleets import NOW, fleet_of, memory_of, reserved

S = MachineState
#: Preempts what batch has; nothing else of its type is free.
TRAINING = gpus.plain("ml", 1000, 1)
#: Keeps the two it has, and asks for two more.
WEB = gpus.plain("shop", 100_000, 4)
#: Has one of its two.
LOW = gpus.plain("batch", 10, 2)
#: Waits for the victim that is reserved for it, and is higher than all others but one.
WAITING = gpus.plain("wait", 500, 1)

Engine = Callable[[Decision], list[Action]]


def machines() -> list[FleetMachine]:
    host = gpus.host
    return [
        *(
            host(f"web-{i}", S.CONFIGURED, cluster="shop", zone="a", stamp=Assigned(100_000))
            for i in range(2)
        ),
        host("idle-1"),
        host("slot-1", S.SPECULATIVE, price=3.0),
        host("low-1", S.CONFIGURED, cluster="batch", stamp=Assigned(10)),
        *(
            host(f"left-{i}", S.CONFIGURED, cluster="gone", zone="b", instance_type="m5")
            for i in range(8)
        ),
        host("old-1", instance_type="m5", marks=Marks(idle_since=NOW - 3600 * SECOND)),
        host(
            "metal-1",
            instance_type="m5",
            capacity_type=CapacityType.BARE_METAL,
            marks=Marks(idle_since=NOW - 3600 * SECOND),
        ),
    ]


def fleet(*more: FleetMachine, reservations: bool = False) -> Fleet:
    memory = memory_of(reserved("freed", WAITING)) if reservations else None
    needs = [WEB, TRAINING, LOW, *([WAITING] if reservations else [])]
    return fleet_of([*machines(), *more], needs, options=EngineOptions(), now=NOW, memory=memory)


def decision_of(given: Fleet) -> Decision:
    return cycle_input(given).decide()


def batch(given: Fleet, engine: Engine = lambda decision: list(decision.actions)) -> Batch:
    """What this engine asks for, with the facts of the fleet."""
    decision = decision_of(given)
    return batch_of(
        decision,
        engine(decision),
        given.memory.reservations,
        reported=given.options.clusters_ready,
        at=given.now,
        spend_per_hour=spend_of(decision.outcome.scene.snapshot),
    )


def vetoes(
    batch: Batch, policy: Policy | None = None, recent: RecentReclaims | None = None
) -> dict[str, Veto]:
    """By machine. Without a policy nothing is capped."""
    chosen = policy or Policy(reclaim_zone_fraction=0)
    found = verify(batch, chosen, recent or RecentReclaims())
    return {batch.actions[position].machine: veto for position, veto in found.items()}


def of_kind(decision: Decision, kind: ActionKind) -> Action:
    return next(action for action in decision.actions if action.kind is kind)


def also(kind: ActionKind, **changes: object) -> Engine:
    """An engine that asks for one thing more: like its first action of a kind, with changes."""

    def engine(decision: Decision) -> list[Action]:
        return [*decision.actions, replace(of_kind(decision, kind), **changes)]  # type: ignore[arg-type]

    return engine


def instead(kind: ActionKind, **changes: object) -> Engine:
    """An engine whose first action of a kind is another."""

    def engine(decision: Decision) -> list[Action]:
        first = of_kind(decision, kind)
        changed = replace(first, **changes)  # type: ignore[arg-type]
        return [changed if action is first else action for action in decision.actions]

    return engine


def releases(machine: str) -> Engine:
    released = Action(ActionKind.DELETE, machine, "", Rule.RELEASE)
    return lambda decision: [*decision.actions, released]
