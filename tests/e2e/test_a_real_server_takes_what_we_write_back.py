"""UpcomingNodes, AvailableCapacities and bootstrap tokens, with the rights of the chart alone."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bigfleet.edge.clock import settle
from bigfleet.edge.counts import Counts
from bigfleet.edge.driver import RealClock
from bigfleet.edge.logs import NullLog
from bigfleet.kube.api import Api
from bigfleet.kube.connection import open_api
from bigfleet.kube.kinds import AVAILABLE_CAPACITIES, UPCOMING_NODES, crd_documents
from bigfleet.kube.names import available_capacity_name
from bigfleet.kube.objects import AvailableCapacity, Node, UpcomingNode
from bigfleet.kube.reflector import Reflector
from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.session_frames import AvailableCapacityUpdate, Confidence
from bigfleet.operator.driving.tokens import BootstrapTokens
from bigfleet.operator.driving.write_back import WriteBack
from tests.e2e.rig.accounts import operator_account
from tests.e2e.rig.api import KubeApi, Object
from tests.e2e.rig.cluster import Cluster
from tests.operator_writing.machines import KnownDrains, ReadyNodes, node, told
from tests.operator_writing.rig import KnownCluster, ToldEvents, until

S = MachineState


@asynccontextmanager
async def api_of(cluster: Cluster, *, mints_tokens: bool = False) -> AsyncIterator[Api]:
    await cluster.apply_crds(crd_documents())
    kubeconfig = await operator_account(cluster, mints_tokens=mints_tokens)
    api = open_api(
        str(kubeconfig), RealClock(), lambda: 0.5, qps=1000, burst=1000, user_agent="e2e"
    )
    try:
        yield api
    finally:
        await api.close()


@asynccontextmanager
async def writing_back(
    api: Api, nodes: dict[str, Node], counts: Counts
) -> AsyncIterator[WriteBack]:
    clock, log = RealClock(), NullLog()
    upcoming: Reflector[UpcomingNode, UpcomingNode] = Reflector(
        api, UPCOMING_NODES, lambda found: found, clock, lambda: 0.5, log
    )
    available: Reflector[AvailableCapacity, AvailableCapacity] = Reflector(
        api, AVAILABLE_CAPACITIES, lambda found: found, clock, lambda: 0.5, log
    )
    known = KnownCluster(upcoming, available, ReadyNodes(nodes))
    write_back = WriteBack(api, clock, lambda: 0.5, log, counts, known, KnownDrains(), ToldEvents())
    work = (upcoming.run(), available.run(), write_back.run())
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await until(lambda: upcoming.cache.synced and available.cache.synced)
        write_back.on_connected()
        yield write_back
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def written(counts: Counts) -> dict[str, float]:
    """Writes of UpcomingNodes by what and how they ended."""
    return {
        " ".join(value for _, value in labels): number
        for (name, labels), number in counts.counters.items()
        if name == "upcoming_node_writes_total"
    }


async def test_a_machine_s_life_is_nine_writes_to_a_real_server(east: Cluster) -> None:
    counts, nodes = Counts(), {"a/b": node("node-1", "uid-1", ready=False)}
    async with api_of(east) as api, writing_back(api, nodes, counts) as write_back:
        for state in (S.CREATING, S.IDLE, S.CONFIGURING, S.CONFIGURED):
            write_back.on_node_state(told(state, "a/b", provider_id="i-7"))
            await until(lambda: write_back.writer.is_idle)
        nodes["a/b"] = node("node-1", "uid-1")
        write_back.look_again(["a/b"])
        await until(lambda: write_back.writer.is_idle)
        shown = (await east.kubectl("get", "upn", "--no-headers")).split()
        assert shown[:3] == ["un-a-b-c14cddc033", "Ready", "node-1"]
        for state in (S.DRAINING, S.IDLE):
            write_back.on_node_state(told(state, "a/b", provider_id="i-7"))
            await until(lambda: write_back.writer.is_idle)
    assert written(counts) == {
        "create success": 1,
        "status_update success": 7,
        "delete success": 1,
    }
    assert await east.api.list(UPCOMING_NODES.path()) == []


async def test_a_successor_writes_nothing_and_sweeps_what_the_shard_does_not_name(
    east: Cluster,
) -> None:
    machines = [f"m-{number}" for number in range(20)]
    nodes: dict[str, Node] = {machines[19]: node("node-19", "uid-19")}
    async with api_of(east) as api:
        async with writing_back(api, nodes, Counts()) as first:
            for machine in machines:
                first.on_node_state(told(S.CONFIGURED, machine))
            await until(lambda: first.writer.is_idle)
        counts = Counts()
        async with writing_back(api, nodes, counts) as second:
            for machine in machines[:18]:
                second.on_node_state(told(S.CONFIGURED, machine))
            second.on_replay_ended()
            await until(lambda: second.writer.is_idle)
    assert written(counts) == {"delete success": 1, "status_update success": 1}
    left = await east.api.list(UPCOMING_NODES.path())
    assert len(left) == 19
    assert [o["metadata"]["name"] for o in left if o["status"]["phase"] == "Failed"] == ["un-m-19"]


async def test_available_capacity_is_as_the_schema_wants_it(east: Cluster) -> None:
    requirements = (
        Requirement.of("zone", Operator.IN, ["a", "b"]),
        Requirement("rack", Operator.SAME),
    )
    async with api_of(east) as api, writing_back(api, {}, Counts()) as write_back:
        for count, confidence in ((3, Confidence.HIGH), (0, Confidence.NONE)):
            update = AvailableCapacityUpdate("p=1", requirements, count, confidence, 1e-07)
            write_back.on_available(update)
            await until(lambda: write_back.writer.is_idle)
    name = available_capacity_name("available:p=1")
    found = await east.api.get(AVAILABLE_CAPACITIES.path(name=name))
    assert found["spec"] == {
        "availability": "None",
        "availableCount": 0,
        "cost": "0.0000001",
        "resources": {},
        "requirements": [
            {"key": "zone", "operator": "In", "values": ["a", "b"]},
            {"key": "rack", "operator": "Exists"},
        ],
    }


async def test_a_token_lets_its_bearer_in_as_a_bootstrapper(east: Cluster) -> None:
    async with api_of(east, mints_tokens=True) as api:
        tokens = BootstrapTokens(
            api, RealClock(), secrets.token_bytes, NullLog(), cluster_id="east"
        )
        token = await tokens.token()
        bearer = KubeApi(east.plane.url, east.plane.certificates.ca, token.text)
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        told: list[Object] = []

        async def is_let_in() -> bool:
            """The server learns of the Secret late, and knows no such bearer until then."""
            told.append(await bearer.create(path, review))
            return True

        await east.until(is_let_in)
        await bearer.close()
        (user,) = [each["status"]["userInfo"] for each in told]
        assert user["username"] == f"system:bootstrap:{token.id}"
        assert "system:bootstrappers:bigfleet" in user["groups"]
        secret = f"/api/v1/namespaces/kube-system/secrets/{token.object_name}"
        assert await east.api.find(secret) is not None
        # One that lives for no time at all is swept at once, without a right to list.
        short = BootstrapTokens(
            api, RealClock(), secrets.token_bytes, NullLog(), cluster_id="east", ttl_seconds=0
        )
        swept = await short.token()
        await settle()
        await short.sweep()
        assert await east.api.find(secret.replace(token.id, swept.id)) is None
        await east.api.delete(secret)
