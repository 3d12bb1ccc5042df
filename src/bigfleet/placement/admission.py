"""May a Node be drained although no Need waits for its machine? Only if its pods have a place.

Voluntary reclaims ask here before anything is cordoned; preemption does not. The law: a pod is
evicted only while it fits on the other usable Nodes that stay, together with every other pod that
was promised room and is not bound yet. What is checked is what `packing` reads, both for a
scheduler that fills Nodes and for one that spreads pods, as the default one does: room for the last
pod is gone if the first ones are spread over it.

A refusal names the pod that stands against it, so that its Need can be given the machine back.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.packing import TrialPlacements, decreasing
from bigfleet.placement.records import PodView

#: Pods without a place that one drain may cause at a time.
MOST_UNBOUND = 5
#: A controller that has not started a successor by then will not.
SUCCESSOR_AFTER = 30 * SECOND


class RefusedBy(StrEnum):
    NO_ROOM = "no-room"
    NO_CONTROLLER = "no-controller"
    BUDGET = "budget"
    DO_NOT_DISRUPT = "do-not-disrupt"
    UNKNOWN_NODE = "unknown-node"


@dataclass(frozen=True, slots=True)
class AdmissionRefusal:
    """Why a Node is not drained."""

    code: RefusedBy
    node: str
    sentence: str
    #: The pod that stands against it; None: the Node itself.
    pod: PodView | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget: how many pods it lets go now."""

    name: str
    allowed: int


class Budgets(Protocol):
    def budget_of(self, pod: PodView) -> Budget | None:
        """The tightest budget over this pod; None: it has none."""


class NoBudgets:
    def budget_of(self, pod: PodView) -> Budget | None:
        return None


@dataclass(slots=True)
class _Admitted:
    #: Uids of pods that are on their way out.
    evicted: set[str] = field(default_factory=set)
    #: Those whose successors have not been seen, with the time of the eviction.
    expected: list[tuple[PodView, Instant]] = field(default_factory=list)
    #: Uids of successors that were seen; bound and deleted ones are dropped when met.
    successors: set[str] = field(default_factory=set)


