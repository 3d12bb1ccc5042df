"""`bigfleet why pod/...` with a real API server and its scheduler: short, covered, bound."""

import json
from typing import Any

from tests.cli.shard_commands.rig import run
from tests.e2e.joined import JoinedCluster, join
from tests.e2e.placed import OPERATOR_HASTE, PODWATCH_HASTE
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import node_name, pod, pod_spec

#: The scheduler knows this taint of a Node, and no one told the fleet of it.
TAINT = {"key": "example.com/team", "value": "other", "effect": "NoSchedule"}


async def why(here: JoinedCluster, name: str) -> dict[str, Any]:
    cluster = here.cluster
    result = await run(
        *("why", f"pod/{cluster.name}/{cluster.namespace}/{name}", "-o", "json"),
        *("--kubeconfig", str(cluster.kubeconfig), "--shard", here.fleet.shard_address),
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


async def until_verdict(here: JoinedCluster, name: str, verdict: str) -> dict[str, Any]:
    """Told once the operator and the shard have heard of it."""
    told: dict[str, Any] = {}

    async def is_so() -> bool:
        told.clear()
        told.update(await why(here, name))
        return bool(told["verdict"] == verdict)

    await here.cluster.until(is_so, lambda: (told, here.operator.shown()))
    return told


async def test_a_pod_tells_that_the_fleet_is_short_that_it_is_covered_and_where_it_runs(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    """One machine of 7.5 cpus. The first pod runs on it; the second is one too many; the third
    would fit, but its Node has a taint by then. The operator is told to leave stuck pods alone."""
    fleet = await make_fleet([offered("bare_metal", 1)])
    patience = {"stuck_grace": "1h"}
    here = await join(east, fleet, act, settings=patience, podwatch_settings=PODWATCH_HASTE)
    await east.apply(pod("first", pod_spec(cpu="5")))
    await here.until_running("first", 1)
    (machine,) = await fleet.bound_to("east")

    bound = await until_verdict(here, "first", "BOUND")
    (running,) = await east.pods("app=first")
    assert (bound["node"], bound["machine"]) == (node_name(running), machine)
    assert f"machine/{machine}" in bound["sentence"]

    await east.apply(pod("second", pod_spec(cpu="7")))
    short = await until_verdict(here, "second", "SHORT")
    assert "Insufficient cpu" in short["schedulerText"]
    assert short["need"]["view"]["satisfied"] is False
    assert short["sentence"] == short["need"]["sentence"]
    await east.api.delete(f"/api/v1/namespaces/{east.namespace}/pods/second")

    path = f"/api/v1/nodes/{bound['node']}"
    await east.api.patch(path, {"spec": {"taints": [TAINT]}})
    await east.apply(pod("third", pod_spec(cpu="1")))
    covered = await until_verdict(here, "third", "COVERED_NOT_PLACED")
    assert covered["sentence"].startswith("the scheduler says: 0/1 nodes are available: ")
    assert "untolerated taint" in covered["sentence"]
    steps = {each["name"]: each for each in covered["steps"]}
    assert steps["nodes"]["text"].endswith(f"is Ready, node {bound['node']}")


async def test_a_pod_that_fits_nowhere_tells_what_more_was_asked_for_it(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    """Three pods of 5 cpus are 15 cpus: two machines of 7.5 have them. One pod is left over, and
    there is no third machine for the margin that the operator asks for."""
    fleet = await make_fleet([offered("bare_metal", 2)])
    here = await join(east, fleet, act, settings=OPERATOR_HASTE, podwatch_settings=PODWATCH_HASTE)
    await east.apply(*(pod(name, pod_spec(cpu="5")) for name in ("a", "b", "c")))
    waiting: list[str] = []

    async def one_is_left_over() -> bool:
        pods = await east.pods()
        waiting[:] = [each["metadata"]["name"] for each in pods if not node_name(each)]
        return len(pods) == 3 and len(waiting) == 1

    await east.until(one_is_left_over, here.operator.shown)
    told: dict[str, Any] = {}

    async def is_revised() -> bool:
        told.update(await why(here, waiting[0]))
        return {"MARGIN", "EVENT"} <= set(_revised(told))

    await east.until(is_revised, lambda: (told, here.operator.shown()))
    assert told["verdict"] == "COVERED_NOT_PLACED"
    assert "Insufficient cpu" in told["sentence"]


def _revised(told: dict[str, Any]) -> list[str]:
    """What is told of revised demand: its margin, and the Event on the pod."""
    texts = [each["text"] for each in told["steps"] if each["name"] == "revised"]
    margin = ["MARGIN" for text in texts if "(margin): short" in text]
    return [*margin, *("EVENT" for text in texts if text.startswith("MachinesAddedForStuck"))]
