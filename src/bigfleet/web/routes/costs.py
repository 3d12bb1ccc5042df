"""Money: what machines cost per hour and who has them, and which capacity carries which penalty.

Billed dollars are prices; declared dollars are penalties. The two are never added.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.edge.clock import SECOND
from bigfleet.model.figures import CostAxis, ShardFigures, SpendingRow
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.penalties import LABELS, PINNED, UNSPECIFIED, bucket_label
from bigfleet.web.answers import queried_at
from bigfleet.web.figures import RateMeter, count_of_capacity, figures
from bigfleet.web.fleet import Fleet
from bigfleet.web.further_schemas import Costs
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import Problem
from bigfleet.web.schemas import Finops

_ORDER = (CapacityType.BARE_METAL, CapacityType.RESERVED, CapacityType.ON_DEMAND, CapacityType.SPOT)
_SPOT, _PINNED = CapacityType.SPOT.label, bucket_label(PINNED)
#: A penalty above this on Spot: on-demand at $0.38 and 5 % beats spot at $0.12 and 30 % from $1.04.
_SPOT_CROSSOVER_BUCKET = LABELS["2"]
#: Axes whose numbers are not kept yet, and what will provide them.
_LATER = {
    "team": "teams of clusters (costs.teams of the settings) are not read by a shard yet",
    "need": "the cost of a Need is in its row of /needs once claims are attributed",
}
AXES = tuple(str(axis) for axis in CostAxis)


@dataclass(frozen=True, slots=True)
class CostRoutes:
    fleet: Fleet
    rates: RateMeter = field(default_factory=RateMeter)

    async def costs(self, asked: Asked) -> dict[str, Any]:
        by = asked.text("by")
        if by in _LATER:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"no costs by {by}: {_LATER[by]}")
        for name in ("from", "to"):
            if asked.text(name):
                text = "costs of the past are not kept yet: the ledger of hours will provide them"
                raise Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE, text, field=name, remedy="leave from and to out"
                )
        told = (await figures(self.fleet, (CostAxis(by),))).require()
        rows = [row for each in told.said.values() for row in each.spending]
        return {
            "by": by,
            "cycle": {shard: each.cycle for shard, each in told.said.items()},
            "rows": spending_by_name(rows),
            "totals": totals_of(rows),
            "imputedDollarsPerHour": None,
            "wasteDollarsPerHour": None,
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def finops(self, _asked: Asked) -> dict[str, Any]:
        told = (await figures(self.fleet)).require()
        now = self.fleet.clock.now()
        looks = [self.rates.look(each, now / SECOND) for each in told.said.values()]
        actions: defaultdict[str, float] = defaultdict(float)
        for look in looks:
            for kind, rate in look.actions.items() if look else ():
                actions[kind] += rate
        return {
            **finops_of(told.said.values()),
            "actionRatesPerSec": dict(actions),
            **told.head(),
            "queriedAt": queried_at(now),
        }


def spending_by_name(rows: Iterable[SpendingRow]) -> list[dict[str, Any]]:
    """What costs most first."""
    parts: defaultdict[str, list[SpendingRow]] = defaultdict(list)
    for row in rows:
        parts[row.name].append(row)
    found = [{"name": name, **totals_of(some)} for name, some in parts.items()]
    return sorted(found, key=lambda each: (-each["dollarsPerHour"], each["name"]))


def totals_of(rows: Iterable[SpendingRow]) -> dict[str, Any]:
    all_rows = list(rows)
    idle = [row for row in all_rows if row.state is MachineState.IDLE]
    states: Counter[str] = Counter()
    for row in all_rows:
        states[row.state.label] += row.machines
    return {
        "machines": sum(row.machines for row in all_rows),
        "committedMachines": sum(row.unpriced for row in all_rows),
        "machinesByState": dict(states),
        "dollarsPerHour": sum(row.dollars_per_hour for row in all_rows),
        "idleDollarsPerHour": sum(row.dollars_per_hour for row in idle),
        "expectedInterruptionDollarsPerHour": sum(
            row.expected_interruption_per_hour for row in all_rows
        ),
        "pinnedMachinesAtRisk": sum(row.pinned for row in all_rows),
    }


def finops_of(told: Iterable[ShardFigures]) -> dict[str, Any]:
    shards = list(told)
    configured: defaultdict[str, Counter[str]] = defaultdict(Counter)
    by_bucket: Counter[str] = Counter()
    demand: Counter[str] = Counter()
    for each in shards:
        demand.update(each.demand_by_bucket)
        for sort in each.sorts:
            if sort.state is MachineState.CONFIGURED:
                configured[sort.capacity_type.label][sort.penalty_bucket] += sort.machines
                by_bucket[sort.penalty_bucket] += sort.machines
    idle = count_of_capacity(shards, MachineState.IDLE)
    by_type = {kind: sum(counts.values()) for kind, counts in configured.items()}
    total = sum(by_type.values())
    return {
        "totals": {
            "configuredMachines": total,
            "idleMachines": sum(idle.values()),
            "demandMachines": sum(demand.values()),
            "spotConfiguredFraction": by_type.get(_SPOT, 0) / total if total else 0.0,
            "pinnedConfiguredFraction": by_bucket[_PINNED] / total if total else 0.0,
        },
        "capacityTypes": _types({*by_type, *idle}),
        "buckets": sorted({*by_bucket, *demand}, key=_bucket_order),
        "configuredByCapacityType": by_type,
        "idleByCapacityType": idle,
        "configured": {kind: dict(counts) for kind, counts in configured.items()},
        "configuredByBucket": dict(by_bucket),
        "demand": dict(demand),
        "redFlags": red_flags(configured.get(_SPOT, Counter())),
    }


def _types(found: set[str]) -> list[str]:
    known = [kind.label for kind in _ORDER]
    return [*known, *sorted(found - set(known))]


def _bucket_order(label: str) -> tuple[int, int]:
    """By number, pinned last; what is not said comes first."""
    bucket = LABELS.get(label, UNSPECIFIED)
    return (int(bucket == PINNED), bucket)


def red_flags(on_spot: Mapping[str, int]) -> list[dict[str, Any]]:
    """Machines on Spot whose workload says that it should not be."""
    flags = []
    for label in sorted(on_spot, key=_bucket_order, reverse=True):
        bucket, count = LABELS.get(label, UNSPECIFIED), on_spot[label]
        if bucket == PINNED:
            severity, why = "danger", "never to be interrupted"
        elif bucket >= _SPOT_CROSSOVER_BUCKET:
            severity, why = "warn", f"that declare ${label} for an interruption"
        else:
            continue
        what = "machine" if count == 1 else "machines"
        flags.append(
            {
                "severity": severity,
                "capacityType": _SPOT,
                "bucket": label,
                "count": count,
                "message": f"{count} Spot {what} run workloads {why}",
            }
        )
    return flags


def operations(fleet: Fleet) -> list[Operation]:
    costs = CostRoutes(fleet)
    return [
        Operation(
            "/finops/snapshot",
            "getFinops",
            "Which capacity carries which interruption penalty, with red flags.",
            costs.finops,
            Finops,
            compatible=True,
            example="/finops/snapshot",
        ),
        Operation(
            "/costs",
            "getCosts",
            "Dollars per hour now, by an axis: billed, idle, and declared interruptions apart.",
            costs.costs,
            Costs,
            (
                Param(
                    "by",
                    "What it is told by.",
                    default=str(CostAxis.CLUSTER),
                    choices=(*AXES, *_LATER),
                    example="zone",
                ),
                Param("from", "Costs of the past are not kept yet."),
                Param("to", "Costs of the past are not kept yet."),
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE),
            example="/costs?by=zone",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
