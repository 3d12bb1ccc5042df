"""U26 as a law: a gang without a domain takes one whole, or nothing; and it takes one if it can.

Written from the ruling's sentence; it calls neither the engine nor the oracle.
"""

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import MachineState
from tests.generated.agreement import SomeDecision, SomeVerdict
from tests.generated.laws import left_of, machines_by_id


def a_gang_takes_a_whole_domain_or_nothing(fleet: Fleet, decision: SomeDecision) -> list[str]:
    machines = machines_by_id(fleet)
    broken = []
    for number, verdict in enumerate(decision.verdicts):
        same = verdict.need.profile.same
        preempts = [
            a for a in decision.actions if a.kind is ActionKind.PREEMPT and a.need == number
        ]
        whole = [a for a in preempts if a.whole_domain]
        if whole:
            if same is None or verdict.claimed or whole != preempts:
                broken.append(f"need {number} has no right to a whole domain")
                continue
            victims = [machines[a.machine] for a in whole]
            if {v.machine.attribute(same.key) for v in victims} != {verdict.domain}:
                broken.append(f"need {number} takes machines outside {verdict.domain}")
            if left_of(verdict.need.aggregate, victims).amounts:
                broken.append(f"need {number} takes less of a domain than it needs")
        elif same is not None and verdict.domain is None and not verdict.parked:
            broken += [
                f"need {number} could have taken {value} whole"
                for value in domains_it_could_take(fleet, decision, verdict)
            ]
    return broken


def domains_it_could_take(fleet: Fleet, decision: SomeDecision, verdict: SomeVerdict) -> list[str]:
    """Domains whose strictly lower machines, not taken this cycle, cover the gang alone."""
    need = verdict.need
    if verdict.satisfied or verdict.unresolved.is_zero():
        return []
    assert need.profile.same is not None
    taken = {a.machine for a in decision.actions if a.kind is ActionKind.PREEMPT}
    claimant = {name: v.need.profile.priority for v in decision.verdicts for name in v.claimed}
    domains: dict[str, list[FleetMachine]] = {}
    for each in fleet.machines:
        machine = each.machine
        value = machine.attribute(need.profile.same.key)
        if (
            value
            and machine.state is MachineState.CONFIGURED
            and machine.id not in taken
            and claimant.get(machine.id, machine.assigned.priority) < need.profile.priority
            and machine.effective_allocatable.covers(need.min_unit)
            and all(r.met_by(machine.attribute(r.key)) for r in need.profile.requirements)
        ):
            domains.setdefault(value, []).append(each)
    return [v for v, group in domains.items() if not left_of(need.aggregate, group).amounts]
