"""The fleet on one page, from the last word of every shard: sums, findings, and one sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigfleet.model.cluster_reports import ClusterPods
from bigfleet.model.coordination import CoordinatorStatus, QuotaAllocation
from bigfleet.model.figures import CostAxis, ShardFigures, quantile
from bigfleet.model.findings import findings_of_fleet, findings_of_shard
from bigfleet.model.forecasts import LEAST_OUTCOMES
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.pauses import Pause
from bigfleet.model.regret import regret_of_fleet
from bigfleet.model.watch_events import ShardOverview
from bigfleet.wire.shard_views import PAUSE

WHOLE_CYCLE = ""
P50, P99 = 0.5, 0.99
#: Whose pods are told one by one; `/clusters` tells those of all.
MOST_CLUSTERS = 100


@dataclass(frozen=True, slots=True)
class Coordination:
    """What the coordinator adds to what its shards say."""

    statuses: Sequence[CoordinatorStatus] = ()
    quotas: Sequence[QuotaAllocation] = ()
    pauses: Sequence[Pause] = ()


@dataclass(frozen=True, slots=True)
class Recent:
    """What a shard has counted since an earlier look: differences of its counters."""

    before: ShardFigures
    now: ShardFigures

    @property
    def seconds(self) -> float:
        return max(1e-9, (self.now.computed_at - self.before.computed_at) / 1e9)

    def actions(self) -> dict[str, int]:
        """Started since then, by kind."""
        earlier = self.before.actions
        return {kind: total - earlier.get(kind, 0) for kind, total in self.now.actions.items()}

    def quantile(self, share: float, phase: str = WHOLE_CYCLE) -> float | None:
        """Of the cycles since then; of all of them where none has ended since."""
        earlier = {each.phase: each.counts for each in self.before.durations}
        for each in self.now.durations:
            if each.phase == phase:
                then = earlier.get(phase) or (0,) * len(each.counts)
                fresh = tuple(a - b for a, b in zip(each.counts, then, strict=True))
                counts = fresh if sum(fresh) else each.counts
                return quantile(self.now.edges, counts, share)
        return None


@dataclass(frozen=True, slots=True)
class FleetSeen:
    #: By shard: its last word, also of one that does not answer any more.
    shards: Mapping[str, ShardOverview] = field(default_factory=dict)
    recent: Mapping[str, Recent] = field(default_factory=dict)
    #: Why a shard does not answer.
    down: Mapping[str, str] = field(default_factory=dict)
    coordination: Coordination = Coordination()

    @property
    def figures(self) -> list[ShardFigures]:
        return [each.figures for each in self.shards.values()]


def overview_of(seen: FleetSeen) -> dict[str, Any]:
    figures = seen.figures
    needs = {state.label: 0 for state in NeedState}
    classes = _classes(figures)
    for row in classes:
        for state in needs:
            needs[state] += row[state]
    total = sum(needs.values())
    newest = max(figures, key=lambda each: (each.epoch, each.cycle), default=None)
    pauses = _pauses(seen)
    return {
        "shards": len(seen.shards.keys() | seen.down.keys()),
        "clusters": len({name for each in seen.shards.values() for name in each.clusters}),
        "machines": sum(each.machines for each in figures),
        "machinesByState": machines_by_state(figures),
        "shortfalls": sum(each.shortfalls for each in figures),
        "cycleP99Seconds": slowest(seen, P99) or 0.0,
        "cycleP50Seconds": slowest(seen, P50),
        "cycle": newest.cycle if newest else 0,
        "epoch": newest.epoch if newest else 0,
        "needs": needs,
        "needsByClass": classes,
        "demandMetFraction": needs["met"] / total if total else None,
        "dollarsPerHour": dollars(figures),
        "idleDollarsPerHour": dollars(figures, MachineState.IDLE),
        "actionsPerMinute": actions_per_minute(seen),
        "pods": pods_of(seen),
        "stuckPods": sum(each.status.stuck_pods for each in seen.shards.values()),
        "findings": findings_in(seen),
        "thrash": sum(each.thrash_findings for each in seen.shards.values()),
        "pauses": pauses,
        "regret": _regret(seen),
        "calibration": _calibration(seen),
        "shardsDown": sorted(seen.down),
        "rebuilding": any(not each.cycle for each in figures),
    }


def _regret(seen: FleetSeen) -> dict[str, Any] | None:
    """Of all shards together; None where no shard is known."""
    if not seen.shards:
        return None
    found = regret_of_fleet({shard: each.regret for shard, each in seen.shards.items()}, seen.down)
    known = found.is_measured
    return {
        "status": found.status.label,
        "reason": found.reason,
        "greedyPerHour": found.greedy_per_hour if known else None,
        "boundPerHour": found.bound_per_hour if known else None,
        "gapPerHour": found.gap_per_hour if known else None,
        "ratio": found.ratio if known else None,
    }


def _calibration(seen: FleetSeen) -> float | None:
    """The share of forecasts of all shards that was met by their p80; None: too few have ended."""
    kept = [each.calibration for each in seen.shards.values() if each.calibration is not None]
    ended = sum(each.outcomes for each in kept)
    if ended < LEAST_OUTCOMES:
        return None
    return sum((each.by_p80 or 0.0) * each.outcomes for each in kept) / ended


def sentence_of(overview: Mapping[str, Any], calm_seconds: float | None) -> str:
    """Who waits comes first; nothing is called met while a shard is not heard of."""
    needs, said = overview["needs"], []
    if not overview["shards"]:
        return "No shard is known yet"
    if down := overview["shardsDown"]:
        said.append(f"{', '.join(down)} {'does' if len(down) == 1 else 'do'} not answer")
    if overview["rebuilding"]:
        said.append("a shard is rebuilding after its start")
    if waiting := [f"{needs[s]:,} {s}" for s in ("short", "blocked", "arriving") if needs[s]]:
        said.append(f"{', '.join(waiting)} of {sum(needs.values()):,} needs")
    if stuck := overview["stuckPods"]:
        said.append(f"{stuck:,} pods wait although their machines are there")
    if not said:
        said.append("all demand met" if any(needs.values()) else "nothing is asked for")
    if thrash := overview["thrash"]:
        said.append(f"machines went back and forth: {thrash} finding{'s' if thrash > 1 else ''}")
    if pauses := len(overview["pauses"]):
        said.append(f"{pauses} pause{'s' if pauses > 1 else ''} in force")
    text = "; ".join(said)
    machines, cost = overview["machines"], overview["dollarsPerHour"]
    calm = f", calm for {_lasting(calm_seconds)}" if calm_seconds is not None else ""
    return f"{text[:1].upper()}{text[1:]}; {machines:,} machines, ${cost:,.2f}/h{calm}"


def is_calm(overview: Mapping[str, Any]) -> bool:
    """Nobody waits, nothing is wrong, nothing goes back and forth."""
    waits = sum(overview["needs"].values()) - overview["needs"]["met"] + overview["stuckPods"]
    trouble = overview["findings"] or overview["shardsDown"] or overview["rebuilding"]
    return not (waits or trouble or overview["thrash"] or overview["pauses"])


def costs_of(seen: FleetSeen, now: Instant) -> dict[str, Any]:
    figures = seen.figures
    return {
        "atUnixNanos": now,
        "dollarsPerHour": dollars(figures),
        "byCluster": _by(figures, CostAxis.CLUSTER),
        "byCapacityType": _by_capacity(figures),
        "idle": dollars(figures, MachineState.IDLE),
    }


def findings_in(seen: FleetSeen) -> list[dict[str, Any]]:
    told = seen.coordination
    of_shards = (
        findings_of_shard(each.status, each.quarantines, each.offerings)
        for each in seen.shards.values()
    )
    found = findings_of_fleet(of_shards, told.statuses, told.quotas, told.pauses)
    silent = [
        {
            "code": "shard.silent",
            "text": f"{name} does not answer: {why}",
            "facts": {"shard": name},
            "refs": [f"shard/{name}"],
            "advice": "what it said last is shown; its clusters keep what they have",
            "command": f"bigfleet status --shard {name}",
            "shardIds": [name],
        }
        for name, why in sorted(seen.down.items())
    ]
    return [*silent, *(each.document() for each in found)]


def pods_of(seen: FleetSeen) -> dict[str, Any]:
    """None where no operator counts them, also those of clusters whose shard is silent."""
    heard = {name: each for name, each in seen.shards.items() if name not in seen.down}
    known = {pods.cluster: pods for each in heard.values() for pods in each.pods}
    named = {name for each in seen.shards.values() for name in each.clusters}
    # Those that wait first: of a fleet with more clusters than are told, they are looked for.
    order = sorted(known.values(), key=lambda p: (-p.stuck, -p.waiting, -p.running, p.cluster))
    told = known.values()
    return {
        "running": sum(pods.running for pods in told) if known else None,
        "waiting": sum(pods.waiting for pods in told) if known else None,
        "stuck": sum(pods.stuck for pods in told) if known else None,
        "unreportedClusters": len(named - known.keys()),
        "byCluster": {pods.cluster: pods_document(pods) for pods in order[:MOST_CLUSTERS]},
    }


def pods_document(pods: ClusterPods) -> dict[str, int]:
    return {"running": pods.running, "waiting": pods.waiting, "stuck": pods.stuck}


def machines_by_state(figures: Iterable[ShardFigures]) -> dict[str, int]:
    counts = {state.label: 0 for state in MachineState if state}
    for each in figures:
        for sort in each.sorts:
            counts[sort.state.label] = counts.get(sort.state.label, 0) + sort.machines
    return counts


def dollars(figures: Iterable[ShardFigures], state: MachineState | None = None) -> float:
    return sum(
        row.dollars_per_hour
        for each in figures
        for row in each.spending
        if row.axis is CostAxis.CLUSTER and state in (None, row.state)
    )


def actions_per_minute(seen: FleetSeen) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in seen.recent.values():
        for kind, count in each.actions().items():
            found[kind] = found.get(kind, 0.0) + count / max(1.0, each.seconds / 60)
    return found


def slowest(seen: FleetSeen, share: float) -> float | None:
    known = (each.quantile(share) for each in seen.recent.values())
    return max((each for each in known if each is not None), default=None)


def _classes(figures: Iterable[ShardFigures]) -> list[dict[str, Any]]:
    """The highest first."""
    found: dict[str, dict[str, Any]] = {}
    for each in figures:
        for one in each.classes:
            row = found.setdefault(one.priority_class, {"priorityClass": one.priority_class})
            for state in NeedState:
                row[state.label] = row.get(state.label, 0) + getattr(one, state.label)
    return list(found.values())


def _pauses(seen: FleetSeen) -> list[dict[str, Any]]:
    """Each once: those of a whole fleet are known by all."""
    found = {pause.pause_id: pause for pause in seen.coordination.pauses}
    for each in seen.shards.values():
        found |= {pause.pause_id: pause for pause in each.status.pauses}
    return [PAUSE.document(pause) for pause in found.values()]


def _by(figures: Iterable[ShardFigures], axis: CostAxis) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in figures:
        for row in each.spending:
            if row.axis is axis and row.dollars_per_hour:
                name = row.name or "none"
                found[name] = found.get(name, 0.0) + row.dollars_per_hour
    return found


def _by_capacity(figures: Iterable[ShardFigures]) -> dict[str, float]:
    found = {each.label: 0.0 for each in CapacityType if each}
    for each in figures:
        for row in each.spending:
            if row.axis is CostAxis.CLUSTER:
                label = row.capacity_type.label
                found[label] = found.get(label, 0.0) + row.dollars_per_hour
    return found


def _lasting(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
