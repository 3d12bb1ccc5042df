"""How a simulated operator gives machines back: no pod is evicted without a place to go.

A voluntary reclaim is looked at first: an empty node goes at once, another one when the
instruction is 15 s old and its pods fit on the nodes that stay. Then the node is cordoned and
acknowledged, and its pods are evicted through their budgets, a few at a time. A refusal cordons
nothing; the pod that stands against it is told, so that its Need keeps the machine. Preemption does
not ask.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import (
    DEFAULT_GRACE_SECONDS,
    INSTRUCTION_PREFIX,
    ReclaimAck,
    ReclaimInstruction,
)
from bigfleet.placement.admission import AdmissionRefusal, Admissions
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.nodes import SimNode

#: An instruction must be this old: the shard may change its mind.
ADMITTED_AFTER = 15 * SECOND
#: Between two looks at a node that was refused, or at a drain that may have to be called off.
LOOK_AGAIN_AFTER = 5 * SECOND
#: Looks at rooms of a whole cluster in one tick: each costs as much as the cluster has nodes.
_LOOKS_PER_TICK = 5
#: Acknowledged instructions that are remembered.
_REMEMBERED = 1_000


@dataclass(slots=True)
class Drain:
    instruction: str
    machine: str
    node: str
    told_at: Instant
    deadline: Instant
    voluntary: bool
    #: None: not begun, and nothing is cordoned.
    begun_at: Instant | None = None
    looked_at: Instant | None = None


@dataclass(slots=True)
class DrainTick:
    acks: list[ReclaimAck] = field(default_factory=list)
    #: Why nodes are not drained, or not any more.
    refusals: list[AdmissionRefusal] = field(default_factory=list)
    #: Nodes whose voluntary drain has begun since the last tick.
    admitted: list[str] = field(default_factory=list)


class SimDrains:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.admissions = Admissions(cluster.occupancy, cluster)
        #: Open instructions by id.
        self.open: dict[str, Drain] = {}
        self.evictions = 0
        self.refusals = 0
        #: The pods that follow the last ones evicted without need, by name.
        self.displaced: deque[str] = deque(maxlen=_REMEMBERED)
        #: Acknowledged to the end; a repeat is answered and not done again.
        self._done: dict[str, int] = {}
        #: Nodes whose voluntary drain has begun since the last tick.
        self._admitted: list[str] = []

    def on_instruction(
        self, frame: ReclaimInstruction, at: Instant, *, repeated: bool
    ) -> list[ReclaimAck]:
        """`repeated`: within this session; that only shortens the grace."""
        known, grace = frame.instruction_id, frame.grace_period_seconds
        deadline = at + (grace if grace > 0 else DEFAULT_GRACE_SECONDS) * SECOND
        if known in self._done:
            return [] if repeated else [ReclaimAck(known, 1), ReclaimAck(known, self._done[known])]
        drain = self.open.get(known)
        if drain is not None:
            drain.deadline = min(drain.deadline, deadline)
            begun = drain.begun_at is not None
            return [ReclaimAck(known, 1)] if begun and not repeated else []
        node = next(filter(None, map(self.cluster.node_called, frame.nodes)), None)
        if node is None:
            return [ReclaimAck(known, 0), *self._finish(known, len(frame.nodes))]
        voluntary = frame.preemptor_priority == 0
        drain = self.open[known] = Drain(known, node.machine, node.name, at, deadline, voluntary)
        if voluntary and not self.cluster.occupancy.is_empty(node.name):
            self.cluster.announce(node, known, at)
            return []
        return self._begin(drain, node, at)

    def tick(self, at: Instant) -> DrainTick:
        """Begins, goes on, calls off and ends."""
        tick = DrainTick(admitted=self._admitted)
        self._admitted = []
        looks = self._due(at)
        for drain in list(self.open.values()):
            node = self.cluster.nodes[drain.machine]
            if drain.begun_at is None:
                if at >= drain.deadline:
                    self._drop(drain, at)
                elif drain.instruction in looks:
                    self._look(drain, node, at, tick)
            elif at > drain.begun_at:
                if drain.instruction in looks and self._call_off(drain, node, at, tick):
                    continue
                tick.acks += self._go_on(drain, node, at)
        return tick

    def forget_machine(self, machine: str) -> None:
        """The machine has left, or stays: what was asked about it is over."""
        for drain in [d for d in self.open.values() if d.machine == machine]:
            self._forget(drain)

    def keep_only(self, instructions: set[str]) -> None:
        """What is not among these is not asked for any more."""
        for drain in [d for d in self.open.values() if d.instruction not in instructions]:
            self._forget(drain)

    def machines(self) -> Iterator[str]:
        return (drain.machine for drain in self.open.values())

    # -- within ----------------------------------------------------------------------------------

    def _due(self, at: Instant) -> set[str]:
        """Voluntary drains that are looked at in this tick, those that waited longest first."""
        due = [
            drain
            for drain in self.open.values()
            if drain.voluntary and at - (drain.looked_at or drain.told_at) >= _wait(drain)
        ]
        due.sort(key=lambda drain: (drain.looked_at or drain.told_at, drain.instruction))
        return {drain.instruction for drain in due[:_LOOKS_PER_TICK]}

    def _look(self, drain: Drain, node: SimNode, at: Instant, tick: DrainTick) -> None:
        drain.looked_at = at
        refusal = self.admissions.why_not_drained(node.name, at)
        if refusal is None:
            tick.acks += self._begin(drain, node, at)
        else:
            self.refusals += 1
            tick.refusals.append(refusal)

    def _begin(self, drain: Drain, node: SimNode, at: Instant) -> list[ReclaimAck]:
        self.cluster.cordon(node, at, drain.instruction)
        if drain.voluntary:
            self.admissions.admit(node.name)
            self._admitted.append(node.name)
        drain.begun_at = drain.looked_at = at
        return [ReclaimAck(drain.instruction, 1)]

    def _call_off(self, drain: Drain, node: SimNode, at: Instant, tick: DrainTick) -> bool:
        """True: the pods that are left have no place any more, so they stay."""
        drain.looked_at = at
        refusal = self.admissions.why_called_off(node.name, at)
        if refusal is None:
            return False
        self.refusals += 1
        tick.refusals.append(refusal)
        self.admissions.forget(node.name)
        self.cluster.uncordon(node, at)
        self.cluster.announce(node, drain.instruction, at)
        drain.begun_at = None
        return True

    def _go_on(self, drain: Drain, node: SimNode, at: Instant) -> list[ReclaimAck]:
        occupancy = self.cluster.occupancy
        pods = (
            self.admissions.next_evictions(node.name, at)
            if drain.voluntary
            else occupancy.movable_on(node.name)
        )
        for pod, successor in self.cluster.evict(pods, at):
            self.evictions += 1
            self.admissions.on_evicted(pod, at)
            self.admissions.on_pod_added(successor)
            if drain.voluntary:
                self.displaced.append(successor.uid)
        left = not occupancy.is_empty(node.name)
        if left and at < drain.deadline:
            return []
        self._forget(drain)
        return self._finish(drain.instruction, 0 if left else 1)

    def _drop(self, drain: Drain, at: Instant) -> None:
        """Refused up to its deadline: the shard gives up as well."""
        self._forget(drain)
        self.cluster.uncordon(self.cluster.nodes[drain.machine], at)

    def _forget(self, drain: Drain) -> None:
        del self.open[drain.instruction]
        self.admissions.forget(drain.node)

    def _finish(self, instruction: str, evicted: int) -> list[ReclaimAck]:
        """Only instructions of our own shards are acknowledged a second time."""
        if not instruction.startswith(INSTRUCTION_PREFIX):
            return []
        self._done[instruction] = evicted
        while len(self._done) > _REMEMBERED:
            del self._done[next(iter(self._done))]
        return [ReclaimAck(instruction, evicted)]


def _wait(drain: Drain) -> Instant:
    return ADMITTED_AFTER if drain.looked_at is None else LOOK_AGAIN_AFTER
