"""What assertions may ask about, and what is counted for the report while a simulation runs.

Machines are counted as their providers have them, pods as their clusters do: what BigFleet thinks
of them is not asked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import Disposition
from bigfleet.model.thrash import ThrashKind
from bigfleet.simulation.clusters import OperatorLine
from bigfleet.simulation.expressions import Filters, NameRule
from bigfleet.simulation.provider import SimulatedProvider
from bigfleet.simulation.shard import DecidedAction, SimulatedShard

NUMERIC = frozenset({"priority"})
_PLACE = ("cluster", "zone", "type", "capacityType")
_NEED = ("cluster", "priority", "shard")
_ACTION = ("cluster", "priority", "zone", "type", "capacityType", "shard")
_HOSTLESS = (MachineState.SPECULATIVE, MachineState.CREATING)
_KIND_OF = {
    "bootstraps": ActionKind.BOOTSTRAP,
    "provisions": ActionKind.PROVISION,
    "reclaims": ActionKind.RECLAIM,
    "preemptions": ActionKind.PREEMPT,
    "deletes": ActionKind.DELETE,
}
NAMES: Mapping[str, NameRule] = {
    "machines": NameRule("Machines that providers list.", (*_PLACE, "state")),
    "configured": NameRule("Machines in state Configured.", _PLACE),
    "idle": NameRule("Machines in state Idle.", _PLACE),
    "shortfalls": NameRule("Needs that could not be covered for cycles.", ("shard",)),
    "unmet": NameRule("Needs that are short: there is no supply for them.", _NEED),
    "blocked": NameRule("Needs that are planned and held back.", _NEED),
    "covered_not_placed": NameRule("Pods that wait though their machines are there.", ("cluster",)),
    "pods": NameRule("Pods there are.", ("cluster", "priority")),
    "pods_waiting": NameRule("Pods without a Node.", ("cluster", "priority")),
    "pods_bound_fraction": NameRule("Share of pods with a Node.", ("cluster", "priority")),
    "cost_per_hour": NameRule("Dollars an hour of machines that exist.", _PLACE),
    "cost_total": NameRule("Dollars so far."),
    "idle_cost_per_hour": NameRule("Dollars an hour of Idle machines.", _PLACE),
    "actions": NameRule("Actions begun.", (*_ACTION, "kind")),
    **{name: NameRule(f"{kind.label}s begun.", _ACTION) for name, kind in _KIND_OF.items()},
    "evictions": NameRule("Pods that drains evicted.", ("cluster",)),
    "penalties_dollars": NameRule("Declared interruption penalties of preempted machines."),
    "time_to_cover_p95": NameRule("Seconds until 95 % of waiting pods had a Node.", ("cluster",)),
    "thrash_findings": NameRule("Findings of the thrash detector.", ("shard", "kind")),
    "vetoes": NameRule("Actions the verifier stopped.", ("shard",)),
    "quarantines": NameRule("Lists and roll-ups held now.", ("shard",)),
    "journal_gaps": NameRule("Cycles and notes missing from the journal."),
    "replay_identical": NameRule("1 if every recorded cycle replays the same; known at the end."),
    "machines_owned_twice": NameRule("Machines that two shards may act on."),
}
#: Named in the format, and not known here.
UNKNOWN: Mapping[str, str] = {
    "cycle_p99": "virtual time says nothing of the engine's speed; bigfleet bench measures it",
    "regret_ratio": "its bound is not computed along a simulation",
}


class World(Protocol):
    """What figures look at: `simulator.py` `Simulator`."""

    @property
    def provider(self) -> SimulatedProvider: ...
    @property
    def shards(self) -> Mapping[str, SimulatedShard]: ...
    @property
    def clusters(self) -> Mapping[str, OperatorLine]: ...
    @property
    def now(self) -> Instant: ...


@dataclass(frozen=True, slots=True)
class Sample:
    """The numbers of a plot, at one second."""

    seconds: float
    machines: Mapping[str, int]
    cost_per_hour: float
    needs: Mapping[str, int]
    pods: int
    pods_waiting: int
    actions: int


@dataclass(slots=True)
class Figures:
    world: World
    cost_total: float = 0.0
    penalties: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    #: Begun actions by kind, cluster, priority, zone, type, capacity type and shard.
    actions: Counter[tuple[str, ...]] = field(default_factory=Counter)
    vetoes: Counter[str] = field(default_factory=Counter)
    #: Known at the end; None: not yet.
    replay_identical: float | None = None
    gaps: int = 0
    waits: dict[str, list[float]] = field(default_factory=dict)
    #: Pods that wait, by cluster and name: since when.
    _waiting: dict[str, dict[str, Instant]] = field(default_factory=dict)
    _costed_at: Instant | None = None
    _rate: float = 0.0

    # -- counting --------------------------------------------------------------------------------

    def on_cycle(self, shard: SimulatedShard, actions: Iterable[DecidedAction]) -> None:
        for each in actions:
            view, machine = each.view, each.machine
            if view.disposition is Disposition.VETOED:
                self.vetoes[shard.name] += 1
            if view.disposition is not Disposition.ENQUEUED:
                continue
            place = (machine.zone, machine.instance_type, machine.capacity_type.label)
            key = (view.kind.label, view.cluster, str(each.priority), *place, shard.name)
            self.actions[key] += 1
            if view.kind is ActionKind.PREEMPT:
                self.penalties += machine.assigned.interruption_penalty

    def sample(self, seconds: float, *, kept: bool) -> None:
        """Once a second; `kept`: for the plots."""
        now = self.world.now
        if self._costed_at is not None:
            self.cost_total += self._rate * (now - self._costed_at) / SECOND / 3600
        self._costed_at, self._rate = now, self._cost(())
        for cluster in self.world.clusters.values():
            self._follow(cluster, now)
        if kept:
            self.samples.append(self._sample(seconds))

    def _sample(self, seconds: float) -> Sample:
        states = Counter(entry.state.label for entry in self.world.provider.entries())
        needs: Counter[str] = Counter()
        for shard in self.world.shards.values():
            needs.update(state.label for _, state in shard.state.decision_loop.ledger.stands())
        clusters = [line.cluster for line in self.world.clusters.values()]
        pods = sum(each.pods for each in clusters)
        waiting = pods - sum(each.running for each in clusters)
        started = sum(self.actions.values())
        return Sample(
            seconds,
            dict(sorted(states.items())),
            round(self._rate, 6),
            dict(sorted(needs.items())),
            pods,
            waiting,
            started,
        )

    def _follow(self, line: OperatorLine, now: Instant) -> None:
        """How long pods wait from the scheduler's first refusal."""
        name, known = line.cluster.name, line.cluster.occupancy.pods
        before = self._waiting.get(name, {})
        waits = {
            pod.uid: pod.unschedulable_since
            for pod in line.cluster.waiting()
            if pod.unschedulable_since is not None
        }
        covered = self.waits.setdefault(name, [])
        for uid, since in before.items():
            if uid not in waits and uid in known and known[uid].node:
                covered.append((now - since) / SECOND)
        self._waiting[name] = waits

    # -- asking ----------------------------------------------------------------------------------

    def ask(self, name: str, filters: Filters) -> float:
        if name in _KIND_OF:
            return self._actions(filters, _KIND_OF[name].label)
        return float(_ASKED[name](self, filters))

    def _machines(self, filters: Filters, *states: MachineState) -> Iterator[float]:
        """The price of each that the filters take."""
        for entry in self.world.provider.entries():
            record = entry.record
            if states and record.state not in states:
                continue
            facts = {
                "cluster": record.cluster,
                "zone": record.zone,
                "type": record.instance_type,
                "capacityType": record.capacity_type.label,
                "state": record.state.label,
            }
            if all(each.takes(facts[each.key]) for each in filters):
                yield record.price_per_hour

    def _cost(self, filters: Filters) -> float:
        hosted = [state for state in MachineState if state not in _HOSTLESS]
        return sum(self._machines(filters, *hosted))

    def _actions(self, filters: Filters, kind: str = "") -> float:
        keys = ("kind", "cluster", "priority", "zone", "type", "capacityType", "shard")
        found = 0
        for key, count in self.actions.items():
            facts: dict[str, str | float] = dict(zip(keys, key, strict=True))
            facts["priority"] = float(key[2])
            if (not kind or key[0] == kind) and all(f.takes(facts[f.key]) for f in filters):
                found += count
        return found

    def _needs(self, filters: Filters, wanted: NeedState) -> float:
        found = 0
        for shard in self._shards(filters):
            for need, state in shard.state.decision_loop.ledger.stands():
                facts: dict[str, str | float] = {
                    "cluster": need.cluster,
                    "priority": float(need.profile.priority),
                    "shard": shard.name,
                }
                if state is wanted and all(each.takes(facts[each.key]) for each in filters):
                    found += 1
        return found

    def _pods(self, filters: Filters) -> tuple[int, int]:
        """How many there are, and how many of them have a Node."""
        pods = placed = 0
        for line in self.world.clusters.values():
            cluster = line.cluster
            for name, workload in cluster.workloads.items():
                facts: dict[str, str | float] = {
                    "cluster": cluster.name,
                    "priority": float(workload.profile.priority),
                }
                if all(each.takes(facts[each.key]) for each in filters):
                    pods += cluster.replicas[name]
                    placed += cluster.placed.get(name, 0)
        return pods, placed

    def _shards(self, filters: Filters) -> list[SimulatedShard]:
        named = [each for each in filters if each.key == "shard"]
        return [
            shard
            for shard in self.world.shards.values()
            if all(each.takes(shard.name) for each in named)
        ]

    def _clusters(self, filters: Filters) -> list[OperatorLine]:
        return [
            line
            for name, line in self.world.clusters.items()
            if all(each.takes(name) for each in filters)
        ]

    def _thrash(self, filters: Filters) -> float:
        kinds = [each for each in filters if each.key == "kind"]
        findings = (
            finding
            for shard in self._shards(filters)
            for finding in shard.state.parts.thrash.findings()
        )
        return sum(all(k.takes(_thrash_name(f.kind)) for k in kinds) for f in findings)

    def time_to_cover(self, filters: Filters, share: float) -> float:
        """Seconds; 0 where no pod ever waited."""
        waits = sorted(
            seconds
            for line in self._clusters(filters)
            for seconds in self.waits.get(line.cluster.name, ())
        )
        return waits[min(len(waits) - 1, int(share * len(waits)))] if waits else 0.0

    def owned_twice(self) -> list[str]:
        owners: Counter[str] = Counter()
        for shard in self.world.shards.values():
            owners.update(shard.state.parts.machines.ids())
        return sorted(machine for machine, count in owners.items() if count > 1)