class Admissions:
    """Drains that were admitted, and whether one more may be."""

    def __init__(
        self,
        occupancy: Occupancy,
        budgets: Budgets | None = None,
        successor_after: Instant = SUCCESSOR_AFTER,
    ) -> None:
        self._occupancy = occupancy
        self._successor_after = successor_after
        self._budgets = budgets or NoBudgets()
        #: By Node, in the order of admission.
        self._admitted: dict[str, _Admitted] = {}

    # -- questions -------------------------------------------------------------------------------

    def why_not_drained(self, node: str, at: Instant) -> AdmissionRefusal | None:
        """None: its pods have a place to go. Nothing is noted; see `admit`."""
        if (refusal := self._why_kept(node)) is not None:
            return refusal
        pods = self._occupancy.movable_on(node)
        if not pods:
            return None
        for pod in sorted(pods, key=lambda each: each.key):
            refusal = self._why_not_moved(pod, node)
            if refusal is not None:
                return refusal
        return self._why_no_room(node, at)

    @property
    def emptying(self) -> int:
        """Admitted Nodes that still have pods to move."""
        return sum(bool(self._left_on(node)) for node in self._admitted)

    def is_admitted(self, node: str) -> bool:
        return node in self._admitted

    def why_called_off(self, node: str, at: Instant) -> AdmissionRefusal | None:
        """Of an admitted drain: why its remaining pods no longer may go, or have no place.

        Budgets are not asked again: they hold a pod for a while, since others were evicted.
        """
        if (refusal := self._why_kept(node)) is not None:
            return refusal
        for pod in sorted(self._left_on(node), key=lambda each: each.key):
            if (refusal := self._why_never_moved(pod, node)) is not None:
                return refusal
        return self._why_no_room(node, at) if self._to_be_placed(node, at) else None

    def next_evictions(self, node: str, at: Instant) -> list[PodView]:
        """Largest first, as many as leave at most five successors without a Node."""
        free = MOST_UNBOUND - len(self._unbound(node, at))
        if node not in self._admitted or free <= 0:
            return []
        view = self._occupancy.nodes.get(node)
        pods = self._left_on(node)
        whole = view.allocatable if view is not None else _sum(pods)
        return decreasing(pods, whole)[:free]

    def sizes(self) -> dict[str, int]:
        admitted = self._admitted.values()
        return {
            "admitted": len(self._admitted),
            "successors": sum(len(each.expected) + len(each.successors) for each in admitted),
        }

    # -- what happens ----------------------------------------------------------------------------

    def admit(self, node: str) -> None:
        """The drain of this Node begins; room for its pods is taken from now on."""
        self._admitted.setdefault(node, _Admitted())

    def on_evicted(self, pod: PodView, at: Instant) -> None:
        """The server has taken the eviction of a pod of an admitted drain."""
        admitted = self._admitted.get(pod.node)
        if admitted is not None and pod.uid not in admitted.evicted:
            admitted.evicted.add(pod.uid)
            admitted.expected.append((pod, at))

    def on_pod_added(self, pod: PodView) -> None:
        """A pod with a new uid: the successor of an evicted pod of the same controller, if any."""
        for admitted in self._admitted.values():
            for at, (gone, _) in enumerate(admitted.expected):
                if gone.owner and gone.owner == pod.owner and gone.uid != pod.uid:
                    del admitted.expected[at]
                    admitted.successors.add(pod.uid)
                    return

    def forget(self, node: str) -> None:
        """Its drain has ended, or was called off."""
        self._admitted.pop(node, None)

    # -- within ----------------------------------------------------------------------------------

    def _why_kept(self, node: str) -> AdmissionRefusal | None:
        """What the Node itself has against it."""
        view = self._occupancy.nodes.get(node)
        if view is None:
            return AdmissionRefusal(RefusedBy.UNKNOWN_NODE, node, f"Node {node} is not known")
        if view.do_not_disrupt:
            sentence = f"Node {node} is annotated {view.do_not_disrupt}"
            return AdmissionRefusal(RefusedBy.DO_NOT_DISRUPT, node, sentence)
        return None

    def _why_never_moved(self, pod: PodView, node: str) -> AdmissionRefusal | None:
        if pod.do_not_disrupt:
            sentence = f"pod {pod.key} is annotated {pod.do_not_disrupt}"
            return AdmissionRefusal(RefusedBy.DO_NOT_DISRUPT, node, sentence, pod)
        if not pod.owner:
            sentence = f"pod {pod.key} has no controller that would start it again"
            return AdmissionRefusal(RefusedBy.NO_CONTROLLER, node, sentence, pod)
        return None

    def _why_not_moved(self, pod: PodView, node: str) -> AdmissionRefusal | None:
        if (refusal := self._why_never_moved(pod, node)) is not None:
            return refusal
        budget = self._budgets.budget_of(pod)
        if budget is not None and budget.allowed <= 0:
            sentence = f"budget {budget.name} lets no pod go, {pod.key} among them"
            return AdmissionRefusal(RefusedBy.BUDGET, node, sentence, pod)
        return None

    def _why_no_room(self, node: str, at: Instant) -> AdmissionRefusal | None:
        """Schedulers fill Nodes or spread pods: everything must fit in both cases."""
        others = [each for each in self._admitted if each != node]
        for pack in (TrialPlacements.pack, TrialPlacements.pack_spreading):
            trial = self._occupancy.trial(without={node, *others})
            for each in (*others, node):
                for pod in self._occupancy.movable_on(each):
                    trial.leave(pod, each)
            # The scheduler has not judged these yet and places them in a moment, if they fit.
            fresh = (p for p in self._occupancy.all_waiting() if p.unschedulable_since is None)
            pack(trial, fresh)
            # All at once: a packing looks at every Node, and equal pods go on where one was placed.
            pack(trial, [pod for each in others for pod in self._to_be_placed(each, at)])
            left = pack(trial, self._to_be_placed(node, at)).left
            if left:
                return self._no_room(left[0], node, trial)
        return None

    def _no_room(self, pod: PodView, node: str, trial: TrialPlacements) -> AdmissionRefusal:
        sentence = f"pod {pod.key} would find no place on the other Nodes ({_reasons(trial, pod)})"
        return AdmissionRefusal(RefusedBy.NO_ROOM, node, sentence, pod)

    def _to_be_placed(self, node: str, at: Instant) -> list[PodView]:
        """Pods that will leave it, and those that left it and have no Node yet."""
        left = [pod for pod in self._unbound(node, at) if not _is_counted_already(pod)]
        return [*self._left_on(node), *left]

    def _left_on(self, node: str) -> list[PodView]:
        """Pods there that have not been evicted."""
        admitted = self._admitted.get(node)
        pods = self._occupancy.movable_on(node)
        if admitted is None or not admitted.evicted:
            return pods
        return [pod for pod in pods if pod.uid not in admitted.evicted]

    def _unbound(self, node: str, at: Instant) -> list[PodView]:
        """Evicted pods without a successor so far, and successors without a Node."""
        admitted = self._admitted.get(node)
        if admitted is None:
            return []
        pods = self._occupancy.pods
        # Some controllers start a successor only when the pod is gone: its time counts from then.
        expected = [(pod, at if pod.uid in pods else since) for pod, since in admitted.expected]
        admitted.expected = [e for e in expected if at - e[1] < self._successor_after]
        admitted.successors = {u for u in admitted.successors if u in pods and not pods[u].node}
        successors = [pods[uid] for uid in sorted(admitted.successors)]
        return [*(pod for pod, _ in admitted.expected), *successors]


def _is_counted_already(pod: PodView) -> bool:
    """Among the pods that the scheduler has not judged."""
    return pod.is_waiting and pod.unschedulable_since is None


def _sum(pods: Iterable[PodView]) -> Resources:
    total = Resources()
    for pod in pods:
        total = total.plus(pod.requests)
    return total


def _reasons(trial: TrialPlacements, pod: PodView) -> str:
    """What stands against the pod, most frequent first."""
    counts: Counter[str] = Counter()
    for name in trial.open_nodes:
        counts[trial.why_not(pod, name) or "the pod it must be near to came later"] += 1
    if not counts:
        return "there is no other usable Node"
    told = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:3]
    return ", ".join(f"{count} x {why}" for why, count in told)
