"""What clusters tell of themselves and their Nodes: the newest report of each, in memory only.

People see the last report until some time after its cluster's session, which also bounds how many
are kept: a cluster reports only while it has a session. The shard itself goes by fresh reports
alone: the newest of a cluster that is connected and not overdue. Where there is none, nothing is
known of a Node: its machine counts as busy and usable, and is not lost.

One cluster cannot speak of another's machines: an id counts only while its machine is Configured
for the cluster that names it. Others are ignored and counted.
"""

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass, field

from bigfleet.model.cluster_reports import (
    STALE_AFTER,
    ClusterReport,
    LostCause,
    ReceivedReport,
)
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.effects import Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.sessions.sessions import Sessions

#: How long a report outlives the session of its cluster.
KEPT_AFTER_SESSION = 600 * SECOND


@dataclass(slots=True)
class _Kept:
    report: ClusterReport
    received_at: Instant
    #: When its cluster was last seen connected.
    connected_at: Instant
    is_fresh: bool = True
    #: Of Needs that not only pods ask for, by (fingerprint, group).
    sources: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    #: Pods that wait, by (fingerprint, group) of their Need.
    stuck: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unusable: tuple[str, ...] = ()
    #: Machines that were the cluster's when it reported them, and are still.
    lost: dict[str, LostCause] = field(default_factory=dict)


class ClusterReports:
    def __init__(self, effects: Effects, machines: Machines, sessions: Sessions) -> None:
        self._effects = effects
        self._machines = machines
        self._sessions = sessions
        self._kept: dict[str, _Kept] = {}
        #: Machine -> the cluster whose fresh report says that its Node takes no pods.
        self._unusable: dict[str, str] = {}
        #: The time of the last event, even if the clock was set back; views are asked without one.
        self._at: Instant = 0
        machines.watch(self._on_change)

    def __len__(self) -> int:
        return len(self._kept)

    # -- asking ----------------------------------------------------------------------------------

    def of(self, cluster: str) -> ReceivedReport | None:
        kept = self._kept.get(cluster)
        if kept is None:
            return None
        stale = self._at - kept.received_at >= STALE_AFTER
        return ReceivedReport(kept.report, kept.received_at, stale)

    def is_fresh(self, cluster: str) -> bool:
        """Whether what is said of the cluster's Nodes and pods is about now."""
        kept = self._kept.get(cluster)
        return kept is not None and kept.is_fresh

    def fresh(self) -> Iterator[ClusterReport]:
        """The reports that are about now."""
        return (kept.report for kept in self._kept.values() if kept.is_fresh)

    def is_usable(self, machine_id: str) -> bool:
        """False: a fresh report says that its Node is missing or takes no pods."""
        return machine_id not in self._unusable

    def unusable(self) -> Set[str]:
        """Configured machines of all clusters whose Node is missing or takes no pods."""
        return self._unusable.keys()

    def stuck(self, cluster: str) -> Mapping[tuple[str, str], int]:
        """Pods that wait although the machines of their Need are there, by (fingerprint, group)."""
        kept = self._kept.get(cluster)
        return kept.stuck if kept is not None and kept.is_fresh else {}

    def sources(self) -> Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]]:
        """Of clusters that report: what asks for those Needs that not only pods ask for."""
        return {cluster: kept.sources for cluster, kept in self._kept.items()}

    def lost(self, cluster: str) -> Mapping[str, LostCause]:
        """Machines the cluster gives up, in its fresh report."""
        kept = self._kept.get(cluster)
        return kept.lost if kept is not None and kept.is_fresh else {}

    def with_lost(self) -> Iterator[tuple[str, ClusterReport]]:
        """Clusters that give machines up, with their fresh reports."""
        for cluster, kept in self._kept.items():
            if kept.is_fresh and kept.lost:
                yield cluster, kept.report

    # -- events ----------------------------------------------------------------------------------

    def take(self, report: ClusterReport, at: Instant) -> None:
        """Raises Rejected where the cluster has no session."""
        cluster = report.cluster_id
        if not self._sessions.is_open(cluster):
            text = f"cluster {cluster} has no session here; open one with Shard.Session first"
            raise Rejected(Code.FAILED_PRECONDITION, text, "session")
        self._at = at
        if (before := self._kept.get(cluster)) is not None:
            self._forget_unusable(cluster, before)
        unusable = self._its_own(cluster, "unusable", report.unusable_machines)
        self._unusable.update(dict.fromkeys(unusable, cluster))
        empty = self._its_own(cluster, "empty", report.empty_machines)
        self._machines.inventory.report_empty(cluster, empty)
        cause_of = {each.machine_id: each.cause for each in report.lost}
        self._kept[cluster] = _Kept(
            report,
            at,
            at,
            sources={(each.fingerprint, each.group): each.sources for each in report.sources},
            unusable=tuple(unusable),
            stuck={(each.fingerprint, each.group): each.pods for each in report.stuck},
            lost={name: cause_of[name] for name in self._its_own(cluster, "lost", cause_of)},
        )

    def on_session_lost(self, cluster: str) -> None:
        """What its Nodes do from here on is not known."""
        if (kept := self._kept.get(cluster)) is not None:
            self._end_freshness(cluster, kept)

    def tick(self, at: Instant) -> None:
        """Once a second."""
        self._at = at
        for cluster, kept in list(self._kept.items()):
            if self._sessions.is_open(cluster):
                kept.connected_at = at
            elif at - kept.connected_at >= KEPT_AFTER_SESSION:
                del self._kept[cluster]
            if kept.is_fresh and at - kept.received_at >= STALE_AFTER:
                self._end_freshness(cluster, kept)

    # -- within ----------------------------------------------------------------------------------

    def _its_own(self, cluster: str, list_name: str, named: Collection[str]) -> list[str]:
        if not named:
            return []
        own = self._machines.inventory.configured_for(cluster, list(named))
        if ignored := len(named) - len(own):
            self._effects.counts.add("report_machines_ignored_total", ignored, list=list_name)
        return own

    def _end_freshness(self, cluster: str, kept: _Kept) -> None:
        kept.is_fresh, kept.lost, kept.stuck = False, {}, {}
        self._forget_unusable(cluster, kept)
        self._machines.inventory.report_empty(cluster, ())

    def _forget_unusable(self, cluster: str, kept: _Kept) -> None:
        for machine in kept.unusable:
            if self._unusable.get(machine) == cluster:
                del self._unusable[machine]

    def _on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        """What was said of a machine ends when it is not Configured for that cluster any more."""
        if before is None or before.state is not MachineState.CONFIGURED:
            return
        stays = after is not None and after.state is before.state
        if stays and after is not None and after.cluster == before.cluster:
            return
        self._unusable.pop(before.id, None)
        if (kept := self._kept.get(before.cluster)) is not None:
            kept.lost.pop(before.id, None)
