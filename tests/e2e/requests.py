"""CapacityRequests without pods, one or thousands at once."""

import asyncio

from tests.e2e.joined import GROUP
from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster

_AT_ONCE = 32


def capacity_request(name: str, cpu: str = "1", **spec: object) -> Object:
    return {
        "apiVersion": "bigfleet.lucy.sh/v1alpha1",
        "kind": "CapacityRequest",
        "metadata": {"name": name},
        "spec": {"priority": 0, "resources": {"cpu": cpu, "memory": "1Gi"}, **spec},
    }


async def create_many(cluster: Cluster, requests: list[Object]) -> None:
    path = f"{GROUP}/namespaces/{cluster.namespace}/capacityrequests"
    left = iter(requests)

    async def work() -> None:
        for body in left:
            await cluster.api.create(path, body)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(work())


async def phases(cluster: Cluster) -> dict[str, int]:
    """How many requests stand where; without a status they are Pending."""
    found: dict[str, int] = {}
    path = f"{GROUP}/namespaces/{cluster.namespace}/capacityrequests"
    for request in await cluster.api.list(path):
        phase = request.get("status", {}).get("phase", "Pending")
        found[phase] = found.get(phase, 0) + 1
    return found