def _thrash_name(kind: ThrashKind) -> str:
    return kind.name.lower().replace("_", "-")


def _bound_fraction(pods: int, placed: int) -> float:
    return placed / pods if pods else 1.0


_IDLE, _CONFIGURED = MachineState.IDLE, MachineState.CONFIGURED
_ASKED: Mapping[str, Callable[[Figures, Filters], float]] = {
    "machines": lambda f, by: sum(1 for _ in f._machines(by)),
    "configured": lambda f, by: sum(1 for _ in f._machines(by, _CONFIGURED)),
    "idle": lambda f, by: sum(1 for _ in f._machines(by, _IDLE)),
    "shortfalls": lambda f, by: sum(len(s.state.parts.shortfalls) for s in f._shards(by)),
    "unmet": lambda f, by: f._needs(by, NeedState.SHORT),
    "blocked": lambda f, by: f._needs(by, NeedState.BLOCKED),
    "covered_not_placed": lambda f, by: sum(
        sum(line.operator.margins.stuck.values()) for line in f._clusters(by)
    ),
    "pods": lambda f, by: f._pods(by)[0],
    "pods_waiting": lambda f, by: f._pods(by)[0] - f._pods(by)[1],
    "pods_bound_fraction": lambda f, by: _bound_fraction(*f._pods(by)),
    "cost_per_hour": Figures._cost,
    "cost_total": lambda f, by: f.cost_total,
    "idle_cost_per_hour": lambda f, by: sum(f._machines(by, _IDLE)),
    "actions": Figures._actions,
    "evictions": lambda f, by: sum(line.evictions for line in f._clusters(by)),
    "penalties_dollars": lambda f, by: f.penalties,
    "time_to_cover_p95": lambda f, by: f.time_to_cover(by, 0.95),
    "thrash_findings": Figures._thrash,
    "vetoes": lambda f, by: sum(f.vetoes[shard.name] for shard in f._shards(by)),
    "quarantines": lambda f, by: sum(len(s.state.quarantines()) for s in f._shards(by)),
    "journal_gaps": lambda f, by: f.gaps,
    "replay_identical": lambda f, by: 1.0 if f.replay_identical is None else f.replay_identical,
    "machines_owned_twice": lambda f, by: len(f.owned_twice()),
}
