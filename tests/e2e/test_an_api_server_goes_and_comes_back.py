"""An API server that is away, comes back, or has forgotten: nothing is lost and nothing made up."""

import base64

import httpx2

from tests.e2e.draining import RECLAIM, cordoned, stuck_drain, until_drained
from tests.e2e.joined import GROUP, join
from tests.e2e.requests import capacity_request
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, MakeFleet, MakeProvider, OwnCluster
from tests.e2e.rig.processes import Supervised
from tests.e2e.rig.workloads import deployment, node_name, pod_spec
from tests.shard_system.waiting import until

#: It leads and dials for as long as the API server is away, which takes as long as it takes.
PATIENT = {"lease_duration": "200s", "lease_renew": "180s", "reconnect_most": "500ms"}


def knows_requests(operator: Supervised, count: int) -> bool:
    kind = "capacityrequests"
    listed = [line["objects"] for line in operator.logged("listed") if line.get("kind") == kind]
    return listed[-1:] == [count]


def lists_of(process: Supervised, plural: str) -> int:
    return sum(line.get("kind") == plural for line in process.logged("listed"))


async def test_pods_that_wait_while_the_api_server_is_away_get_their_machines_and_no_more(
    own_cluster: OwnCluster, make_provider: MakeProvider, act: Act
) -> None:
    north = await own_cluster("north")
    fleet = await make_provider([offered("bare_metal", 4)])
    here = await join(north, fleet, act, settings=PATIENT)
    await north.apply(deployment("web", 2, pod_spec(cpu="7")))

    async def are_requested() -> bool:
        return len(await here.requests()) == 2

    await north.until(are_requested, here.podwatch.shown)
    # What it hears from a watch it need not have heard yet; what it lists when it starts it has.
    here.operator.stop()
    here.operator.start()
    await here.operator.event("lease.held")
    await until(lambda: knows_requests(here.operator, 2), here.operator.shown)
    await north.stop_api_server()
    await fleet.start_shard()
    # What the operator knows is young enough to be told: machines come without the server.
    await north.until(lambda: _are_bound(fleet, 2), here.operator.shown)
    await north.start_api_server()
    await here.until_running("web", 2)
    assert len(await fleet.bound_to("north")) == 2
    assert len(await here.requests()) == 2
    assert {node_name(pod) for pod in await north.pods()} == set(await north.nodes())
    await north.apply(deployment("web", 3, pod_spec(cpu="7")))
    await here.until_running("web", 3)


async def test_a_drain_outlives_the_api_server(
    own_cluster: OwnCluster, make_fleet: MakeFleet, act: Act
) -> None:
    north = await own_cluster("north")
    fleet = await make_fleet([offered("bare_metal", 2)])
    async with stuck_drain(north, fleet, act) as (here, node, _):
        pods = {pod["metadata"]["uid"] for pod in await north.pods()}
        await north.restart_api_server()
        refused = await here.operator.metric("bigfleet_operator_eviction_blocked_total")

        async def is_tried_again() -> bool:
            return await here.operator.metric("bigfleet_operator_eviction_blocked_total") > refused

        await north.until(is_tried_again, here.operator.shown)
        assert await cordoned(north) == [node]
        assert RECLAIM in (await north.nodes())[node]["metadata"]["annotations"]
        assert {pod["metadata"]["uid"] for pod in await north.pods()} == pods
        await until_drained(here, node)
        assert len(await fleet.bound_to("north")) == 1
        assert await cordoned(north) == []


async def test_what_was_deleted_while_the_operator_was_away_is_found_missing(
    own_cluster: OwnCluster, make_fleet: MakeFleet, act: Act
) -> None:
    """After its restart the API server no longer knows the versions the operator saw: 410."""
    north = await own_cluster("north")
    fleet = await make_fleet([offered("bare_metal", 3)])
    here = await join(north, fleet, act)
    path = f"{GROUP}/namespaces/{north.namespace}/capacityrequests"
    for number in range(3):
        await north.api.create(path, capacity_request(f"own-{number}", cpu="7"))
    await north.until(lambda: _are_bound(fleet, 3), here.operator.shown)
    listed = lists_of(here.operator, "capacityrequests")
    await north.stop_api_server()
    for number in (0, 1):
        await _forget(north, f"bigfleet.lucy.sh/capacityrequests/{north.namespace}/own-{number}")
    await north.start_api_server()
    await north.until(lambda: _are_bound(fleet, 1), here.operator.shown)
    assert lists_of(here.operator, "capacityrequests") > listed, "the server has forgotten nothing"
    await north.api.create(path, capacity_request("own-4", cpu="7"))
    await north.until(lambda: _are_bound(fleet, 2), here.operator.shown)


async def _forget(cluster: Cluster, key: str) -> None:
    """Out of etcd, behind the back of an API server that is down: no watch ever tells of it."""
    (flag,) = (
        word
        for word in cluster.plane.process("kube-apiserver").words
        if word.startswith("--etcd-servers=")
    )
    encoded = base64.b64encode(f"/registry/{key}".encode()).decode()
    async with httpx2.AsyncClient(trust_env=False) as line:
        url = f"{flag.partition('=')[2]}/v3/kv/deleterange"
        answer = await line.post(url, json={"key": encoded})
    assert answer.json().get("deleted") == "1", answer.text


async def _are_bound(fleet: Fleet, count: int) -> bool:
    return len(await fleet.bound_to("north")) == count
