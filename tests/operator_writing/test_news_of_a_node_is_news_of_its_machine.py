"""A Node that comes, changes hands or goes is told to the writers of its machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import NullLog
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import NODES
from bigfleet.model.machines import MachineState
from bigfleet.operator.driving.cluster_cache import ClusterCache
from tests.kube_api import FakeApiServer, api_for
from tests.operator_writing.machines import told
from tests.operator_writing.rig import until


@dataclass
class RecordedNews:
    machines: list[str]

    def on_machine_changed(self, machine: str) -> None:
        self.machines.append(machine)

    def on_node_changed(self, name: str) -> None:
        """Not asked about here."""

    def on_pods_changed(self, node: str) -> None:
        """Not asked about here."""


@asynccontextmanager
async def knowing_of(server: FakeApiServer) -> AsyncIterator[tuple[ClusterCache, list[str]]]:
    """All caches full, two machines known by their provider ids, and what is heard from now on."""
    clock = ManualClock()
    async with api_for(server, clock) as api:
        events = Events(api, clock, NullLog(), component="operator", instance="test")
        cluster_cache = ClusterCache(
            api,
            events,
            "shop",
            clock,
            lambda: 0.5,
            NullLog(),
            Counts(),
            stale_after_seconds=60,
        )
        heard: list[str] = []
        cluster_cache.listen(RecordedNews(heard))
        task = asyncio.create_task(cluster_cache.run())
        try:
            await until(lambda: not cluster_cache.unsynced)
            for machine, provider_id in (("m-1", "i-1"), ("m-2", "i-2")):
                update = told(MachineState.CONFIGURED, machine, provider_id=provider_id)
                cluster_cache.node_map.on_node_state(update)
            yield cluster_cache, heard
        finally:
            task.cancel()
            await asyncio.wait({task})


async def test_a_node_that_comes_and_goes_is_news_of_its_machine_both_times() -> None:
    async with FakeApiServer() as server, knowing_of(server) as (_cluster_cache, heard):
        server.put(NODES, {"metadata": {"name": "n"}, "spec": {"providerID": "aws:///a/i-1"}})
        await until(lambda: heard == ["m-1"])
        server.remove(NODES, "n")
        await until(lambda: heard == ["m-1", "m-1"])


async def test_a_node_that_becomes_another_machine_is_news_of_both() -> None:
    async with FakeApiServer() as server, knowing_of(server) as (_cluster_cache, heard):
        server.put(NODES, {"metadata": {"name": "n"}, "spec": {"providerID": "aws:///a/i-1"}})
        await until(lambda: heard == ["m-1"])
        server.change(NODES, "n", {"spec": {"providerID": "aws:///a/i-2"}})
        await until(lambda: heard == ["m-1", "m-1", "m-2"])


async def test_a_node_of_no_machine_is_not_news() -> None:
    async with FakeApiServer() as server, knowing_of(server) as (cluster_cache, heard):
        server.put(NODES, {"metadata": {"name": "stranger"}, "spec": {}})
        await until(lambda: cluster_cache.node_map.node("stranger") is not None)
        assert heard == []
