"""Money: what machines cost per hour and who has them, and which capacity carries which penalty.

Billed dollars are prices; declared dollars are penalties. The two are never added.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from bigfleet.costs import documents
from bigfleet.costs.focus import COLUMNS, focus_rows
from bigfleet.edge.clock import SECOND
from bigfleet.model.costs import (
    OWNED,
    Amounts,
    CostCall,
    CostReport,
    CostRow,
    IdleShare,
    merged,
    shared_by_use,
    sum_of,
)
from bigfleet.model.figures import SPENDING_AXES, CostAxis, ShardFigures, SpendingRow
from bigfleet.model.instants import instant_of
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.penalties import LABELS, PINNED, UNSPECIFIED, bucket_label
from bigfleet.web.answers import queried_at
from bigfleet.web.csv_answers import CSV, FORMAT, csv_answer, wants_csv
from bigfleet.web.figures import RateMeter, count_of_capacity, figures
from bigfleet.web.fleet import Answers, Fleet
from bigfleet.web.further_schemas import Costs, CostSeriesShape
from bigfleet.web.operations import JSON, Asked, Operation, Param
from bigfleet.web.past import past_cycle
from bigfleet.web.problems import Problem, bad
from bigfleet.web.routes.shards import DEFAULT_SECONDS, DURATION, MOST_SECONDS, MOST_STEP
from bigfleet.web.schemas import Finops
from bigfleet.wire.shard_admin import ShardAdminClient

_ORDER = (CapacityType.BARE_METAL, CapacityType.RESERVED, CapacityType.ON_DEMAND, CapacityType.SPOT)
_SPOT, _PINNED = CapacityType.SPOT.label, bucket_label(PINNED)
#: A penalty above this on Spot: on-demand at $0.38 and 5 % beats spot at $0.12 and 30 % from $1.04.
_SPOT_CROSSOVER_BUCKET = LABELS["2"]
#: Axes whose rows have machines by state, and a series over the last day.
AXES = tuple(map(str, SPENDING_AXES))
#: Of one answer; a chart is not wider in pixels.
_MOST_SAMPLES = 720
#: Of a row in CSV, after its name.
_COLUMNS = (
    "machines",
    "committedMachines",
    "dollarsPerHour",
    "sharedIdleDollarsPerHour",
    "idleDollarsPerHour",
    "strandedDollarsPerHour",
    "wasteDollarsPerHour",
    "imputedDollarsPerHour",
    "expectedInterruptionDollarsPerHour",
    "pinnedMachinesAtRisk",
)
#: By field of Amounts; counts are whole.
_NAMES = {
    "machines": "machines",
    "committed": "committedMachines",
    "unvalued": "unvaluedMachines",
    "billed": "dollarsPerHour",
    "imputed": "imputedDollarsPerHour",
    "interruption": "expectedInterruptionDollarsPerHour",
    "pinned": "pinnedMachinesAtRisk",
    "waste": "wasteDollarsPerHour",
    "idle": "idleDollarsPerHour",
    "stranded": "strandedDollarsPerHour",
}
_COUNTS = ("machines", "committed", "unvalued", "pinned")


@dataclass(frozen=True, slots=True)
class CostRoutes:
    fleet: Fleet
    rates: RateMeter = field(default_factory=RateMeter)

    async def costs(self, asked: Asked) -> dict[str, Any] | Response:
        axis = CostAxis(asked.text("by"))
        as_csv, past = wants_csv(asked), _past_call(asked, axis, self.fleet.clock.now())
        if past is not None:
            return await self._past(asked, past, as_csv=as_csv)
        told = await self._rates(axis, asked.text("at"), asked.text("shard"))
        reports = [report for report, _ in told.said.values()]
        rows = merged(reports)
        if asked.text("idleShare") == IdleShare.USE and axis in OWNED:
            rows = shared_by_use(rows)
        spending = [row for _, seen in told.said.values() for row in seen.spending]
        states = states_by_name(spending if str(axis) in AXES else ())
        listed = [row_document(row, states.get(row.name, {})) for row in rows]
        if as_csv:
            table = ([row["name"], *(row[name] for name in _COLUMNS)] for row in listed)
            return csv_answer(f"costs-by-{axis}", [str(axis), *_COLUMNS], table, told.warnings)
        total = amounts_document(sum_of(report.total for report in reports))
        return {
            "by": str(axis),
            "cycle": {shard: seen.cycle for shard, (_, seen) in told.said.items()},
            "rows": listed,
            "totals": {**total, "machinesByState": states_of(spending)},
            "imputedDollarsPerHour": total["imputedDollarsPerHour"],
            "wasteDollarsPerHour": total["wasteDollarsPerHour"],
            "redFlags": [documents.flag_document(flag) for each in reports for flag in each.flags],
            "unknown": list(dict.fromkeys(text for each in reports for text in each.unknown)),
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def _rates(
        self, axis: CostAxis, at: str, shard: str
    ) -> Answers[tuple[CostReport, ShardFigures]]:
        """With the machines by state: on the axis, or where it has none of them by capacity."""
        axes = (axis,) if str(axis) in AXES else (CostAxis.CAPACITY,)

        async def look(client: ShardAdminClient, cycle: int) -> tuple[CostReport, ShardFigures]:
            report, seen = await asyncio.gather(
                client.costs(CostCall(axis, cycle=cycle)), client.figures(axes=axes, cycle=cycle)
            )
            return report, seen

        if not at:
            return (await self.fleet.ask(lambda client: look(client, 0), shard)).require()
        past = past_cycle(self.fleet, at, shard)
        return Answers({past.shard: await past.ask(self.fleet, look)}, {})

    async def _past(
        self, asked: Asked, call: CostCall, *, as_csv: bool
    ) -> dict[str, Any] | Response:
        """Dollars and machine-hours of the ledgers."""
        told = (await self.fleet.ask(lambda shard: shard.costs(call))).require()
        reports = list(told.said.values())
        rows = merged(reports)
        if asked.text("idleShare") == IdleShare.USE and call.by in OWNED:
            rows = shared_by_use(rows)
        listed = [documents.row_document(row, per_hour=False) for row in rows]
        if as_csv:
            names = [name for _, name in documents.NAMES.values()]
            table = ([row["name"], *(row[name] for name in names)] for row in listed)
            return csv_answer(f"costs-by-{call.by}", [str(call.by), *names], table, told.warnings)
        total = sum_of(report.total for report in reports)
        return {
            "by": str(call.by),
            "cycle": {},
            "rows": [],
            "period": {
                "rows": listed,
                "total": documents.amounts_document(total, per_hour=False),
                "shards": {
                    shard: documents.period_document(each.period)
                    for shard, each in told.said.items()
                    if each.period is not None
                },
            },
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def focus(self, asked: Asked) -> Response:
        """Each hour of the ledgers, in the columns of FOCUS 1.0."""
        asked.text("from")  # it is required
        call = _past_call(asked, CostAxis.CLUSTER, self.fleet.clock.now())
        assert call is not None, "from is said"
        charged = replace(call, charges=True)
        told = (await self.fleet.ask(lambda shard: shard.costs(charged))).require()
        charges = {shard: report.charges for shard, report in told.said.items()}
        table = ([str(row.get(name, "")) for name in COLUMNS] for row in focus_rows(charges))
        return csv_answer("costs-focus", COLUMNS, table, told.warnings)

    async def series(self, asked: Asked) -> dict[str, Any] | Response:
        by, as_csv = asked.text("by"), wants_csv(asked)
        history, now = self.fleet.history, self.fleet.clock.now()
        if history is None:
            text = "this page keeps no samples of costs"
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, text)
        seconds, until = _span(asked, now // SECOND)
        least_step = -(-seconds // _MOST_SAMPLES)
        step = asked.duration("step", least_step, MOST_STEP)
        found = history.costs(by, seconds, max(step, least_step), until)
        names = sorted(found.by_name, key=lambda name: (-_last(found.by_name[name]), name))
        if as_csv:
            columns = ["time", "dollarsPerHour", "idleDollarsPerHour", *names]
            series = [found.total, found.idle, *(found.by_name[name] for name in names)]
            times = (queried_at(second * SECOND) for second in found.timestamps)
            table = zip(times, *series, strict=True)
            return csv_answer(f"costs-by-{by}-over-time", columns, table, ())
        return {
            "by": by,
            "timestamps": found.timestamps,
            "stepSeconds": found.step,
            "dollarsPerHour": found.total,
            "idleDollarsPerHour": found.idle,
            "series": [{"name": name, "dollarsPerHour": found.by_name[name]} for name in names],
            "keptSeconds": MOST_SECONDS,
            **asked.head(),
            "queriedAt": queried_at(now),
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


def _past_call(asked: Asked, axis: CostAxis, now: int) -> CostCall | None:
    """None: it is asked for now; raises Problem for times that cannot be read."""
    first, last = _second(asked, "from"), _second(asked, "to")
    if first is None:
        if last is not None:
            raise bad("from", "is missing; say since when, such as 2026-11-18T14:00:00Z")
        return None
    ends = now if last is None else min(last * SECOND, now)
    if first * SECOND >= ends:
        raise bad("from", "from is not before to, or lies ahead")
    return CostCall(axis, first * SECOND, ends)


def _span(asked: Asked, now: int) -> tuple[int, int]:
    """How many seconds, and until when; raises Problem for times that cannot be read."""
    first, last = _second(asked, "from"), _second(asked, "to")
    until = now if last is None else min(last, now)
    if first is None:
        return asked.duration("duration", DEFAULT_SECONDS, MOST_SECONDS), until
    if first >= until:
        raise bad("from", "from is not before to, or lies ahead")
    if (kept := now - MOST_SECONDS) > first:
        asked.clamped["from"] = MOST_SECONDS
    return max(1, until - max(first, kept)), until


def _second(asked: Asked, name: str) -> int | None:
    if not (said := asked.text(name)):
        return None
    found = instant_of(said)
    if found is None:
        raise bad(name, f"{said[:40]!r} is not a time; write 2026-11-18T14:00:00Z")
    return found // SECOND


def _last(values: Sequence[float | None]) -> float:
    return next((value for value in reversed(values) if value is not None), 0.0)


def row_document(row: CostRow, states: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": row.name,
        **amounts_document(row.amounts),
        "sharedIdleDollarsPerHour": row.shared,
        "machinesByState": dict(states),
    }


def amounts_document(amounts: Amounts) -> dict[str, Any]:
    values = {name: getattr(amounts, field) for field, name in _NAMES.items()}
    return values | {_NAMES[field]: round(getattr(amounts, field)) for field in _COUNTS}


def states_by_name(rows: Iterable[SpendingRow]) -> dict[str, Counter[str]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[row.name][row.state.label] += row.machines
    return found


def states_of(rows: Iterable[SpendingRow]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row in rows:
        found[row.state.label] += row.machines
    return dict(found)


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
            "Dollars per hour now, by an axis: billed, imputed and declared apart, and what of the "
            "bill is idle, stranded or wasted.",
            costs.costs,
            Costs,
            (
                Param(
                    "by",
                    "What it is told by.",
                    default=str(CostAxis.CLUSTER),
                    choices=tuple(map(str, CostAxis)),
                    example="zone",
                ),
                Param("at", "As of a past cycle of one shard, 18231 or 3:18231."),
                Param("shard", "Only of this shard.", example="shard-0"),
                Param(
                    "idleShare",
                    "use: divide the bill of machines that no cluster has among those that have "
                    "machines.",
                    default=str(IdleShare.APART),
                    choices=tuple(map(str, IdleShare)),
                ),
                Param("from", "Since when hours are added up, in RFC 3339; not said: rates now."),
                Param("to", "Until when, in RFC 3339; now unless said."),
                FORMAT,
            ),
            problems=(
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.NOT_FOUND,
                HTTPStatus.SERVICE_UNAVAILABLE,
            ),
            media=(JSON, CSV),
            example="/costs?by=zone",
        ),
        Operation(
            "/costs/focus",
            "getCostsFocus",
            "Each hour of the ledgers by cluster, type, zone and capacity type, as CSV in the "
            "columns of FOCUS 1.0.",
            costs.focus,
            str,
            (
                Param("from", "Since when, in RFC 3339.", required=True),
                Param("to", "Until when, in RFC 3339; now unless said."),
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE),
            media=(CSV,),
            example="/costs/focus?from=2026-01-01T00:00:00Z",
        ),
        Operation(
            "/costs/series",
            "getCostSeries",
            "Dollars per hour over the last day at most, by an axis; null where nothing was "
            "measured.",
            costs.series,
            CostSeriesShape,
            (
                Param(
                    "by",
                    "What it is told by.",
                    default=str(CostAxis.CLUSTER),
                    choices=AXES,
                    example="capacity",
                ),
                Param("from", "Since when, in RFC 3339; instead of duration."),
                Param("to", "Until when, in RFC 3339; now unless said."),
                DURATION,
                Param("step", "Between two samples; as fine as 720 samples allow unless said."),
                FORMAT,
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE),
            media=(JSON, CSV),
            example="/costs/series?by=capacity&duration=15m",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
