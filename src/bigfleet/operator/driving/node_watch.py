"""How the fleet's machines do in the cluster: for the report, the metrics and the Events.

Each loss is told once, on the Node or on the machine's UpcomingNode; so is another autoscaler.
"""

from collections import Counter

from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import PODS, UPCOMING_NODES
from bigfleet.kube.names import upcoming_node_name
from bigfleet.kube.objects import Reference
from bigfleet.model.cluster_reports import LostCause
from bigfleet.model.machines import Instant
from bigfleet.operator.drain_steps import reference_of
from bigfleet.operator.driving.cluster_cache import ClusterCache
from bigfleet.operator.driving.write_back import WriteBack
from bigfleet.operator.machine_nodes import Loss, NodeLosses
from bigfleet.operator.other_autoscalers import autoscaler_of_node, warning
from bigfleet.operator.unplaced_pods import MachineSight


class NodeWatch:
    def __init__(
        self,
        cluster_cache: ClusterCache,
        write_back: WriteBack,
        events: Events,
        counts: Counts,
        log: Log,
    ) -> None:
        self._cluster_cache = cluster_cache
        self._machines = cluster_cache.machines
        self._write_back = write_back
        self._events = events
        self._counts = counts
        self._log = log
        #: Machines whose loss was told, with its cause, as long as they are lost.
        self._told: dict[str, LostCause] = {}
        self._repairs_held = False
        #: Other autoscalers that are there now.
        self._autoscalers: set[str] = set()

    def on_disconnected(self) -> None:
        for cause in LostCause:
            self._counts.set("machines_lost", 0, cause=cause.value)
        self._counts.set("repairs_held", 0)

    def look(self, at: Instant) -> MachineSight:
        """Once per report."""
        cluster_cache, machines = self._cluster_cache, self._machines
        self._write_back.look_again(machines.refresh_all(at))
        cluster_cache.view.on_machines(at)
        self._look_for_autoscalers()
        if not machines.is_complete:
            return MachineSight()
        losses = machines.lost(cluster_cache.nodes_are_fresh(at), at)
        self._tell(losses)
        unusable = machines.unusable()
        self._counts.set("nodes_unusable", len(unusable))
        known = cluster_cache.nodes_are_fresh(at) and cluster_cache.pods_are_fresh(at)
        empty = machines.empty(cluster_cache.pods_on_nodes) if known else ()
        return MachineSight(empty, unusable, losses.records)

    # -- within ----------------------------------------------------------------------------------

    def _tell(self, losses: NodeLosses) -> None:
        causes = Counter(each.cause for each in losses.records)
        for cause in LostCause:
            self._counts.set("machines_lost", causes[cause], cause=cause.value)
        self._counts.set("repairs_held", len(losses.held))
        for loss in losses.found:
            machine, cause = loss.lost.machine_id, loss.lost.cause
            # The shard times how long a machine may take to join; NodeMissing tells of it.
            if self._told.get(machine) is cause or cause is LostCause.NEVER_JOINED:
                continue
            text = f"machine {machine} is given up: {loss.text}"
            self._log.warning("machine.lost", msg=text, machine=machine, cause=cause.value)
            if (about := self._about(loss)) is not None:
                self._events.tell(about, "Warning", "MachineLost", text)
        self._told = {each.machine_id: each.cause for each in losses.records}
        if losses.held and not self._repairs_held:
            text = (
                f"{losses.broken} of {losses.machines} machines have broken Nodes, more than are "
                f"replaced at once: {len(losses.held)} are kept. Look at the network first"
            )
            self._log.warning("repair.held", msg=text)
        self._repairs_held = bool(losses.held)

    def _about(self, loss: Loss) -> Reference | None:
        if loss.node is not None:
            return reference_of(loss.node)
        have = self._write_back.upcoming.seen.of(upcoming_node_name(loss.lost.machine_id))
        if have is None:
            return None
        meta = have.metadata
        return Reference(
            api_version=UPCOMING_NODES.api_version,
            kind=UPCOMING_NODES.kind,
            name=meta.name,
            uid=meta.uid,
        )

    def _look_for_autoscalers(self) -> None:
        found: dict[str, Reference] = {}
        where: dict[str, str] = {}
        for _, health in self._machines.here():
            if health.node is not None and (name := autoscaler_of_node(health.node)):
                found.setdefault(name, reference_of(health.node))
                where.setdefault(name, f"it has marked Node {health.node.metadata.name}")
        for pod in self._cluster_cache.pods_on_nodes.autoscalers.values():
            key = pod.key
            about = Reference(
                api_version=PODS.api_version,
                kind=PODS.kind,
                name=key.name,
                namespace=key.namespace,
                uid=pod.uid,
            )
            found.setdefault(pod.autoscaler, about)
            where.setdefault(pod.autoscaler, f"pod {key}")
        for name in sorted(found.keys() - self._autoscalers):
            text = warning(name, where[name])
            self._counts.set("other_autoscaler", 1, autoscaler=name)
            self._log.warning("other_autoscaler", msg=text, name=name)
            self._events.tell(found[name], "Warning", "OtherAutoscaler", text)
        for name in self._autoscalers - found.keys():
            self._counts.drop("other_autoscaler", autoscaler=name)
        self._autoscalers = set(found)
