"""What one cycle looked like from outside: a record for lines, JSON and the live view."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from bigfleet.engine.census import census_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.pauses import Pause
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, Disposition, NeedCounts, NeedRow, NeedView
from bigfleet.shard.state import ShardState
from bigfleet.sim.operator import Operator
from bigfleet.up.overdue_pods import OverduePod

_IN_TROUBLE = (NeedState.BLOCKED, NeedState.SHORT)


@dataclass(frozen=True, slots=True)
class ClusterReport:
    name: str
    connected: bool
    #: Live pods, and those that have a place.
    pods: int
    running: int
    nodes: int
    needs: int
    needs_met: int
    #: Everything the shard knows the cluster to ask for; equal while nothing changes.
    demand: frozenset[tuple[NeedKey, Resources]] = frozenset()
    #: Pods that wait although all machines of their Need are there.
    stuck: int = 0
    #: Pods that have waited for too long.
    overdue: tuple[OverduePod, ...] = ()

    @property
    def waiting(self) -> int:
        return self.pods - self.running


@dataclass(frozen=True, slots=True)
class UnmetNeed:
    """A Need that is blocked or short; one that is arriving is not listed."""

    key: NeedKey
    #: The wire's word for a short one, the code of what holds a blocked one back.
    reason: str
    #: How many cycles it has been short, victims on their way included.
    age: int
    #: Matching machines that are Idle or could be bought.
    free: int
    state: NeedState = NeedState.SHORT
    #: Why, as a sentence, and what lifts it.
    text: str = ""
    remedy: str = ""
    #: Pods that wait although its machines are there.
    stuck_pods: int = 0


@dataclass(frozen=True, slots=True)
class CycleReport:
    cycle: int
    at: Instant
    #: Wall time of the decision.
    seconds: float
    #: What was started in it, in the order of emission.
    actions: tuple[ActionView, ...]
    machines: Mapping[MachineState, int]
    dollars_per_hour: float
    #: Those of this shard.
    clusters: tuple[ClusterReport, ...]
    unmet: tuple[UnmetNeed, ...]
    #: Empty: of all of them together.
    shard: str = ""
    need_states: NeedCounts = NeedCounts()
    #: In force, each once.
    pauses: tuple[Pause, ...] = ()

    @property
    def started(self) -> Counter[ActionKind]:
        return Counter(
            action.kind for action in self.actions if action.disposition is Disposition.ENQUEUED
        )

    @property
    def needs(self) -> int:
        return sum(cluster.needs for cluster in self.clusters)


def report_of(
    state: ShardState, clusters: Iterable[tuple[Operator, tuple[OverduePod, ...]]]
) -> CycleReport:
    """The last cycle; `clusters` by their operators, with pods that have waited for too long."""
    deciding = state.decision_loop
    ledger = deciding.ledger
    needs = ledger.page().needs
    census = census_of(state.parts.machines.inventory.snapshot())
    machines: Counter[MachineState] = Counter()
    for (machine_state, _, _), count in census.by_sort.items():
        machines[machine_state] += count
    return CycleReport(
        cycle=ledger.cycle,
        at=deciding.last_at or 0,
        seconds=deciding.last_seconds,
        actions=_actions_of(state, ledger.cycle),
        machines=machines,
        dollars_per_hour=sum(census.cost.values()),
        clusters=tuple(
            _cluster(operator, overdue, needs, ledger.counts(operator.cluster.name).met)
            for operator, overdue in clusters
        ),
        unmet=tuple(map(_unmet, ledger.listing(states=_IN_TROUBLE).rows)),
        shard=state.settings.id,
        need_states=ledger.counts(),
        pauses=_each_once(state.parts.pauses.active()),
    )


def whole_of(reports: Collection[CycleReport]) -> CycleReport:
    """The last cycles of several shards as one; there is one at least."""
    machines: Counter[MachineState] = Counter()
    for report in reports:
        machines.update(report.machines)
    return CycleReport(
        cycle=max(report.cycle for report in reports),
        at=max(report.at for report in reports),
        seconds=max(report.seconds for report in reports),
        actions=tuple(action for report in reports for action in report.actions),
        machines=machines,
        dollars_per_hour=sum(report.dollars_per_hour for report in reports),
        clusters=tuple(cluster for report in reports for cluster in report.clusters),
        unmet=tuple(need for report in reports for need in report.unmet),
        need_states=NeedCounts(
            sum(report.need_states.met for report in reports),
            sum(report.need_states.arriving for report in reports),
            sum(report.need_states.blocked for report in reports),
            sum(report.need_states.short for report in reports),
        ),
        pauses=_each_once(pause for report in reports for pause in report.pauses),
    )


def _each_once(pauses: Iterable[Pause]) -> tuple[Pause, ...]:
    """One of a whole fleet comes from the command line and from the coordinator, at every shard."""
    found: dict[str, Pause] = {}
    for pause in pauses:
        found.setdefault(pause.pause_id, pause)
    return tuple(found.values())


def _actions_of(state: ShardState, cycle: int) -> tuple[ActionView, ...]:
    """From the end of what is remembered."""
    found: list[ActionView] = []
    for action in reversed(state.decision_loop.actions):
        if action.cycle != cycle:
            break
        found.append(action)
    return tuple(reversed(found))


def _cluster(
    operator: Operator, overdue: tuple[OverduePod, ...], needs: Iterable[NeedView], met: int
) -> ClusterReport:
    cluster = operator.cluster
    own = [view for view in needs if view.need.cluster == cluster.name]
    return ClusterReport(
        cluster.name,
        operator.connected,
        cluster.pods,
        cluster.running,
        sum(node.state is MachineState.CONFIGURED for node in cluster.nodes.values()),
        len(own),
        met,
        frozenset((view.need.key, view.need.aggregate) for view in own),
        sum(operator.margins.stuck.values()),
        overdue,
    )


def _unmet(row: NeedRow) -> UnmetNeed:
    assert row.state is not None, "a live shard judges every Need"
    view, supply = row.view, row.view.supply
    short = row.state is NeedState.SHORT and view.unmet_reason is not None
    return UnmetNeed(
        view.need.key,
        view.unmet_reason.value if short and view.unmet_reason else row.reason.code,
        view.unmet_age,
        supply.idle + supply.speculative if supply else 0,
        row.state,
        row.reason.text,
        row.remedy,
        row.stuck_pods,
    )
