"""Law 9: one idle machine more never raises the deficit of the highest Need, if it is plain.

Highest is the first in precedence order, wherever it stands in the demand (U22). It must be filed
as a plain Need: another machine may fold another gang into a folded one and so change what it asks
for. A gang of equal precedence that arrived before it comes first, folded or not.
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
    if not before.verdicts:
        return []
    mine = min(before.verdicts, key=lambda verdict: turn(fleet, verdict))
    if mine.folded or not is_plain(mine):
        return []
    more = replace(fleet, machines=(*fleet.machines, another_idle(fleet, Random(seed))))
    after = next(v for v in decide(more).verdicts if is_same(v, mine))
    if mine.deficit.covers(after.deficit):
        return []
    added = more.machines[-1].machine
    return [f"deficit {mine.deficit.texts()} rises to {after.deficit.texts()} with {added}"]


def turn(fleet: Fleet, verdict: SomeVerdict) -> tuple[object, ...]:
    """Precedence, then the order of the demand as filed."""
    priority, interruption, reclamation = verdict.need.profile.precedence
    filed = min(
        (fleet.needs[index].need.arrival_unix_nanos, fleet.needs[index].need.cluster, index)
        for index in verdict.members
    )
    return (-priority, -interruption, -reclamation, *filed)


def is_plain(verdict: SomeVerdict) -> bool:
    return verdict.need.profile.same is None and verdict.need.profile.strict_spread is None


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
