"""Where the frames of a session go: each to the part that answers for it; none waits."""

import asyncio
from typing import assert_never

from bigfleet.edge.clock import Clock
from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import (
    Acknowledgement,
    AvailableCapacityUpdate,
    BootstrapRequest,
    NodeStateUpdate,
    ReclaimInstruction,
    ShardFrame,
)
from bigfleet.operator.acknowledgements import Acknowledgements
from bigfleet.operator.driving.acknowledge_requests import AcknowledgeRequests
from bigfleet.operator.driving.bootstrap_requests import BootstrapRequests
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.driving.cluster_reporter import ClusterReporter
from bigfleet.operator.driving.drain_runner import DrainRunner
from bigfleet.operator.driving.node_cleanup import NodeCleanup
from bigfleet.operator.driving.write_back import WriteBack
from bigfleet.operator.outbox import OperatorAnswers
from bigfleet.operator.reclaim_admission import ReclaimKinds
from bigfleet.operator.revised_demand import RevisedDemand


class FrameRouter:
    """Listens to the line, and to what changes in the cluster."""

    def __init__(
        self,
        cluster_cache: ClusterCache,
        acknowledgements: Acknowledgements,
        marking: AcknowledgeRequests,
        draining: DrainRunner,
        write_back: WriteBack,
        cleanup: NodeCleanup,
        bootstrap_requests: BootstrapRequests,
        reporting: ClusterReporter,
        demand: RevisedDemand,
        kinds: ReclaimKinds,
        clock: Clock,
        answers: OperatorAnswers,
    ) -> None:
        self._cluster_cache = cluster_cache
        self._acknowledgements = acknowledgements
        self._marking = marking
        self._draining = draining
        self._write_back = write_back
        self._cleanup = cleanup
        self._bootstrap_requests = bootstrap_requests
        self._reporting = reporting
        self._machines = cluster_cache.machines
        self._demand = demand
        self._kinds = kinds
        self._clock = clock
        self._answers = answers
        #: Blobs being made; each ends by itself, or with the session.
        self._rendering: set[asyncio.Task[None]] = set()
        cluster_cache.listen(self)

    def on_connected(self, at: Instant) -> None:
        self._kinds.on_connected(at)
        self._draining.on_connected(at)
        self._machines.on_connected()
        self._demand.on_connected(at)
        self._write_back.on_connected()
        self._cleanup.on_connected()
        self._cluster_cache.on_connected()

    def on_disconnected(self, at: Instant) -> None:
        for task in self._rendering:
            task.cancel()
        self._answers.on_disconnected()
        self._kinds.on_disconnected()
        self._draining.on_disconnected()
        self._machines.on_disconnected()
        self._demand.on_disconnected()
        self._write_back.on_disconnected()
        self._cleanup.on_disconnected()
        self._acknowledgements.on_disconnected()
        self._marking.cut_off()
        self._reporting.on_disconnected()

    def on_replay_ended(self, at: Instant) -> None:
        self._draining.on_replay_ended(at)
        self._machines.on_replay_ended()
        self._cluster_cache.view.on_machines(at)
        self._write_back.on_replay_ended()
        self._cleanup.on_replay_ended()

    def on_room(self) -> None:
        self._answers.on_room()

    def on_rollup_sent(self, at: Instant) -> None:
        if self._acknowledgements.open_rollups:
            self._reporting.on_rollup_unanswered()
        self._acknowledgements.on_sent(at)

    def on_rollup_acked(self, at: Instant) -> None:
        self._marking.acknowledge(self._acknowledgements.on_acked(at))
        self._reporting.on_rollup_acked()

    def on_frame(self, frame: ShardFrame, at: Instant) -> None:
        match frame:
            case NodeStateUpdate():
                self._cleanup.before_node_state(frame, at)
                self._draining.on_node_state(frame, at)
                self._machines.on_node_state(frame, at)
                self._cluster_cache.view.on_machine(frame.machine_id, at)
                self._write_back.on_node_state(frame)
            case ReclaimInstruction():
                self._draining.on_instruction(frame, at)
                # Whether it is a preemption, the shard says in its answer to a report.
                self._reporting.report_soon()
            case BootstrapRequest():
                task = asyncio.create_task(self._answer(frame), name="bootstrap")
                self._rendering.add(task)
                task.add_done_callback(self._rendering.discard)
            case AvailableCapacityUpdate():
                self._write_back.on_available(frame)
            case Acknowledgement():
                """The line's own business."""
            case _:
                assert_never(frame)

    async def _answer(self, request: BootstrapRequest) -> None:
        self._answers.say(await self._bootstrap_requests.answer(request))

    def on_node_changed(self, name: str) -> None:
        self._draining.on_node_changed(name, self._clock.now())

    def on_machine_changed(self, machine: str) -> None:
        at = self._clock.now()
        self._machines.refresh(machine, at)
        self._cluster_cache.view.on_machine(machine, at)
        self._write_back.look_again([machine])

    def on_pods_changed(self, node: str) -> None:
        self._draining.on_pods_changed(node, self._clock.now())
