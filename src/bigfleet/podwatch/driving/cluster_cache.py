"""Reads what stands around pods: Nodes, UpcomingNodes, AvailableCapacities, volumes.

Whether the cluster knows UpcomingNodes is asked every minute. Where it does not, machines of the
fleet cannot be told from other Nodes, and every pod that runs counts.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem
from bigfleet.kube.api import Api
from bigfleet.kube.kinds import AVAILABLE_CAPACITIES, NODES, UPCOMING_NODES
from bigfleet.kube.objects import AvailableCapacity, Node, UpcomingNode
from bigfleet.kube.reflector import Cache, Reflector
from bigfleet.kube.volumes import (
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
    StorageClass,
    Volume,
    VolumeClaim,
)
from bigfleet.model.machines import Instant
from bigfleet.podwatch.affinity_terms import TermSupply, supply_of
from bigfleet.podwatch.fleet_nodes import (
    FleetNodes,
    MachineFacts,
    NodeFacts,
    machine_facts,
    node_facts,
)
from bigfleet.podwatch.volumes import (
    ClaimFacts,
    Topology,
    VolumeFacts,
    claim_facts,
    class_topology,
    volume_facts,
)

DISCOVERY_SECONDS = 60.0


class ClusterCache:
    def __init__(self, api: Api, clock: Clock, draw: Callable[[], float], log: Log) -> None:
        self._api, self._clock, self._log = api, clock, log
        line = (clock, draw, log)
        self.nodes: Reflector[Node, NodeFacts] = Reflector(api, NODES, node_facts, *line)
        self.upcoming: Reflector[UpcomingNode, MachineFacts] = Reflector(
            api, UPCOMING_NODES, machine_facts, *line
        )
        #: Hints alone: nothing waits for them.
        self.capacities: Reflector[AvailableCapacity, TermSupply] = Reflector(
            api, AVAILABLE_CAPACITIES, supply_of, *line
        )
        self.claims: Reflector[VolumeClaim, ClaimFacts] = Reflector(
            api, VOLUME_CLAIMS, claim_facts, *line
        )
        self.volumes: Reflector[Volume, VolumeFacts] = Reflector(api, VOLUMES, volume_facts, *line)
        self.classes: Reflector[StorageClass, Topology] = Reflector(
            api, STORAGE_CLASSES, class_topology, *line
        )
        self.fleet = FleetNodes()
        #: Whether the cluster knows UpcomingNodes; None: it has not said.
        self._knows_upcoming: bool | None = None
        self._trouble = ""

    async def run(self, changed: Callable[[], None]) -> None:
        """For ever. `changed`: machines can be told from other Nodes from here on, or no more."""
        async with asyncio.TaskGroup() as group:
            for each in (self.nodes, self.claims, self.volumes, self.classes):
                group.create_task(each.run())
            group.create_task(self._discover(group, changed))

    def missing(self) -> dict[str, str]:
        """What has not been read yet, and why not, where that is known."""
        read: dict[str, Reflector[Any, Any]] = {
            "nodes": self.nodes,
            "persistentvolumeclaims": self.claims,
            "persistentvolumes": self.volumes,
            "storageclasses": self.classes,
        }
        found = {name: each.trouble for name, each in read.items() if not each.cache.synced}
        if self._knows_upcoming is None:
            found["upcomingnodes"] = self._trouble
        elif self._knows_upcoming and not self.upcoming.cache.synced:
            found["upcomingnodes"] = self.upcoming.trouble
        return found

    def is_fresh(self, at: Instant) -> bool:
        """Whether everything here is what the cluster has now."""
        caches: list[Cache[Any]] = [
            each.cache for each in (self.nodes, self.claims, self.volumes, self.classes)
        ]
        if self._knows_upcoming is not False:
            caches.append(self.upcoming.cache)
        return all(each.synced and not each.stale_seconds(at) for each in caches)

    def sizes(self) -> dict[str, int]:
        return {
            "claims": len(self.claims.cache.objects),
            "volumesWithTopology": len(self.volumes.cache.objects),
            "storageClassesWithTopology": len(self.classes.cache.objects),
            "availableCapacities": len(self.capacities.cache.objects),
        }

    async def _discover(self, group: asyncio.TaskGroup, changed: Callable[[], None]) -> None:
        watched = False
        while True:
            try:
                knows = await self._api.serves(UPCOMING_NODES)
            except ApiProblem as problem:
                self._trouble = problem.text
                self._log.warning("upcoming_nodes.discovery", msg=str(problem))
            else:
                if knows and not watched:
                    watched = True
                    group.create_task(self.upcoming.run())
                    group.create_task(self.capacities.run())
                if knows != self._knows_upcoming:
                    self._tell(knows)
                    self._knows_upcoming = self.fleet.are_told_apart = knows
                    changed()
            await self._clock.sleep(DISCOVERY_SECONDS)

    def _tell(self, knows: bool) -> None:
        if knows:
            text = "pods on Nodes that are not machines of the fleet ask for nothing"
            self._log.info("upcoming_nodes.watched", msg=text)
        else:
            text = (
                "this cluster has no UpcomingNodes, so machines of the fleet cannot be told from "
                "other Nodes: every pod that runs counts as demand; it is asked again every minute"
            )
            self._log.warning("upcoming_nodes.absent", msg=text)
