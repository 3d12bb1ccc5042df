"""The one function that changes the substrate: an event in, instructions out.

Time comes with the event. What was due before it happens first, each thing at its own time and in
an order that does not depend on who asked first.
"""

from typing import assert_never

from bigfleet.model.machines import Instant
from bigfleet.provider.sim.world import economy, hosts, work
from bigfleet.provider.sim.world.commands import carry_out
from bigfleet.provider.sim.world.events import (
    AdmissionAsked,
    ApiCalled,
    CommandGiven,
    DescribeAsked,
    Event,
    HostAdopted,
    Instruction,
    ResetAsked,
    ScriptGiven,
    ShowInventory,
    Step,
    StepAbandoned,
    StepAsked,
    TimePassed,
    TreatCall,
)
from bigfleet.provider.sim.world.state import Substrate


def step(substrate: Substrate, event: Event) -> list[Instruction]:
    out: list[Instruction] = []
    pass_time(substrate, event.at, out)
    match event:
        case TimePassed():
            pass
        case StepAsked():
            work.asked(substrate, event, out)
        case StepAbandoned():
            work.abandoned(substrate, event)
        case AdmissionAsked():
            work.admission_asked(substrate, event, out)
        case CommandGiven():
            carry_out(substrate, event.command, out)
        case ScriptGiven():
            _scripted(substrate, event)
        case DescribeAsked():
            _describe_asked(substrate, out)
        case ResetAsked():
            slot = substrate.supply.slots.get(event.machine)
            if slot is not None:
                hosts.mend(substrate, slot)
        case HostAdopted():
            slot = substrate.supply.slots.get(event.machine)
            if slot is not None:
                hosts.adopt(substrate, slot, event.host_ref, event.cluster)
                if event.price is not None:
                    economy.adopt_price(substrate, slot.pool, event.price)
        case ApiCalled():
            _called(substrate, event, out)
        case _:
            assert_never(event)
    return out


def next_due(substrate: Substrate) -> Instant | None:
    return substrate.agenda.next_at()


def pass_time(substrate: Substrate, now: Instant, out: list[Instruction]) -> None:
    while (at := substrate.agenda.next_at()) is not None and at <= now:
        substrate.now = max(substrate.now, at)
        _reach(substrate, substrate.agenda.pop(), out)
    substrate.now = max(substrate.now, now)


def _reach(substrate: Substrate, key: tuple[str, ...], out: list[Instruction]) -> None:
    match key:
        case ("work", kind, operation):
            work.work_reached(substrate, Step(kind), operation, out)
        case ("end", machine):
            if machine in substrate.supply.slots:
                hosts.end_reached(substrate, substrate.supply.slots[machine], out)
        case ("hazard", pool, name):
            hosts.hazard_reached(substrate, substrate.supply.pools[pool], name, out)
        case ("tick",):
            economy.tick_reached(substrate, out)
        case ("stock", pool):
            economy.stock_flips(substrate, substrate.supply.pools[pool])
        case ("script", number):
            carry_out(substrate, substrate.script.pop(number), out)
        case _:
            raise AssertionError(f"nothing on the agenda is called {key}")


def _scripted(substrate: Substrate, event: ScriptGiven) -> None:
    first = substrate.occurrences.get(("script", ""), 0)
    substrate.occurrences["script", ""] = first + len(event.entries)
    for number, (delay, command) in enumerate(event.entries, first):
        key = f"{number:08d}"
        substrate.script[key] = command
        substrate.agenda.put(substrate.now + delay, "script", key)
    substrate.note("sim", "script.loaded", entries=len(event.entries))


def _describe_asked(substrate: Substrate, out: list[Instruction]) -> None:
    share = substrate.describe_shares.pop(0) if substrate.describe_shares else 1.0
    if share < 1.0:
        substrate.note("sim", "describe.wrong", share=share)
    number = substrate.occurrence("describe", "sim")
    nanos = substrate.latency["describe"].nanos(substrate.draws, "latency/describe", "sim", number)
    out.append(ShowInventory(share, round(nanos / substrate.rules.speed)))


def _called(substrate: Substrate, event: ApiCalled, out: list[Instruction]) -> None:
    treatment = substrate.answers.treatment(event.method, substrate.draws)
    wrong = None
    if treatment.code is not None:
        substrate.note("sim", "rpc.error", method=event.method, code=treatment.code.value)
    elif event.method == "List":
        wrong = substrate.answers.next_wrong_list(substrate.now)
        if wrong is not None:
            substrate.note("sim", "list.wrong", how=wrong.how)
    out.append(TreatCall(treatment, wrong))
