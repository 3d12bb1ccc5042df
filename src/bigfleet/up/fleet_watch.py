"""Judges a living fleet: demand left unmet although supply was there, stuck pods, and thrashing.

A Need may be short or blocked for a minute: that is what buying, draining and the grace of a victim
take. What a provider has run out of, or a quota withholds, is not supply. A pod may wait for
two minutes if a free machine would take it, and for ever if none would. A
machine may leave a cluster and come back when demand has changed in between, its own or that of
a cluster that took other machines from it; when it has not, one of the two moves was wrong.
"""

from collections import defaultdict

from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.model.machines import Instant
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import Disposition
from bigfleet.up.reports import CycleReport, UnmetNeed

LONGEST_UNMET_SECONDS = 60.0
NO_NEED_WAITS = "no need waits for a minute while supply is there"
NO_POD_WAITS = "no pod waits while a free machine would take it"
NO_THRASH = "no machine goes back and forth while demand stays"
ASSERTIONS = (NO_NEED_WAITS, NO_POD_WAITS, NO_THRASH)


class ShardWatch:
    """Of one shard."""

    def __init__(self) -> None:
        #: What does not hold, and a sentence, in the order in which they came true.
        self.found: list[tuple[str, str]] = []
        self._unmet_since: dict[NeedKey, Instant] = {}
        self._told: set[NeedKey] = set()
        #: Pods of which it is told that they are stuck.
        self._told_pods: set[str] = set()
        self._demand: object = None
        self._changed_at: Instant = 0
        #: (machine, cluster) -> when the machine was last reclaimed from it.
        self._reclaimed_at: dict[tuple[str, str], Instant] = {}

    @property
    def findings(self) -> list[str]:
        return [sentence for _, sentence in self.found]

    def _tell(self, assertion: str, sentence: str) -> None:
        self.found.append((assertion, sentence))

    def on_supply(self, at: Instant) -> None:
        """Machines have come from another shard or gone there: what was right may be wrong now."""
        self._changed_at = max(self._changed_at, at)

    def on_report(self, report: CycleReport) -> None:
        demand = [cluster.demand for cluster in report.clusters]
        if demand != self._demand:
            self._demand, self._changed_at = demand, report.at
        self._look_for_unmet(report)
        self._look_for_stuck(report)
        self._look_for_thrash(report)

    def _look_for_unmet(self, report: CycleReport) -> None:
        """Only Needs that supply could meet; where pods are stuck, they are judged one by one."""
        short = {need.key: need for need in report.unmet if _could_be_met(need)}
        self._told &= short.keys()
        self._unmet_since = {k: self._unmet_since.get(k, report.at) for k in short}
        for key, since in self._unmet_since.items():
            seconds = (report.at - since) / SECOND
            if seconds > LONGEST_UNMET_SECONDS and key not in self._told:
                self._told.add(key)
                self._tell(
                    NO_NEED_WAITS,
                    f"cycle {report.cycle}: need {key.need_id} of {key.cluster} has been "
                    f"{short[key].state.label} for {seconds:.0f} s {_why(short[key])}",
                )

    def _look_for_stuck(self, report: CycleReport) -> None:
        """Only pods that some free machine would take; each controller's oldest once."""
        stuck = {
            each.pod: (cluster.name, each)
            for cluster in report.clusters
            for each in cluster.overdue
            if each.machine
        }
        for pod in sorted(stuck.keys() - self._told_pods):
            name, each = stuck[pod]
            others = f" (and {each.pods - 1} like it)" if each.pods > 1 else ""
            self._tell(
                NO_POD_WAITS,
                f"cycle {report.cycle}: pod {pod} of {name}{others} has been waiting for "
                f"{each.seconds:.0f} s although {each.machine} is free and would take it; "
                f"its scheduler says: {each.verdict}",
            )
        self._told_pods = set(stuck)

    def _look_for_thrash(self, report: CycleReport) -> None:
        for action in report.actions:
            if action.disposition is not Disposition.ENQUEUED:
                continue
            key = (action.machine, action.cluster)
            if action.kind is ActionKind.RECLAIM:
                self._reclaimed_at[key] = report.at
            elif action.kind is ActionKind.BOOTSTRAP and key in self._reclaimed_at:
                left = self._reclaimed_at.pop(key)
                if self._changed_at < left:
                    self._tell(
                        NO_THRASH,
                        f"cycle {report.cycle}: {action.machine} was reclaimed from "
                        f"{action.cluster} and is bound to it again, all demand unchanged",
                    )


def _could_be_met(need: UnmetNeed) -> bool:
    if need.stuck_pods:
        return False
    if need.state is NeedState.BLOCKED:
        return not need.reason.startswith("supply.")
    return need.free > 0


def _why(need: UnmetNeed) -> str:
    if need.state is NeedState.BLOCKED:
        return f"although supply is there: {need.text}"
    return f"although {need.free} matching machines are free"


class FleetWatch:
    """Of all shards."""

    def __init__(self) -> None:
        self._watches: defaultdict[str, ShardWatch] = defaultdict(ShardWatch)

    @property
    def findings(self) -> list[str]:
        """Each names the shard where there are several."""
        several = len(self._watches) > 1
        return [
            f"{shard}, {finding}" if several else finding
            for shard, watch in sorted(self._watches.items())
            for finding in watch.findings
        ]

    @property
    def assertions(self) -> dict[str, list[str]]:
        """What is asserted, and what was found against it."""
        found: dict[str, list[str]] = {name: [] for name in ASSERTIONS}
        for _, watch in sorted(self._watches.items()):
            for name, sentence in watch.found:
                found[name].append(sentence)
        return found

    def on_report(self, report: CycleReport) -> None:
        self._watches[report.shard].on_report(report)

    def on_move(self, transfer: Transfer) -> None:
        if transfer.state is TransferState.GRANTED:
            for shard in (transfer.from_shard, transfer.to_shard):
                self._watches[shard].on_supply(transfer.updated_at)
