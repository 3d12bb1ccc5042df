"""Whether an unclaimed machine may be given back now: only if its pods have a place to go.

Asked before anything is cordoned, and again whenever a pod is to be evicted. Preemptions are not
asked, and where the shard does not answer reports nothing is. The checks themselves are those of
`placement`; here lies when they are made, and what a refusal sets in motion.

A check looks at every Node, so there are only so many in a moment; who comes too late is asked
about a little later.

Whether an instruction is a preemption, or gives back an unclaimed machine.

A preemption names the priority it makes way for, but 0 is a priority too: an instruction that names
0 is a preemption only if the shard says so in its answer to a report. So such an instruction waits
for an answer that was asked for after it came. Where the shard does not answer reports, nothing is
known, and the caller lets every instruction go on as it comes.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Node
from bigfleet.model.cluster_reports import STALE_AFTER
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import INSTRUCTION_PREFIX
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.drain import Drain, DrainedCluster, NodesOfDrain
from bigfleet.operator.pods_on_nodes import PodOnNode
from bigfleet.operator.settings import OperatorSettings
from bigfleet.placement.admission import AdmissionRefusal, Admissions, RefusedBy
from bigfleet.placement.occupancy import Occupancy


class ReclaimKinds:
    """Of the instructions of one session."""

    def __init__(self) -> None:
        #: When the last answer came, or the session began; None: disconnected.
        self._heard_at: Instant | None = None
        #: When the last answer was asked for.
        self._asked_at: Instant | None = None
        self._is_unanswered = False
        self._preemptions: frozenset[str] = frozenset()

    def on_connected(self, at: Instant) -> None:
        self.on_disconnected()
        self._heard_at = at

    def on_disconnected(self) -> None:
        self._heard_at = self._asked_at = None
        self._is_unanswered = False
        self._preemptions = frozenset()

    def on_reply(self, preemptions: Collection[str], asked_at: Instant, at: Instant) -> None:
        """`preemptions`: ids of the open instructions that are preemptions."""
        if self._heard_at is not None:
            self._heard_at, self._asked_at, self._is_unanswered = at, asked_at, False
            self._preemptions = frozenset(preemptions)

    def on_unknown(self) -> None:
        """The shard does not know such reports."""
        self._is_unanswered = True

    def is_silent(self, at: Instant) -> bool:
        """Whether the shard does not answer reports, or has stopped to."""
        heard = self._heard_at
        return self._is_unanswered or (heard is not None and at - heard >= STALE_AFTER)

    def is_known(self, since: Instant) -> bool:
        """Whether the kind of an instruction that came then can be told."""
        return self._asked_at is not None and self._asked_at >= since

    def is_preemption(self, instruction_id: str) -> bool:
        """As far as is known."""
        return instruction_id in self._preemptions


#: With 500 Nodes and 20 drains a check takes 20 to 40 ms: so the process still answers others.
_MOST_CHECKS = 2
_CHECKS_WITHIN = SECOND // 4
#: Nodes that are emptied at the same time; a check costs more with each.
MOST_EMPTYING = 20
#: What is not known now may be known then.
_LOOK_AGAIN = 1 * SECOND


class RefusalListener(Protocol):
    """What revises demand: a machine that must stay is asked for."""

    def on_refused(self, refusal: AdmissionRefusal, at: Instant) -> bool:
        """True: demand has changed, and is to be sent at once."""
        ...

    def on_drain_admitted(self, node: str, at: Instant) -> None: ...


class InstructionListener(Protocol):
    """The cluster as placement sees it."""

    def on_instruction(self, machine: str, instruction: str, at: Instant) -> None:
        """An instruction to give it back was opened, or ended; empty: none is open."""
        ...


class AdmissionVerdict(Enum):
    GO = "go"
    WAIT = "wait"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class NextEvictions:
    """`called_off`: why the rest has no place any more; then there are none."""

    pods: tuple[PodOnNode, ...] = ()
    called_off: AdmissionRefusal | None = None


class ReclaimAdmission:
    def __init__(
        self,
        admissions: Admissions,
        occupancy: Occupancy,
        kinds: ReclaimKinds,
        refusals: RefusalListener,
        instructions: InstructionListener,
        settings: CurrentSettings[OperatorSettings],
    ) -> None:
        self._admissions = admissions
        self._occupancy = occupancy
        self._kinds = kinds
        self._refusals = refusals
        self._instructions = instructions
        self._settings = settings
        #: Checks since a moment.
        self._checked, self._checked_from = 0, 0

    # -- before the cordon -----------------------------------------------------------------------

    def verdict(
        self, drain: Drain, look: NodesOfDrain, cluster: DrainedCluster, at: Instant
    ) -> AdmissionVerdict:
        """REFUSED: `drain.refusal` says why. What was refused is looked at again later."""
        self.learn_kind(drain)
        if drain.is_preemption or not self._is_asked(drain, at):
            return AdmissionVerdict.GO
        if look.unknown or at >= drain.deadline or not _is_fresh(cluster, at):
            return AdmissionVerdict.WAIT
        is_empty = not look.left(cluster.pods_on_nodes)
        if is_empty and drain.refusal is None:
            return self._check(drain, look, at)
        if at < drain.look_at:
            return AdmissionVerdict.WAIT
        if self._admissions.emptying >= MOST_EMPTYING or not self._kinds.is_known(drain.asked_at):
            drain.look_at = at + _LOOK_AGAIN
            return AdmissionVerdict.WAIT
        if not self._may_check(drain, at):
            return AdmissionVerdict.WAIT
        if look.present and all(_is_marked(node, drain) for node in look.present):
            # Admitted before this process began; every eviction is checked all the same.
            return self._admit(drain, look, at)
        return self._check(drain, look, at)

    def learn_kind(self, drain: Drain) -> None:
        """A reclaim may become a preemption on the way; then nothing is checked any more."""
        if not drain.is_preemption and self._kinds.is_preemption(drain.id):
            drain.is_preemption = True
        if drain.is_preemption and drain.is_checked:
            drain.is_checked = False
            self.forget(drain.nodes)

    @property
    def delay(self) -> Instant:
        """How old an instruction must be: until then the machine may be claimed again."""
        return round(self._settings.now.admission_delay * SECOND)

    # -- after it --------------------------------------------------------------------------------

    def next_evictions(
        self,
        drain: Drain,
        look: NodesOfDrain,
        left: Collection[PodOnNode],
        cluster: DrainedCluster,
        at: Instant,
    ) -> NextEvictions:
        """Of `left`, which may be evicted now, the largest first; each only if all have a place."""
        if not _is_fresh(cluster, at):
            return NextEvictions()
        found = {pod.uid: pod for pod in left}
        views = [pod for name in look.names for pod in self._admissions.next_evictions(name, at)]
        pods = tuple(found[view.uid] for view in views if view.uid in found)
        if not pods or not self._may_check(drain, at):
            return NextEvictions()
        for name in look.names:
            refusal = self._admissions.why_called_off(name, at)
            if refusal is not None and refusal.code is RefusedBy.UNKNOWN_NODE:
                return NextEvictions()
            if refusal is not None:
                return NextEvictions(called_off=refusal)
        return NextEvictions(pods)

    def on_evicted(self, pod: PodOnNode, at: Instant) -> None:
        if (view := self._occupancy.pods.get(pod.uid)) is not None:
            self._admissions.on_evicted(view, at)

    def refused(self, refusal: AdmissionRefusal, at: Instant) -> bool:
        """True: demand has changed."""
        return self._refusals.on_refused(refusal, at)

    def note_instruction(self, machine: str, instruction: str, at: Instant) -> None:
        self._instructions.on_instruction(machine, instruction, at)

    def forget(self, nodes: Collection[str]) -> None:
        """The shard asks nothing of them any more, or the drain was called off."""
        for name in nodes:
            self._admissions.forget(name)

    # -- within ----------------------------------------------------------------------------------

    def _is_asked(self, drain: Drain, at: Instant) -> bool:
        return drain.id.startswith(INSTRUCTION_PREFIX) and not self._kinds.is_silent(at)

    def _check(self, drain: Drain, look: NodesOfDrain, at: Instant) -> AdmissionVerdict:
        for name in look.names:
            refusal = self._admissions.why_not_drained(name, at)
            if refusal is None:
                continue
            if refusal.code is RefusedBy.UNKNOWN_NODE:
                drain.look_at = at + _LOOK_AGAIN
                return AdmissionVerdict.WAIT
            drain.refusal, drain.look_at = refusal, at + self.delay
            return AdmissionVerdict.REFUSED
        return self._admit(drain, look, at)

    def _admit(self, drain: Drain, look: NodesOfDrain, at: Instant) -> AdmissionVerdict:
        drain.refusal, drain.is_checked = None, True
        for name in look.names:
            self._admissions.admit(name)
            self._refusals.on_drain_admitted(name, at)
        return AdmissionVerdict.GO

    def _may_check(self, drain: Drain, at: Instant) -> bool:
        """If not now, it is this drain's turn a moment later."""
        if at - self._checked_from >= _CHECKS_WITHIN:
            self._checked, self._checked_from = 0, at
        self._checked += 1
        if self._checked <= _MOST_CHECKS:
            return True
        drain.look_at = at + _CHECKS_WITHIN
        return False


def _is_fresh(cluster: DrainedCluster, at: Instant) -> bool:
    return cluster.nodes_are_fresh(at) and cluster.pods_are_fresh(at)


def _is_marked(node: Node, drain: Drain) -> bool:
    return node.spec.unschedulable and node.metadata.annotations.get(RECLAIM) == drain.id
