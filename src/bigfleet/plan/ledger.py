"""Who gains and who loses in a cycle: actions and dollars per hour by cluster.

A machine's price is with the cluster that has it and with the pool while it is idle, so the changes
of all rows add up to the change of the bill.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from bigfleet.model.actions import ActionKind
from bigfleet.plan.cycles import PlannedCycle

#: The row of machines that belong to no cluster; no cluster has an empty name.
POOL = ""


@dataclass(slots=True)
class ClusterChange:
    cluster: str
    met: int = 0
    unmet: int = 0
    count_of_kind: Counter[ActionKind] = field(default_factory=Counter)
    dollars_per_hour: float = 0.0


def changes_of(cycle: PlannedCycle) -> list[ClusterChange]:
    """By cluster name, the pool last and only if something moves in or out of it."""
    changes: defaultdict[str, ClusterChange] = defaultdict(lambda: ClusterChange(""))
    for entry in cycle.fleet.machines:
        if entry.machine.cluster:
            changes[entry.machine.cluster].cluster = entry.machine.cluster
    for verdict in cycle.decision.verdicts:
        row = changes[verdict.need.cluster]
        row.cluster = verdict.need.cluster
        row.met += len(verdict.members) * verdict.satisfied
        row.unmet += len(verdict.members) * (not verdict.satisfied)
    price = {e.machine.id: e.machine.price_per_hour for e in cycle.fleet.machines}
    for action in cycle.kept.actions:
        row = changes[action.cluster]
        row.count_of_kind[action.kind] += 1
        match action.kind:
            case ActionKind.BOOTSTRAP:
                row.dollars_per_hour += price[action.machine]
                changes[POOL].dollars_per_hour -= price[action.machine]
            case ActionKind.PROVISION:
                row.dollars_per_hour += price[action.machine]
            case ActionKind.RECLAIM | ActionKind.PREEMPT:
                row.dollars_per_hour -= price[action.machine]
                changes[POOL].dollars_per_hour += price[action.machine]
            case ActionKind.DELETE:
                row.dollars_per_hour -= price[action.machine]
    pool = changes.pop(POOL, None)
    rows = [changes[cluster] for cluster in sorted(changes)]
    return rows + ([pool] if pool is not None else [])
