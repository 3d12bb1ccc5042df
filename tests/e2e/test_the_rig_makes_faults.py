"""The rig itself: faults on the way to an API server are met only by clients that go that way."""

import asyncio

import pytest

from tests.e2e.rig.api import KubeApi, Object, Refused
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.control_plane import ADMIN_TOKEN
from tests.e2e.rig.faulty_api import FaultyApi
from tests.e2e.rig.makers import FaultsOf
from tests.shard_system.waiting import until

PODS = "/api/v1/pods"


def line_through(faults: FaultyApi) -> KubeApi:
    return KubeApi(f"https://{faults.address}", faults.plane.certificates.ca, ADMIN_TOKEN)


async def test_a_fault_is_met_as_often_as_was_said_and_then_no_more(
    east: Cluster, faults_of: FaultsOf
) -> None:
    faults = await faults_of(east)
    throttled = faults.fail("GET", PODS, 429, times=2, retry_after=1)
    async with line_through(faults) as api:
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                await api.list(PODS)
            assert refused.value.status == 429
        assert await api.list(PODS) == []
        assert await api.list("/api/v1/nodes") == []
    assert (throttled.met, throttled.left) == (2, 0)
    assert ("GET", PODS) in faults.seen


async def test_what_is_written_passes(east: Cluster, faults_of: FaultsOf) -> None:
    faults = await faults_of(east)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
    async with line_through(faults) as api:
        await api.apply(body, east.namespace)
    kept = f"/api/v1/namespaces/{east.namespace}/configmaps/kept"
    assert await east.api.find(kept) is not None


async def test_an_expired_watch_ends_with_410_after_the_events_before_it(
    east: Cluster, faults_of: FaultsOf
) -> None:
    faults = await faults_of(east)
    events: list[Object] = []
    maps = f"/api/v1/namespaces/{east.namespace}/configmaps"
    version = (await east.api.get(maps))["metadata"]["resourceVersion"]
    async with line_through(faults) as api:

        async def follow() -> None:
            async for event in api.watch(maps, version):
                events.append(event)

        following = asyncio.create_task(follow())
        await east.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}})
        await until(lambda: events, lambda: faults.seen)
        assert faults.expire_watches() == 1
        await following
    assert events[0]["type"] == "ADDED"
    assert (events[-1]["type"], events[-1]["object"]["code"]) == ("ERROR", 410)
