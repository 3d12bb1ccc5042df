"""The rig itself: an API server goes and comes back, an account may only what its role says."""

import asyncio
import gc

import pytest
import yaml

from bigfleet.edge.clock import next_turn
from tests.e2e.pins import KUBERNETES
from tests.e2e.rig.accounts import operator_account
from tests.e2e.rig.api import ApiUnreachable, KubeApi, Refused
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.control_plane import ADMIN_TOKEN
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeProvider, OwnCluster
from tests.e2e.rig.rights import reviews_of
from tests.e2e.rig.workloads import deployment, is_ready

ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-reader}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: e2e-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: e2e-reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: NAMESPACE}
"""


async def test_an_api_server_that_restarts_has_lost_nothing_and_everybody_goes_on(
    own_cluster: OwnCluster, make_provider: MakeProvider, act: Act
) -> None:
    north = await own_cluster("north")
    fleet = await make_provider([offered("bare_metal", 2)])
    first, second = sorted(await fleet.machines())
    await fleet.configure("north", first)
    actor = await act(north, fleet)
    await north.apply(deployment("web", 1))

    async def run(count: int) -> bool:
        pods = await north.pods()
        return len(pods) == count and all(is_ready(pod) for pod in pods)

    await north.until(lambda: run(1), lambda: actor.troubles)
    before = {pod["metadata"]["uid"] for pod in await north.pods()}
    await north.stop_api_server()
    with pytest.raises(ApiUnreachable):
        await north.nodes()
    await fleet.configure("north", second)
    await north.start_api_server()
    await north.until(lambda: run(1), lambda: actor.troubles)
    assert {pod["metadata"]["uid"] for pod in await north.pods()} == before
    await north.apply(deployment("web", 9))
    await north.until(lambda: run(9), lambda: actor.troubles)
    assert len(await north.nodes()) == 2


async def test_a_question_whose_asker_is_gone_leaves_nothing_open(east: Cluster) -> None:
    """Unclosed sockets would fail the test that runs when they are collected."""
    for turns in range(0, 200, 5):
        async with KubeApi(east.plane.url, east.plane.certificates.ca, ADMIN_TOKEN) as api:
            asked = [asyncio.create_task(api.get("/api/v1/nodes")) for _ in range(4)]
            for _ in range(turns):
                await next_turn()
            for each in asked:
                each.cancel()
            await asyncio.wait(asked)
        del asked, each
        gc.collect()


def test_rights_are_awaited_rule_by_rule_where_they_are_given() -> None:
    """For whom, what and where; the authoriser of a server hears of them late."""
    (review,) = reviews_of(yaml.safe_load_all(ROLE.replace("NAMESPACE", "shop")), "shop")
    assert review["spec"]["user"] == "system:serviceaccount:shop:reader"
    asked = review["spec"]["resourceAttributes"]
    assert (asked["verb"], asked["resource"], asked["namespace"]) == ("get", "nodes", "")


async def test_a_service_account_may_what_its_role_says_and_no_more(east: Cluster) -> None:
    kubeconfig = await east.service_account_kubeconfig(
        "reader", ROLE.replace("NAMESPACE", east.namespace)
    )
    assert await east.kubectl("get", "nodes", "-o", "name", kubeconfig=kubeconfig) == ""
    with pytest.raises(AssertionError, match=r"cannot list resource \"pods\""):
        await east.kubectl("get", "pods", kubeconfig=kubeconfig)


async def test_an_operator_may_what_its_chart_says_and_no_more(east: Cluster) -> None:
    kubeconfig = await operator_account(east)
    evictions = ("auth", "can-i", "create", "pods", "--subresource=eviction")
    assert (await east.kubectl(*evictions, kubeconfig=kubeconfig)).strip() == "yes"
    with pytest.raises(AssertionError, match="auth can-i list secrets"):
        await east.kubectl("auth", "can-i", "list", "secrets", kubeconfig=kubeconfig)


async def test_the_api_server_says_the_version_that_is_pinned(east: Cluster) -> None:
    told = await east.api.get("/version")
    assert told["gitVersion"] == KUBERNETES.version
    assert KUBERNETES.version.startswith(f"v{told['major']}.{told['minor']}.")


async def test_two_clusters_know_nothing_of_each_other(east: Cluster, west: Cluster) -> None:
    await east.make_namespace("only-here")
    assert await east.api.find("/api/v1/namespaces/only-here") is not None
    assert await west.api.find("/api/v1/namespaces/only-here") is None
    with pytest.raises(Refused) as refused:
        await west.api.get("/api/v1/namespaces/only-here")
    assert refused.value.status == 404
