"""The operator of a simulated cluster: frames of its Session in, frames out, no clock of its own.

It reports the whole demand, hands out bootstrap blobs, and gives machines back the polite way:
cordon, first acknowledgement, eviction through the disruption budgets, completion. While it is not
connected nothing happens to the nodes: no eviction goes on, nothing is cordoned or uncordoned.
"""

from dataclasses import dataclass
from typing import assert_never

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import (
    DEFAULT_GRACE_SECONDS,
    INSTRUCTION_PREFIX,
    PROTOCOL,
    RECLAIM_DONE,
    Acknowledgement,
    AvailableCapacityUpdate,
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    NodeStateUpdate,
    ReclaimAck,
    ReclaimInstruction,
    ShardFrame,
)
from bigfleet.sim.cluster import Cluster

ROLLUP_SECONDS = 10.0
#: From a change to the roll-up that tells it: several changes become one.
DEBOUNCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Report:
    """A roll-up to be sent; its bytes are the driver's business."""

    needs: tuple[Need, ...]


Said = Hello | Report | BootstrapResponse | ReclaimAck


@dataclass(slots=True)
class Drain:
    instruction: str
    machine: str
    deadline: Instant
    #: Not before the shard has the first acknowledgement.
    evicts_from: Instant


class Operator:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.connected = False
        #: Open instructions by id.
        self.drains: dict[str, Drain] = {}
        #: Acknowledged to the end; a repeat is answered and not done again.
        self._done: dict[str, int] = {}
        self._hellos_acked = 0
        #: Of this session: machines told in the replay, instructions told and acknowledged.
        self._replayed: set[str] = set()
        self._told: set[str] = set()
        self._reported_at: Instant = 0
        self._reported_version = -1
        self._changed_at: Instant | None = None
        self.reports = 0
        self.evictions = 0

    @property
    def hello(self) -> Hello:
        return Hello(self.cluster.name, f"{PROTOCOL}+{RECLAIM_DONE}")

    @property
    def replaying(self) -> bool:
        """Until the second Hello comes back, the shard is telling what it knows."""
        return self.connected and self._hellos_acked < 2

    def on_connected(self, at: Instant) -> list[Said]:
        """The first Hello is sent already; the second marks the end of the replay."""
        self.connected = True
        self._hellos_acked = 0
        self._replayed.clear()
        self._told.clear()
        return [self.hello, self._report(at)]

    def on_disconnected(self) -> None:
        self.connected = False

    def on_frame(self, frame: ShardFrame, at: Instant) -> list[Said]:
        match frame:
            case Acknowledgement(echo):
                if echo == "hello":
                    self._hellos_acked += 1
                    if self._hellos_acked == 2:
                        self._end_replay()
            case BootstrapRequest(request_id, cluster):
                blob = f"#cloud-config\n# joins {cluster or self.cluster.name}\n"
                return [BootstrapResponse(request_id, blob.encode())]
            case NodeStateUpdate():
                self._on_node_state(frame)
            case ReclaimInstruction():
                return self._on_instruction(frame, at)
            case AvailableCapacityUpdate():
                """Hints for schedulers; this one has none that reads them."""
            case _:
                assert_never(frame)
        return []

    def tick(self, at: Instant) -> list[Said]:
        """Once a second; nothing while disconnected."""
        if not self.connected:
            return []
        said: list[Said] = [] if self.replaying else self._go_on_draining(at)
        if self._rollup_is_due(at):
            said.append(self._report(at))
        return said

    # -- within ----------------------------------------------------------------------------------

    def _rollup_is_due(self, at: Instant) -> bool:
        if at - self._reported_at >= ROLLUP_SECONDS * SECOND:
            return True
        if self.cluster.demand_version == self._reported_version:
            return False
        if self._changed_at is None:
            self._changed_at = at
        return at - self._changed_at >= DEBOUNCE_SECONDS * SECOND

    def _report(self, at: Instant) -> Report:
        self._reported_at, self._changed_at = at, None
        self._reported_version = self.cluster.demand_version
        self.reports += 1
        return Report(tuple(self.cluster.needs()))

    def _on_node_state(self, update: NodeStateUpdate) -> None:
        if self.replaying:
            self._replayed.add(update.machine_id)
        node = self.cluster.on_node_state(update)
        if node is None:
            self._forget_drains(update.machine_id)
        elif update.state is MachineState.DRAINING:
            self.cluster.cordon(node)
        elif update.state is MachineState.CONFIGURED and not self.replaying:
            # The shard keeps the machine where it is: what was being given back stays.
            self._forget_drains(update.machine_id)
            self.cluster.uncordon(node)

    def _forget_drains(self, machine: str) -> None:
        for drain in [d for d in self.drains.values() if d.machine == machine]:
            del self.drains[drain.instruction]

    def _end_replay(self) -> None:
        """What the shard did not name is not ours any more; what it did not ask again is kept."""
        for node in [n for m, n in self.cluster.nodes.items() if m not in self._replayed]:
            self._forget_drains(node.machine)
            self.cluster.lose(node)
        for drain in [d for d in self.drains.values() if d.instruction not in self._told]:
            del self.drains[drain.instruction]
        draining = {drain.machine for drain in self.drains.values()}
        for node in self.cluster.nodes.values():
            if node.state is MachineState.CONFIGURED and node.machine not in draining:
                self.cluster.uncordon(node)

    def _on_instruction(self, frame: ReclaimInstruction, at: Instant) -> list[Said]:
        """A repeat within a session only shortens the grace; a session begins with all anew."""
        known, grace = frame.instruction_id, frame.grace_period_seconds
        repeated = known in self._told
        self._told.add(known)
        deadline = at + (grace if grace > 0 else DEFAULT_GRACE_SECONDS) * SECOND
        if known in self._done:
            return [] if repeated else [ReclaimAck(known, 1), ReclaimAck(known, self._done[known])]
        if known in self.drains:
            self.drains[known].deadline = min(self.drains[known].deadline, deadline)
            return [] if repeated else [ReclaimAck(known, 1)]
        nodes = [n for name in frame.nodes if (n := self.cluster.node_called(name)) is not None]
        for node in nodes:
            self.cluster.cordon(node)
            self.drains[known] = Drain(known, node.machine, deadline, at + SECOND)
        if nodes:
            return [ReclaimAck(known, len(nodes))]
        return [ReclaimAck(known, 0), *self._finish(known, len(frame.nodes))]

    def _go_on_draining(self, at: Instant) -> list[Said]:
        said: list[Said] = []
        for drain in list(self.drains.values()):
            if at < drain.evicts_from:
                continue
            node = self.cluster.nodes[drain.machine]
            before = sum(node.pods.values())
            left = self.cluster.evict(node)
            self.evictions += before - left
            if not left or at >= drain.deadline:
                del self.drains[drain.instruction]
                said += self._finish(drain.instruction, 0 if left else 1)
        return said

    def _finish(self, instruction: str, evicted: int) -> list[Said]:
        """Only instructions of our own shards are acknowledged a second time."""
        if not instruction.startswith(INSTRUCTION_PREFIX):
            return []
        self._done[instruction] = evicted
        return [ReclaimAck(instruction, evicted)]
