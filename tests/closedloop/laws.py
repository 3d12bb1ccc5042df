"""The laws that only a loop can break: it becomes quiet (5), and no deficit preempts twice (8).

A loop law runs a decision function on a fleet for some cycles and returns what breaks it, in
words, so that the engine and the oracle can be held to the same sentences.
"""

from collections.abc import Callable
from random import Random

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import NeedKey
from tests.closedloop.simulator import Simulator
from tests.generated.agreement import SomeDecision
from tests.generated.laws import left_of, machines_by_id

Decide = Callable[[Fleet], SomeDecision]

#: Settling takes drains and orders in a row, and the reservations of a settled Need run out 660
#: seconds after the last Preempt: 44 cycles of 15 seconds. In 2,000 loops of the oracle (seeds
#: 10000 to 11999) every last action but releases came before cycle 80; half as much is added.
SETTLED_BY_CYCLE = 120
CYCLES = 200


def slow_world(fleet: Fleet, seed: int) -> Simulator:
    chance = Random(seed)
    return Simulator(
        fleet, chance, slowest=chance.choice((0, 2, 5)), cycle_seconds=chance.choice((15, 30))
    )


def becomes_quiet_and_stays_quiet(decide: Decide, fleet: Fleet, seed: int) -> list[str]:
    """Law 5; releases at the end of their hold apart."""
    world = slow_world(fleet, seed)
    broken = []
    for cycle in range(CYCLES):
        decision = world.run_cycle(decide)
        busy = [a for a in decision.actions if a.kind is not ActionKind.DELETE]
        if cycle >= SETTLED_BY_CYCLE and busy:
            broken.append(f"cycle {cycle}: {[(a.kind.label, a.machine, a.need) for a in busy]}")
    return broken


def never_preempts_twice_for_one_deficit(
    decide: Decide, fleet: Fleet, seed: int, cycles: int = 40
) -> list[str]:
    """Law 8, first half: a Need whose earlier victims still drain preempts only for the rest.

    The victims are followed by what the loop did, not by the reservations the decision keeps.
    """
    world = slow_world(fleet, seed)
    victims_of: dict[NeedKey, set[str]] = {}
    broken = []
    for cycle in range(cycles):
        machines = machines_by_id(world.fleet)
        draining = {
            name for name, m in machines.items() if m.machine.state is MachineState.DRAINING
        }
        decision = world.run_cycle(decide)
        keys = [verdict.need.key for verdict in decision.verdicts]
        for verdict in decision.verdicts:
            mine = victims_of.get(verdict.need.key, set()) & draining
            covered = not left_of(verdict.deficit, (machines[name] for name in mine)).amounts
            alone = keys.count(verdict.need.key) == 1
            if alone and verdict.preempts and covered:
                broken.append(f"cycle {cycle}: {verdict.need.key} preempts while {mine} drain")
        for action in decision.actions:
            for victims in victims_of.values():
                victims.discard(action.machine)
            if action.kind is ActionKind.PREEMPT and action.need is not None:
                victims_of.setdefault(keys[action.need], set()).add(action.machine)
    return broken
