"""The one function that changes the world: an event in, instructions out.

Time comes with the event. What was due before it happens first, each thing at its own time and in
an order that does not depend on who asked first.
"""

from typing import assert_never

from bigfleet.model.machines import Instant
from bigfleet.provider.sim.world import economy, hosts, work
from bigfleet.provider.sim.world.commands import carry_out
from bigfleet.provider.sim.world.happenings import (
    Abandoned,
    AdmissionAsked,
    Adopted,
    Asked,
    Called,
    Commanded,
    DescribeAsked,
    Event,
    Instruction,
    ResetAsked,
    Scripted,
    Show,
    Step,
    TimePassed,
    Treat,
)
from bigfleet.provider.sim.world.state import World


def step(world: World, event: Event) -> list[Instruction]:
    out: list[Instruction] = []
    pass_time(world, event.at, out)
    match event:
        case TimePassed():
            pass
        case Asked():
            work.asked(world, event, out)
        case Abandoned():
            work.abandoned(world, event)
        case AdmissionAsked():
            work.admission_asked(world, event, out)
        case Commanded():
            carry_out(world, event.command, out)
        case Scripted():
            _scripted(world, event)
        case DescribeAsked():
            _describe_asked(world, out)
        case ResetAsked():
            slot = world.supply.slots.get(event.machine)
            if slot is not None:
                hosts.mend(world, slot)
        case Adopted():
            slot = world.supply.slots.get(event.machine)
            if slot is not None:
                hosts.adopt(world, slot, event.host_ref, event.cluster)
                if event.price is not None:
                    economy.adopt_price(slot.pool, event.price)
        case Called():
            _called(world, event, out)
        case _:
            assert_never(event)
    return out


def next_due(world: World) -> Instant | None:
    return world.agenda.next_at()


def pass_time(world: World, now: Instant, out: list[Instruction]) -> None:
    while (at := world.agenda.next_at()) is not None and at <= now:
        world.now = max(world.now, at)
        _reach(world, world.agenda.pop(), out)
    world.now = max(world.now, now)


def _reach(world: World, key: tuple[str, ...], out: list[Instruction]) -> None:
    match key:
        case ("work", kind, operation):
            work.work_reached(world, Step(kind), operation, out)
        case ("end", machine):
            if machine in world.supply.slots:
                hosts.end_reached(world, world.supply.slots[machine], out)
        case ("hazard", pool, name):
            hosts.hazard_reached(world, world.supply.pools[pool], name, out)
        case ("tick",):
            economy.tick_reached(world, out)
        case ("stock", pool):
            economy.stock_flips(world, world.supply.pools[pool])
        case ("script", number):
            carry_out(world, world.script.pop(number), out)
        case _:
            raise AssertionError(f"nothing on the agenda is called {key}")


def _scripted(world: World, event: Scripted) -> None:
    first = world.occurrences.get(("script", ""), 0)
    world.occurrences["script", ""] = first + len(event.entries)
    for number, (delay, command) in enumerate(event.entries, first):
        key = f"{number:08d}"
        world.script[key] = command
        world.agenda.put(world.now + delay, "script", key)
    world.note("sim", "script.loaded", entries=len(event.entries))


def _describe_asked(world: World, out: list[Instruction]) -> None:
    share = world.describe_shares.pop(0) if world.describe_shares else 1.0
    if share < 1.0:
        world.note("sim", "describe.wrong", share=share)
    number = world.occurrence("describe", "sim")
    nanos = world.latency["describe"].nanos(world.draws, "latency/describe", "sim", number)
    out.append(Show(share, round(nanos / world.rules.speed)))


def _called(world: World, event: Called, out: list[Instruction]) -> None:
    treatment = world.answers.treatment(event.method, world.draws)
    wrong = None
    if treatment.code is not None:
        world.note("sim", "rpc.error", method=event.method, code=treatment.code.value)
    elif event.method == "List":
        wrong = world.answers.next_wrong_list(world.now)
        if wrong is not None:
            world.note("sim", "list.wrong", how=wrong.how)
    out.append(Treat(treatment, wrong))
