"""The pod controller before a real API server, with the rights of its chart alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bigfleet.edge.driver import RealClock
from bigfleet.kube.buffers import BUFFER_KINDS
from bigfleet.kube.kinds import CAPACITY_REQUESTS, crd_documents
from bigfleet.podwatch.driving.process import PodwatchProcess
from bigfleet.podwatch.metrics import RECONCILES
from bigfleet.podwatch.settings import PodwatchSettings
from bigfleet.process import ProcessContext
from tests.e2e.rig.accounts import podwatch_account
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.workloads import CAPACITY_BUFFERS, pod, pod_spec
from tests.podwatch.pods import affinity, expression
from tests.podwatch.rig import Lines
from tests.shard_system.waiting import until

Object = dict[str, Any]

#: Left alone, so that nothing of the control plane's own is counted.
SYSTEM = ("kube-system", "kube-public", "kube-node-lease", "default")


@asynccontextmanager
async def watching(cluster: Cluster, identity: str = "a") -> AsyncIterator[PodwatchProcess]:
    await cluster.apply_crds(crd_documents())
    kubeconfig = await podwatch_account(cluster)
    settings = PodwatchSettings(str(kubeconfig), metrics_addr="0", exclude_namespaces=SYSTEM)
    context = ProcessContext(RealClock(), Lines(), draw=lambda: 0.5, identity=identity)
    process = PodwatchProcess(settings, context)
    await process.start()
    try:
        yield process
    finally:
        await process.stop()


async def requests(cluster: Cluster) -> list[Object]:
    return await cluster.api.list(CAPACITY_REQUESTS.path(cluster.namespace))


async def until_there_are(cluster: Cluster, number: int) -> list[Object]:
    async def are_there() -> bool:
        return len(await requests(cluster)) == number

    await cluster.until(are_there)
    return await requests(cluster)


def demanding(name: str) -> Object:
    """A pod with everything that a request can hold."""
    terms = [{"matchExpressions": [expression("zone", "In", each, "a")]} for each in ("b", "c")]
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "db"}}}
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    return pod(
        name,
        pod_spec(
            cpu="250m",
            nodeSelector={"disk": "ssd"},
            affinity={
                **affinity(*terms),
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
            },
            topologySpreadConstraints=[spread],
            initContainers=[
                {
                    "name": "proxy",
                    "image": "proxy",
                    "restartPolicy": "Always",
                    "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}},
                }
            ],
        ),
        annotations={"bigfleet.lucy.sh/interruption-penalty": "2.50"},
    )


async def test_a_request_is_stored_as_it_was_written_and_goes_with_its_pod(east: Cluster) -> None:
    async with watching(east):
        await east.apply(demanding("db-0"))
        (request,) = await until_there_are(east, 1)
        assert request["spec"] == {
            "requirements": [expression("disk", "In", "ssd"), expression("zone", "In", "a", "b")],
            "resources": {"cpu": "350m", "memory": "1088Mi"},
            "priority": 0,
            "interruptionPenalty": "2.50",
            "topologySpread": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            ],
            "coLocation": {
                "topologyKey": "rack",
                "labelSelector": {"matchLabels": {"app": "db"}},
            },
        }
        assert request["metadata"]["generateName"] == "cr-pod-db-0-"

        async def is_told() -> bool:
            events = await east.api.list(f"/api/v1/namespaces/{east.namespace}/events")
            return any(each["reason"] == "AffinityTermsInTurn" for each in events)

        await east.until(is_told)
    async with watching(east, "b") as second:
        await until(lambda: second.counts.of(RECONCILES, outcome="cr_exists"))
        after = (await requests(east))[0]["metadata"]
        assert after["resourceVersion"] == request["metadata"]["resourceVersion"]
        await east.api.delete(f"/api/v1/namespaces/{east.namespace}/pods/db-0")
        await until_there_are(east, 0)


async def test_a_namespace_that_is_being_deleted_is_left_to_end(east: Cluster) -> None:
    path = f"/api/v1/namespaces/{await east.make_namespace('leaving')}"
    kept = pod("web", namespace="leaving", finalizers=["e2e.bigfleet.lucy.sh/kept"])
    asked_there = CAPACITY_REQUESTS.path("leaving")

    async def is_asked_for() -> bool:
        return len(await east.api.list(asked_there)) == 1

    async with watching(east) as process:
        await east.apply(kept)
        await east.until(is_asked_for)
        try:
            await east.api.delete(path)
            # The pod stays, by its finalizer; its request goes, and cannot be made again.
            await east.api.delete_all(asked_there)
            await until(lambda: process.counts.of(RECONCILES, outcome="pod_gone"))
            assert await east.api.list(asked_there) == []
            assert await east.api.find(f"{path}/pods/web") is not None
            assert process.counts.of(RECONCILES, outcome="error") == 0
        finally:
            await east.api.patch(f"{path}/pods/web", {"metadata": {"finalizers": None}})


async def test_a_buffer_is_covered_as_its_chunks_are_acknowledged(east: Cluster) -> None:
    await east.apply_crds(CAPACITY_BUFFERS.read_text())
    template = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "chunk"},
        "template": {"metadata": {"labels": {"app": "chunk"}}, "spec": pod_spec(cpu="2")},
    }
    buffer = {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": {"name": "spare"},
        "spec": {"podTemplateRef": {"name": "chunk"}, "replicas": 3},
    }
    path = BUFFER_KINDS[0].path(east.namespace, "spare")
    async with watching(east):
        await east.apply(template, buffer)
        chunks = await until_there_are(east, 3)
        for chunk in chunks[:2]:
            name = chunk["metadata"]["name"]
            status = CAPACITY_REQUESTS.path(east.namespace, name, "status")
            await east.api.patch(status, {"status": {"phase": "Acknowledged"}})

        async def is_covered() -> bool:
            return bool((await east.api.get(path)).get("status", {}).get("replicas") == 2)

        await east.until(is_covered)
        conditions = (await east.api.get(path))["status"]["conditions"]
        assert {each["type"]: each["status"] for each in conditions} == {
            "ReadyForProvisioning": "True",
            "Provisioning": "False",
        }
        await east.api.delete(path)
        await until_there_are(east, 0)
