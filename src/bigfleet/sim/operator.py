"""The operator of a simulated cluster: frames and replies in, frames and reports out, no clock.

It does what the operator of a real cluster does, with the same parts: it reports the demand with
overhead and margins, hears how its Needs stand, hands out bootstrap blobs, and gives machines back
the polite way. While it is not connected nothing happens to the nodes: no eviction goes on, nothing
is cordoned or uncordoned, no margin changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import assert_never

from bigfleet.model.cluster_reports import (
    MOST_EXAMPLES,
    REPORT_INTERVAL_SECONDS,
    ClusterReport,
    ClusterReportReply,
    LostCause,
    LostMachine,
    PodCounts,
    StuckNeed,
    UnplacedPod,
)
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import (
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
from bigfleet.placement.margins import Margins
from bigfleet.placement.overhead import Overheads, min_unit
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.drains import SimDrains

ROLLUP_SECONDS = 10.0
#: From a change to the roll-up that tells it: several changes become one.
DEBOUNCE_SECONDS = 1.0
#: Between two reports while pods wait: what they need next depends on the reply.
REPORT_WHILE_WAITING_SECONDS = 2.0
#: A shard that does not answer reports gets its roll-up all the same.
FIRST_REPLY_SECONDS = 3.0
#: A Node that is gone so long does not come back. Two minutes in a real cluster; the clusters of
#: `bigfleet up` live through a day in four.
LOST_AFTER = 20 * SECOND


@dataclass(frozen=True, slots=True)
class Rollup:
    """A roll-up to be sent; its bytes are the driver's business."""

    needs: tuple[Need, ...]


Said = Hello | Rollup | BootstrapResponse | ReclaimAck


