"""The whole fleet at a glance, and what it did over time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.routing import Route

from bigfleet.model.figures import CostAxis, ShardFigures
from bigfleet.model.findings import Finding, findings_of_fleet, findings_of_shard
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.shard_views import OfferingView, Quarantine, ShardStatus
from bigfleet.web.answers import queried_at
from bigfleet.web.figures import HEADLINE, P50, P99, count_of_state, slowest
from bigfleet.web.fleet import Answers, Fleet
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.routes.shards import DURATION, STEP, samples
from bigfleet.web.schemas import Actions, Overview
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.shard_views import PAUSE


@dataclass(frozen=True, slots=True)
class ShardAtAGlance:
    figures: ShardFigures
    status: ShardStatus
    quarantines: tuple[Quarantine, ...]
    offerings: tuple[OfferingView, ...]
    thrash: int
    clusters: frozenset[str]

    @classmethod
    async def of(cls, shard: ShardAdminClient) -> "ShardAtAGlance":
        return cls(
            await shard.figures(axes=HEADLINE),
            await shard.status(),
            tuple(await shard.quarantines()),
            tuple(await shard.offerings()),
            len(await shard.thrash()),
            frozenset(view.cluster for view in await shard.sessions()),
        )

    def findings(self) -> list[Finding]:
        return findings_of_shard(self.status, self.quarantines, self.offerings)


@dataclass(frozen=True, slots=True)
class OverviewRoutes:
    fleet: Fleet

    async def overview(self, _asked: Asked) -> dict[str, Any]:
        told = (await self.fleet.ask(ShardAtAGlance.of)).require()
        return {**overview_of(told), "queriedAt": queried_at(self.fleet.clock.now())}

    async def actions(self, asked: Asked) -> dict[str, Any]:
        found = samples(self.fleet, asked)
        kinds = sorted(found.action_rates)
        return {
            "timestamps": found.timestamps,
            "kinds": kinds,
            "values": [found.action_rates[kind] for kind in kinds],
        }


def overview_of(told: Answers[ShardAtAGlance]) -> dict[str, Any]:
    looks = list(told.said.values())
    all_figures = [each.figures for each in looks]
    pauses = {pause.pause_id: pause for each in looks for pause in each.status.pauses}
    classes = _classes(all_figures)
    needs = {s.label: sum(each[s.label] for each in classes) for s in NeedState}
    found = findings_of_fleet((each.findings() for each in looks), (), (), ())
    newest = max(all_figures, key=lambda each: each.computed_at)
    machines = sum(each.machines for each in all_figures)
    rebuilding = any(not each.cycle for each in all_figures)
    overview = {
        "shards": len(told.said) + len(told.failed),
        "clusters": len(frozenset[str]().union(*(each.clusters for each in looks))),
        "machines": machines,
        "machinesByState": count_of_state(all_figures),
        "shortfalls": sum(each.shortfalls for each in all_figures),
        "cycleP99Seconds": slowest(all_figures, P99) or 0.0,
        "cycleP50Seconds": slowest(all_figures, P50),
        "cycle": newest.cycle,
        "epoch": newest.epoch,
        "needs": needs,
        "needsByClass": classes,
        "demandMetFraction": needs["met"] / total if (total := sum(needs.values())) else None,
        "dollarsPerHour": _dollars(all_figures),
        "idleDollarsPerHour": _dollars(all_figures, MachineState.IDLE),
        "actionsTotal": _added([each.actions for each in all_figures]),
        "findings": [each.document() for each in found],
        "thrash": sum(each.thrash for each in looks),
        "pauses": [PAUSE.document(pause) for pause in pauses.values()],
        "regret": None,
        "calibration": None,
        "shardsDown": list(told.failed),
        "rebuilding": rebuilding,
        **told.head(),
    }
    return {**overview, "sentence": sentence_of(overview)}


def sentence_of(overview: dict[str, Any]) -> str:
    """Whether someone waits comes first; nothing is called met while a shard is not heard of."""
    needs, said = overview["needs"], []
    if down := overview["shardsDown"]:
        said.append(f"{', '.join(down)} {'does' if len(down) == 1 else 'do'} not answer")
    if overview["rebuilding"]:
        said.append("a shard is rebuilding after its start")
    waiting = [f"{needs[s]:,} {s}" for s in ("short", "blocked", "arriving") if needs[s]]
    if waiting:
        said.append(f"{', '.join(waiting)} of {sum(needs.values()):,} needs")
    elif not said:
        said.append("all demand met" if any(needs.values()) else "nothing is asked for")
    if overview["pauses"]:
        said.append(f"{len(overview['pauses'])} paused")
    text = "; ".join(said)
    machines, dollars = overview["machines"], overview["dollarsPerHour"]
    calm = "calm" if not overview["thrash"] else f"{overview['thrash']} went back and forth"
    return f"{text[:1].upper()}{text[1:]}; {machines:,} machines, ${dollars:,.2f}/h, {calm}"


def _classes(told: list[ShardFigures]) -> list[dict[str, Any]]:
    """The highest first."""
    found: dict[str, dict[str, Any]] = {}
    for each in told:
        for one in each.classes:
            row = found.setdefault(one.priority_class, {"priorityClass": one.priority_class})
            for state in NeedState:
                row[state.label] = row.get(state.label, 0) + getattr(one, state.label)
    return list(found.values())


def _dollars(told: list[ShardFigures], state: MachineState | None = None) -> float:
    return sum(
        row.dollars_per_hour
        for each in told
        for row in each.spending
        if row.axis is CostAxis.CAPACITY and state in (None, row.state)
    )


def _added(parts: list[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in parts:
        found.update(each)
    return dict(sorted(found.items()))


def operations(fleet: Fleet) -> list[Operation]:
    routes = OverviewRoutes(fleet)
    return [
        Operation(
            "/fleet/overview",
            "getOverview",
            "The whole fleet: machines by state, Needs by state, dollars, findings.",
            routes.overview,
            Overview,
            compatible=True,
            example="/fleet/overview",
        ),
        Operation(
            "/fleet/actions",
            "getActions",
            "Actions per second by kind, over time; null where nothing was measured.",
            routes.actions,
            Actions,
            (DURATION, STEP),
            compatible=True,
            example="/fleet/actions?duration=5m&step=10s",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
