"""Lost machines: Configured for their provider, without a living Node for their cluster.

The cluster says so, in its fresh report; the shard decides. A machine that never joined is lost
`deadlines.join` after it was Configured, by the shard's own clock; one whose Node is gone, or stays
unhealthy, as soon as it is reported. From then on it is credited to no Need, so that a replacement
starts, and it is given back: at once where no pod can run on it, through the operator's eviction
where pods may (unhealthy). It is lost no more when it leaves Configured, or when a fresh report
does not name it and its drain has not reached the provider.

A report may be wrong, so little happens at once. Laws: of one cluster at most a
fifth of the Configured machines (at least one) are lost at a time, where a machine counts until its
provider has drained it, and for 30 s at least; no unhealthy machine is given up while more than a
fifth are unhealthy (a network fault is not thirty dead machines); and a report that gives up more
than half of a cluster must hold for 5 min first.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from bigfleet.model.backoffs import nanos
from bigfleet.model.cluster_reports import ClusterReport, LostCause
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.cluster_reports import ClusterReports
from bigfleet.shard.drains.drains import Drains
from bigfleet.shard.effects import LOST, Effects
from bigfleet.shard.failures.deadline_overrides import deadlines_by_provider
from bigfleet.shard.failures.failures import Failures
from bigfleet.shard.failures.records import JOIN, UNHEALTHY
from bigfleet.shard.machines import Machines
from bigfleet.shard.offerings.offerings import Offerings
from bigfleet.shard.settings import DeadlineSettings

if TYPE_CHECKING:
    from bigfleet.shard.action_checks import ActionChecks

#: One in so many machines of a cluster may be lost at a time.
ONE_IN = 5
#: How long a mark counts, so that a provider that drains at once does not raise the rate.
COUNTS_FOR = 30 * SECOND
#: How long a report must give up more than half of a cluster before it is believed.
DOUBTED_FOR = 300 * SECOND
#: Smaller losses are believed at once, however small the cluster.
NEVER_DOUBTED = 2
#: How long a mark of an earlier life waits for its machine to be listed.
_NEVER_SEEN = 3600 * SECOND

_WORDS = {
    LostCause.NEVER_JOINED: "it never joined",
    LostCause.NODE_GONE: "its Node is gone from",
    LostCause.UNHEALTHY: "its Node stays unhealthy in",
}


class LostNeighbours(Protocol):
    """Parts that are made after this one."""

    action_checks: "ActionChecks"


@dataclass(frozen=True, slots=True)
class LostMark:
    cluster: str
    cause: LostCause
    since: Instant


class LostMachines:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        settings: DeadlineSettings,
        reports: ClusterReports,
        drains: Drains,
        failures: Failures,
        offerings: Offerings,
        born_at: Instant,
        parts: LostNeighbours,
    ) -> None:
        self._effects = effects
        self._machines = machines
        self._settings = settings
        self._settings_of = deadlines_by_provider(settings)
        self._reports = reports
        self._drains = drains
        self._failures = failures
        self._offerings = offerings
        self._parts = parts
        #: What was Configured before is timed from here on.
        self._born_at = born_at
        #: All and only the machines that are given up.
        self._marks: dict[str, LostMark] = {}
        #: Machines that have left Configured since, while their mark still counts.
        self._gone: dict[str, LostMark] = {}
        #: Machines that are reported and not given up yet.
        self.waiting = 0
        #: Clusters whose report gives up more than half of them -> since when.
        self._doubted: dict[str, Instant] = {}
        machines.watch(self._on_change)

    def __len__(self) -> int:
        return len(self._marks)

    def cause_of(self, machine: str) -> str:
        """Why it is lost; empty: it is not."""
        mark = self._marks.get(machine)
        return mark.cause.value if mark else ""

    def load(self, rows: Mapping[str, bytes]) -> None:
        """Of the last life; what became of the machines is seen with the first List."""
        for key, row in rows.items():
            try:
                self._marks[key] = msgspec.json.decode(row, type=LostMark)
            except msgspec.MsgspecError as problem:
                text = f"the stored mark of {key} cannot be read and is dropped: {problem}"
                self._effects.log("warning", "lost_unreadable", text, machine=key)
                self._effects.persist(LOST, key, None)

    def forget(self, machine: str) -> None:
        """It is another shard's by now."""
        self._end(machine)
        self._gone.pop(machine, None)

    def tick(self, at: Instant) -> None:
        for machine, mark in list(self._marks.items()):
            self._look_at(machine, mark, at)
        self._gone = {m: k for m, k in self._gone.items() if self._still_counts(m, k, at)}
        waiting, judged = 0, set()
        for cluster, report in self._reports.with_lost():
            judged.add(cluster)
            waiting += self._judge(cluster, report, at)
        self._doubted = {c: since for c, since in self._doubted.items() if c in judged}
        self._show(waiting)

    # -- machines that are lost already ----------------------------------------------------------

    def _look_at(self, machine: str, mark: LostMark, at: Instant) -> None:
        if machine not in self._machines:
            if at - mark.since >= _NEVER_SEEN:
                self._end(machine)
            return
        now = self._machines.truth(machine)
        if now.state is not MachineState.CONFIGURED or now.cluster != mark.cluster:
            self._end(machine)
            return
        fresh = self._reports.is_fresh(mark.cluster)
        if fresh and machine not in self._reports.lost(mark.cluster):
            self._recover(machine, mark, at)
            return
        # After a restart the inventory has its machines from Lists, which know no marks.
        self._machines.overdue(machine)
        if self._may_give_back(machine, mark, at):
            self._drains.give_back(machine, mark.cluster, _why(mark), _is_bare(mark), at)

    def _recover(self, machine: str, mark: LostMark, at: Instant) -> None:
        """Its Node is back; too late once the provider was told to drain it."""
        is_open = self._drains.intent(machine) is not None
        if is_open and not self._drains.call_off(machine, "its Node is back", at):
            return
        self._end(machine)
        self._machines.overdue(machine, is_overdue=False)
        text = "not lost after all: its Node is back"
        self._machines.tell(machine, at, StorySource.OPERATOR, text, mark.cluster)
        self._effects.wake()

    def _on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        known = after or before
        if known is None or known.id not in self._marks or before is None:
            return
        mark = self._marks[known.id]
        stays = after is not None and after.state is MachineState.CONFIGURED
        if not (stays and after is not None and after.cluster == mark.cluster):
            self._end(known.id)
            self._gone[known.id] = mark

    def _end(self, machine: str) -> None:
        if self._marks.pop(machine, None) is not None:
            self._effects.persist(LOST, machine, None)

    # -- machines that are reported --------------------------------------------------------------

    def _judge(self, cluster: str, report: ClusterReport, at: Instant) -> int:
        """How many of the cluster's machines have to wait."""
        lost = self._reports.lost(cluster)
        due = [m for m in sorted(lost) if m not in self._marks and self._is_due(m, lost[m], at)]
        configured = self._machines.inventory.snapshot().configured_of(cluster)
        counted = self._counted(cluster)
        if not due or self._is_doubted(cluster, len(due) + counted, configured, at):
            return len(due)
        most = max(1, configured // ONE_IN)
        reported = sum(1 for cause in lost.values() if cause is LostCause.UNHEALTHY)
        spared = max(report.nodes_not_ready, reported) > most
        given_up = 0
        for machine in due:
            if counted + given_up >= most:
                break
            if spared and lost[machine] is LostCause.UNHEALTHY:
                continue
            given_up += self._give_up(machine, LostMark(cluster, lost[machine], at), at)
        return len(due) - given_up

    def _is_due(self, machine: str, cause: LostCause, at: Instant) -> bool:
        if cause is not LostCause.NEVER_JOINED:
            return True
        allowed = self._settings_of.get(self._machines.provider_of(machine), self._settings)
        since = max(self._machines.since(machine), self._born_at)
        return at - since >= nanos(allowed.join)

    def _counted(self, cluster: str) -> int:
        marks = (*self._marks.values(), *self._gone.values())
        return sum(1 for mark in marks if mark.cluster == cluster)

    def _still_counts(self, machine: str, mark: LostMark, at: Instant) -> bool:
        drains = self._machines.state_of(machine) is MachineState.DRAINING
        return drains or at - mark.since < COUNTS_FOR

    def _is_doubted(self, cluster: str, lost: int, configured: int, at: Instant) -> bool:
        if lost <= max(NEVER_DOUBTED, configured // 2):
            self._doubted.pop(cluster, None)
            return False
        if cluster not in self._doubted:
            self._doubted[cluster] = at
            text = (
                f"{cluster} reports {lost} of its {configured} machines lost; nothing is given back"
                f" unless it still says so in {DOUBTED_FOR // SECOND} s"
            )
            self._effects.log("warning", "lost_doubted", text, cluster=cluster)
        return at - self._doubted[cluster] < DOUBTED_FOR

    def _may_give_back(self, machine: str, mark: LostMark, at: Instant) -> bool:
        cluster, bare = mark.cluster, _is_bare(mark)
        may = self._drains.may_give_back(machine, cluster, bare, at)
        return may and self._parts.action_checks.may_give_back(machine, cluster)

    def _give_up(self, machine: str, mark: LostMark, at: Instant) -> bool:
        """Whether it is lost from here on."""
        why, bare = _why(mark), _is_bare(mark)
        if not self._may_give_back(machine, mark, at):
            return False
        self._marks[machine] = mark
        self._effects.persist(LOST, machine, msgspec.json.encode(mark))
        self._machines.overdue(machine)
        machines, lost = self._machines, self._machines.truth(machine)
        machines.losses.note(lost, machines.provider_of(machine), mark.cause.value, at)
        self._machines.tell(machine, at, StorySource.OPERATOR, f"lost: {why}", mark.cluster)
        self._failures.note_lost(machine, JOIN if bare else UNHEALTHY, why, at)
        if mark.cause is LostCause.NEVER_JOINED:
            self._offerings.never_joined(self._machines.truth(machine), why, at)
        self._effects.counts.add("machines_lost_total", cause=mark.cause.value)
        self._drains.give_back(machine, mark.cluster, why, bare, at)
        self._effects.wake()
        return True

    def _show(self, waiting: int) -> None:
        self.waiting = waiting
        causes = Counter(mark.cause for mark in self._marks.values())
        for cause in LostCause:
            self._effects.counts.set("lost_machines", causes[cause], cause=cause.value)
        self._effects.counts.set("lost_machines_waiting", waiting)


def _is_bare(mark: LostMark) -> bool:
    """Without a Node there are no pods to evict."""
    return mark.cause is not LostCause.UNHEALTHY


def _why(mark: LostMark) -> str:
    return f"{_WORDS[mark.cause]} {mark.cluster}"
