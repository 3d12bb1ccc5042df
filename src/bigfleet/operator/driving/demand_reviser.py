"""Revised demand in a running operator: looks once a second, tells people, counts.

It rests without a session, before the shard has told of all machines, and while any of the caches
is behind: a pod that was placed and whose placement was not heard of is not stuck.
"""

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import PODS
from bigfleet.kube.objects import Reference
from bigfleet.model.machines import Instant
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.revised_demand import RevisedDemand
from bigfleet.operator.schedule import RollupSchedule
from bigfleet.placement.margin_notes import MarginFigures, MarginNote

LOOK_SECONDS = 1.0
_MILLI = ("cpu",)
#: Shown before the names that a cluster's own pods may choose.
_USUAL = ("cpu", "memory", "ephemeral-storage", "pods")


class DemandReviser:
    def __init__(
        self,
        cluster_cache: ClusterCache,
        demand: RevisedDemand,
        schedule: RollupSchedule,
        events: Events,
        clock: Clock,
        counts: Counts,
        log: Log,
    ) -> None:
        self._cluster_cache = cluster_cache
        self._demand = demand
        self._schedule = schedule
        self._events = events
        self._clock = clock
        self._counts = counts
        self._log = log
        self._counted = MarginFigures()

    async def run(self) -> None:
        """For ever."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self.look(self._clock.now())

    def look(self, at: Instant) -> None:
        self._cluster_cache.tell_held()
        if self._cluster_cache.book.take_moved():
            self._cluster_cache.view.on_needs_moved(at)
        if self._cluster_cache.machines.is_complete and self._cluster_cache.is_fresh(at):
            self.tell(self._demand.turn(at))
        if self._demand.is_urgent:
            self._schedule.hurry()
        self._count()

    def tell(self, notes: tuple[MarginNote, ...] | list[MarginNote]) -> None:
        for note in notes:
            say = self._log.warning if note.is_warning else self._log.info
            need = note.need.need_id if note.need is not None else ""
            pods = ", ".join(pod.key for pod in note.pods)
            say(
                "demand.revised",
                msg=note.sentence,
                reason=note.kind.value,
                need=need,
                pods=pods,
            )
            for pod in note.pods:
                namespace, _, name = pod.key.partition("/")
                about = Reference(
                    api_version=PODS.api_version,
                    kind=PODS.kind,
                    name=name,
                    namespace=namespace,
                    uid=pod.uid,
                )
                self._events.tell(
                    about,
                    "Warning" if note.is_warning else "Normal",
                    note.kind.value,
                    note.sentence,
                )

    # -- within ----------------------------------------------------------------------------------

    def _count(self) -> None:
        counts, totals = self._counts, self._demand.margin_totals()
        margins = {
            (name,): amount / 1000 if name in _MILLI else amount for name, amount in totals.items()
        }
        counts.show("margin", ("resource",), margins, first=_USUAL)
        counts.set("stuck_pods", self._demand.stuck_pods)
        now, before = self._demand.figures, self._counted
        for result in ("fruitless", "refusals", "probes", "restored", "left_empty"):
            grown = getattr(now, result) - getattr(before, result)
            if grown:
                counts.add("margin_rounds_total", max(0, grown), result=result)
        if now.rounds != before.rounds:
            counts.add("margin_rounds_total", max(0, now.rounds - before.rounds), result="raised")
        self._counted = MarginFigures(
            now.rounds,
            now.fruitless,
            now.refusals,
            now.probes,
            now.restored,
            now.left_empty,
        )
