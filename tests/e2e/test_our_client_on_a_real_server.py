"""Our client, caches, leases and events on the real API server the fake was made after."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from bigfleet.edge.driver import RealClock
from bigfleet.edge.logs import NullLog
from bigfleet.kube.answers import AlreadyExists, Conflict, Expired, NotFound, Refused, TooMany
from bigfleet.kube.api import Api
from bigfleet.kube.connection import open_api
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import (
    CAPACITY_REQUESTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    UPCOMING_NODES,
    crd_documents,
)
from bigfleet.kube.leases import Election
from bigfleet.kube.objects import Node, Reference
from bigfleet.kube.reflector import Reflector, everything
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.makers import OwnCluster
from tests.shard_system.waiting import until


def client(cluster: Cluster) -> Api:
    opened = partial(open_api, qps=1000, burst=1000, user_agent="bigfleet-e2e")
    return opened(str(cluster.kubeconfig), RealClock(), lambda: 0.5)


@asynccontextmanager
async def reflecting(api: Api) -> AsyncIterator[Reflector[Node, str]]:
    reflector = Reflector(api, NODES, _zone, RealClock(), lambda: 0.5, NullLog())
    task = asyncio.ensure_future(reflector.run())
    try:
        yield reflector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _zone(node: Node) -> str | None:
    return node.metadata.labels.get("zone")


def node(name: str, zone: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": {"zone": zone}}}


async def test_calls_mean_what_the_fake_makes_them_mean(east: Cluster) -> None:
    await east.apply_crds(crd_documents())
    async with client(east) as api:
        assert await api.serves(CAPACITY_REQUESTS)
        assert api.ca_bundle.startswith(b"-----BEGIN CERTIFICATE")
        spec = {"spec": {"resources": {"cpu": "4"}}}
        made = await api.create(UPCOMING_NODES, {"metadata": {"name": "u-1"}, **spec})
        with pytest.raises(AlreadyExists):
            await api.create(UPCOMING_NODES, {"metadata": {"name": "u-1"}, **spec})
        patch = {"status": {"phase": "Ready"}}
        assert (await api.merge_patch(UPCOMING_NODES, "u-1", patch)).metadata == made.metadata
        told = await api.merge_patch(UPCOMING_NODES, "u-1", patch, subresource="status")
        assert (told.status.phase, told.metadata.generation) == ("Ready", 1)
        again = await api.merge_patch(UPCOMING_NODES, "u-1", patch, subresource="status")
        assert again.metadata.resource_version == told.metadata.resource_version
        with pytest.raises(Conflict):
            await api.delete(UPCOMING_NODES, "u-1", uid="another")
        await api.delete(UPCOMING_NODES, "u-1", uid=made.metadata.uid)
        with pytest.raises(NotFound):
            await api.get(UPCOMING_NODES, "u-1")
        with pytest.raises(Refused):
            await api.create(UPCOMING_NODES, {"metadata": {"name": "u-2"}, "spec": {"taints": 7}})


async def test_a_budget_refuses_an_eviction_by_its_name(east: Cluster) -> None:
    labels = {"app": "web"}
    async with client(east) as api:
        body = {
            "metadata": {"name": "web-1", "labels": labels},
            "spec": {"containers": [{"name": "c", "image": "none"}], "nodeName": "n-1"},
        }
        # A pod on a node that is not there would be collected, sooner or later.
        await api.create(NODES, node("n-1", "a"))
        budget = {"minAvailable": 1, "selector": {"matchLabels": labels}}
        await east.apply(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "web"},
                "spec": budget,
            }
        )
        pod = await api.create(PODS, body, east.namespace)
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
        patch = {"status": ready}
        await api.merge_patch(PODS, "web-1", patch, east.namespace, subresource="status")

        async def is_counted() -> bool:
            path = f"/apis/policy/v1/namespaces/{east.namespace}/poddisruptionbudgets/web"
            found = await east.api.get(path)
            return bool(found.get("status", {}).get("currentHealthy") == 1)

        await east.until(is_counted)
        with pytest.raises(TooMany, match="The disruption budget web needs 1 healthy pods and has"):
            await api.evict(pod)


async def test_pages_and_watches_and_a_version_too_old(east: Cluster) -> None:
    await east.apply_crds(crd_documents())
    async with client(east) as api:
        for i in range(7):
            await api.create(NODES, node(f"n-{i}", "a"))
        page = await api.list_page(NODES, limit=3, label_selector="zone=a")
        assert len(page.items) == 3
        token = page.continue_token
        page = await api.list_page(NODES, limit=9, label_selector="zone=a", continue_token=token)
        assert (len(page.items), page.continue_token) == (4, "")

        async def is_too_old() -> bool:
            """Than its definition, and so than anything the server remembers of that kind."""
            try:
                await anext(api.watch(CAPACITY_REQUESTS, resource_version="1"))
            except TooMany as problem:
                # It is still filling its memory.
                if "initializing" not in problem.text:
                    raise
            except Expired:
                return True
            return False

        await east.until(is_too_old)
        async with reflecting(api) as reflector:
            await until(lambda: reflector.cache.synced)
            await until(lambda: reflector.cache.stale_seconds(RealClock().now()) == 0)
            await api.merge_patch(NODES, "n-1", {"metadata": {"labels": {"zone": "b"}}})
            await api.delete(NODES, "n-2")
            await until(lambda: len(reflector.cache.objects) == 6)
            assert sorted(reflector.cache.objects.values()) == ["a"] * 5 + ["b"]


async def test_a_cache_outlives_a_restart_of_the_server(own_cluster: OwnCluster) -> None:
    cluster = await own_cluster()
    async with client(cluster) as api, reflecting(api) as reflector:
        await until(lambda: reflector.cache.synced)
        await api.create(NODES, node("n-1", "a"))
        await until(lambda: len(reflector.cache.objects) == 1)
        await cluster.stop_api_server()
        await until(lambda: reflector.cache.stale_seconds(RealClock().now()) > 0)
        await cluster.start_api_server()
        await api.create(NODES, node("n-2", "b"))
        await until(lambda: len(reflector.cache.objects) == 2)
        found, _ = await everything(api, NODES, _zone)
        assert found == reflector.cache.objects


async def test_a_lease_and_an_event_are_taken(east: Cluster) -> None:
    clock = RealClock()
    async with client(east) as api:
        named = partial(Election, name="bigfleet-operator", namespace=east.namespace)
        election = named(api, clock, lambda: 0.5, NullLog(), identity="a", retry=0.2)
        task = asyncio.ensure_future(election.run())
        await asyncio.wait_for(election.wait_held(), 60)
        first = (await api.get(LEASES, "bigfleet-operator", east.namespace)).spec.renew_time
        async with asyncio.timeout(60):
            while True:
                lease = await api.get(LEASES, "bigfleet-operator", east.namespace)
                if lease.spec.renew_time != first:
                    break
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        lease = await api.get(LEASES, "bigfleet-operator", east.namespace)
        assert lease.spec.holder_identity == ""

        events = Events(api, clock, NullLog(), component="bigfleet-operator", instance="a")
        task = asyncio.ensure_future(events.run())
        about = Reference(api_version="v1", kind="Pod", name="p" * 250, namespace=east.namespace)
        events.tell(about, "Warning", "Tried", "x" * 3000)
        events.tell(Reference(api_version="v1", kind="Node", name="n-1"), "Normal", "Tried", "it")

        async def are_there() -> bool:
            pods = await api.list_page(EVENTS, east.namespace)
            nodes = await api.list_page(EVENTS, "default")
            return all(any(e.reason == "Tried" for e in p.items) for p in (pods, nodes))

        await east.until(are_there, lambda: events.dropped)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert events.dropped == 0