class Operator:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.connected = False
        self.drains = SimDrains(cluster)
        self.overheads = Overheads()
        self.margins = Margins(
            cluster.name, cluster.occupancy, self.drains.admissions, self.overheads
        )
        self.rollups = 0
        self._hellos_acked = 0
        #: Of this session: machines told in the replay, instructions told.
        self._replayed: set[str] = set()
        self._told: set[str] = set()
        self._connected_at: Instant = 0
        self._sent_at: Instant | None = None
        self._changed_at: Instant | None = None
        #: Margins have changed: the next roll-up does not wait.
        self._in_haste = False
        self._reported_at: Instant | None = None
        #: What the last report said of stuck pods: a change is told at once.
        self._reported_stuck: dict[NeedKey, int] = {}
        #: What own rows were last made of.
        self._demand_made_of = (-1, -1)
        self._demand_sent = (-1, -1)

    @property
    def hello(self) -> Hello:
        return Hello(self.cluster.name, f"{PROTOCOL}+{RECLAIM_DONE}")

    @property
    def replaying(self) -> bool:
        """Until the second Hello comes back, the shard is telling what it knows."""
        return self.connected and self._hellos_acked < 2

    @property
    def has_told(self) -> bool:
        """Whether a roll-up has been sent since demand last changed."""
        return self._demand_sent[0] == self.cluster.demand_version

    # -- the session -----------------------------------------------------------------------------

    def on_connected(self, at: Instant) -> list[Said]:
        """The first Hello is sent already; the second marks the end of the replay."""
        self.connected = True
        self._connected_at = at
        self._hellos_acked = 0
        self._replayed.clear()
        self._told.clear()
        self._reported_at = None
        # A roll-up of a new process would withdraw margins that the last one had.
        first = [] if self.margins.awaits_first_reply else [self._rollup(at)]
        return [self.hello, *first]

    def on_disconnected(self) -> None:
        self.connected = False
        self.margins.on_disconnected()

    def on_frame(self, frame: ShardFrame, at: Instant) -> list[Said]:
        match frame:
            case Acknowledgement(echo):
                if echo == "hello":
                    self._hellos_acked += 1
                    if self._hellos_acked == 2:
                        self._end_replay(at)
            case BootstrapRequest(request_id, cluster):
                blob = f"#cloud-config\n# joins {cluster or self.cluster.name}\n"
                return [BootstrapResponse(request_id, blob.encode())]
            case NodeStateUpdate():
                self._on_node_state(frame, at)
            case ReclaimInstruction():
                repeated = frame.instruction_id in self._told
                self._told.add(frame.instruction_id)
                return [*self.drains.on_instruction(frame, at, repeated=repeated)]
            case AvailableCapacityUpdate():
                """Hints for schedulers; this one has none that reads them."""
            case _:
                assert_never(frame)
        return []

    def tick(self, at: Instant) -> list[Said]:
        """Once a second; nothing while disconnected."""
        if not self.connected:
            return []
        said: list[Said] = []
        if not self.replaying:
            said += self._go_on_draining(at)
        self._make_demand(at)
        if self.margins.turn(at).changed:
            self._in_haste = True
        if self._rollup_is_due(at):
            said.append(self._rollup(at))
        return said

    # -- reports ---------------------------------------------------------------------------------

    def report_is_due(self, at: Instant) -> bool:
        if not self.connected:
            return False
        if self._reported_at is None or self.margins.stuck != self._reported_stuck:
            return True
        waits = self.cluster.running < self.cluster.pods
        pause = REPORT_WHILE_WAITING_SECONDS if waits else REPORT_INTERVAL_SECONDS
        return at - self._reported_at >= pause * SECOND

    def report(self, at: Instant) -> ClusterReport:
        """What the cluster tells its shard now."""
        self._reported_at, self._reported_stuck = at, self.margins.stuck
        occupancy, stuck = self.cluster.occupancy, self.margins.stuck
        views = occupancy.nodes.values()
        empty = (occupancy.nodes[name] for name in occupancy.empty_nodes())
        gone = [node for node in self.cluster.nodes.values() if node.gone_since is not None]
        return ClusterReport(
            self.cluster.name,
            at,
            nodes_ready=sum(view.is_usable for view in views),
            nodes_missing=len(gone),
            pods_covered_not_placed=sum(stuck.values()),
            examples=tuple(islice(self._examples(), MOST_EXAMPLES)),
            empty_machines=tuple(sorted(view.machine for view in empty if view.is_usable)),
            unusable_machines=tuple(sorted(v.machine for v in views if not v.is_usable)),
            lost=tuple(
                LostMachine(node.machine, LostCause.NODE_GONE)
                for node in gone
                if node.gone_since is not None and at - node.gone_since >= LOST_AFTER
            ),
            stuck=tuple(StuckNeed(k.fingerprint, k.group, pods) for k, pods in stuck.items()),
            ask=tuple(self.margins.asks()),
            pods=PodCounts(self.cluster.running, self.cluster.pods - self.cluster.running),
        )

    def on_reply(self, reply: ClusterReportReply, at: Instant) -> list[Said]:
        first = self.margins.awaits_first_reply
        self.margins.on_reply(reply, at)
        return [self._rollup(at)] if first and self.connected else []

    def _examples(self) -> Iterator[UnplacedPod]:
        for need in self.margins.stuck:
            for pod in self.cluster.occupancy.waiting(need).values():
                yield UnplacedPod(pod.key, need.need_id, pod.verdict)

    # -- within ----------------------------------------------------------------------------------

    def _make_demand(self, at: Instant) -> None:
        """Own rows: sums of requests, with the overhead of a node in their units."""
        made_of = (self.cluster.demand_version, self.cluster.occupancy.nodes_version)
        if made_of == self._demand_made_of:
            return
        if made_of[1] != self._demand_made_of[1]:
            self.overheads.look(self.cluster.occupancy, at)
        self._demand_made_of = made_of
        kinds, otherwise = self.overheads.kinds(), self.overheads.of_cluster()
        self.margins.on_demand(
            replace(need, min_unit=min_unit(need.min_unit, kinds, otherwise))
            for need in self.cluster.needs()
        )

    def _rollup_is_due(self, at: Instant) -> bool:
        if self._sent_at is None:
            return at - self._connected_at >= FIRST_REPLY_SECONDS * SECOND
        if self._in_haste or at - self._sent_at >= ROLLUP_SECONDS * SECOND:
            return True
        if self.cluster.demand_version == self._demand_sent[0]:
            return False
        if self._changed_at is None:
            self._changed_at = at
        return at - self._changed_at >= DEBOUNCE_SECONDS * SECOND

    def _rollup(self, at: Instant) -> Rollup:
        self._make_demand(at)
        rows = self.margins.rows(at)
        self.margins.on_sent(rows, at)
        self._sent_at, self._changed_at, self._in_haste = at, None, False
        self._demand_sent = self._demand_made_of
        self.rollups += 1
        return Rollup(rows)

    def _on_node_state(self, update: NodeStateUpdate, at: Instant) -> None:
        if self.replaying:
            self._replayed.add(update.machine_id)
        node = self.cluster.on_node_state(update, at)
        if node is None:
            self.drains.forget_machine(update.machine_id)
        elif update.state is MachineState.CONFIGURED and not self.replaying:
            # The shard keeps the machine where it is: what was being given back stays.
            self.drains.forget_machine(update.machine_id)
            self.cluster.uncordon(node, at)

    def _end_replay(self, at: Instant) -> None:
        """What the shard did not name is not ours any more; what it did not ask again is kept."""
        for node in [n for m, n in self.cluster.nodes.items() if m not in self._replayed]:
            self.drains.forget_machine(node.machine)
            self.cluster.lose(node, at)
        self.drains.keep_only(self._told)
        draining = set(self.drains.machines())
        for node in self.cluster.nodes.values():
            if node.state is MachineState.CONFIGURED and node.machine not in draining:
                self.cluster.uncordon(node, at)

    def _go_on_draining(self, at: Instant) -> list[ReclaimAck]:
        tick = self.drains.tick(at)
        for refusal in tick.refusals:
            if self.margins.on_refused(refusal, at):
                self._in_haste = True
        for node in tick.admitted:
            self.margins.on_drain_admitted(node, at)
        return tick.acks
