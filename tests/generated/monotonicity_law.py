"""Law 9: one idle machine more never raises the deficit of the highest plain Need.

The Need must be of the highest precedence, plain, first in the demand, and filed as such: a folded
Need is not, for another machine may fold another gang into it and so change what it asks for.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from bigfleet.model.fleet import Fleet, FleetMachine, Marks
from bigfleet.model.machines import Assigned, Host, MachineState
from tests.generated.agreement import SomeDecision, SomeVerdict
from tests.generated.fleets import identities, machine_of, offering_of
from tests.generated.themes import ANYTHING, GANGS

Decide = Callable[[Fleet], SomeDecision]


def an_idle_machine_never_raises_the_first_deficit(
    decide: Decide, fleet: Fleet, seed: int
) -> list[str]:
    before = decide(fleet)
    if not before.verdicts or not is_plain_and_highest(before):
        return []
    mine = before.verdicts[0]
    more = replace(fleet, machines=(*fleet.machines, another_idle(fleet, Random(seed))))
    after = next(v for v in decide(more).verdicts if is_same(v, mine))
    if mine.deficit.covers(after.deficit):
        return []
    added = more.machines[-1].machine
    return [f"deficit {mine.deficit.texts()} rises to {after.deficit.texts()} with {added}"]


def is_plain_and_highest(decision: SomeDecision) -> bool:
    first = decision.verdicts[0]
    plain = first.need.profile.same is None and first.need.profile.strict_spread is None
    highest = max(verdict.need.profile.precedence for verdict in decision.verdicts)
    return plain and not first.folded and first.need.profile.precedence == highest


def is_same(left: SomeVerdict, right: SomeVerdict) -> bool:
    return left.members == right.members and not left.folded


def another_idle(fleet: Fleet, chance: Random) -> FleetMachine:
    """A twin of one of the fleet's machines, or something quite different, free to be taken."""
    theme = chance.choice((ANYTHING, GANGS))
    offering = offering_of(chance, theme)
    pattern = machine_of(chance, "new", theme, [offering], identities(()), None)
    if fleet.machines and chance.random() < 0.7:
        pattern = chance.choice(fleet.machines)
    name = chance.choice(("a-first", "z-last"))
    machine = replace(
        pattern.machine,
        id=name,
        state=MachineState.IDLE,
        host=Host("sim", name),
        cluster="",
        last_error="",
        assigned=Assigned(),
        price_per_hour=chance.choice((0.0, 1.0, 9.0)),
    )
    return FleetMachine(machine, Marks())
