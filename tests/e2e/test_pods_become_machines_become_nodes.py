"""Pods in two clusters, machines of one pool: from a pending pod to a bound one, and back."""

import msgspec

from bigfleet.model.cluster_reports import UnplacedPod
from bigfleet.operator.translator import TranslatedDemand, Translator
from bigfleet.wire.shard_read import ShardReadClient
from tests.e2e.joined import join
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import deployment, node_name, pod_spec


async def test_pods_of_two_clusters_are_bound_onto_machines_of_one_pool(
    east: Cluster, west: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 4)])
    here, there = await join(east, fleet, act), await join(west, fleet, act)
    await east.apply(deployment("web", 4, pod_spec(cpu="3")))
    await west.apply(deployment("batch", 2, pod_spec(cpu="5")))
    await here.until_running("web", 4)
    await there.until_running("batch", 2)
    assert len(await fleet.bound_to("east")) == 2
    assert len(await fleet.bound_to("west")) == 2
    assert {node_name(pod) for pod in await east.pods("app=web")} == set(await east.nodes())


async def test_a_cluster_that_scales_to_zero_gives_every_machine_back(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 2)])
    here = await join(east, fleet, act)
    await east.apply(deployment("web", 2, pod_spec(cpu="5")))
    await here.until_running("web", 2)
    await east.apply(deployment("web", 0, pod_spec(cpu="5")))

    async def all_given_back() -> bool:
        return not await fleet.bound_to("east") and not await east.nodes()

    await east.until(all_given_back)
    assert await here.requests() == []

    async def none_is_upcoming() -> bool:
        return not await here.upcoming()

    await east.until(none_is_upcoming)
    # And they serve again.
    await east.apply(deployment("web", 2, pod_spec(cpu="5")))
    await here.until_running("web", 2)


async def test_the_way_from_a_pod_to_its_machine_can_be_followed(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 1)])
    here = await join(east, fleet, act)
    await east.apply(deployment("web", 1, pod_spec(cpu="3")))
    await here.until_running("web", 1)
    (pod,) = await east.pods("app=web")
    (request,) = await here.requests()
    assert request["metadata"]["labels"]["bigfleet.lucy.sh/owned-by-pod"] == pod["metadata"]["uid"]
    (owner,) = request["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Pod", pod["metadata"]["uid"])
    demand = Translator().translate(msgspec.json.encode(request["spec"]))
    assert isinstance(demand, TranslatedDemand)
    async with ShardReadClient(fleet.shard_address) as reading:
        (view,) = (await reading.needs("east")).needs
    assert view.need.profile == demand.profile
    (machine,) = await fleet.bound_to("east")
    await here.until_told(1)
    (upcoming,) = await here.upcoming()
    assert upcoming["metadata"]["annotations"]["bigfleet.lucy.sh/machine-id"] == machine
    assert upcoming["status"]["nodeRef"]["name"] == node_name(pod)


async def test_a_pod_for_which_there_is_capacity_and_no_place_is_told_apart(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 3)])
    here = await join(east, fleet, act)
    # Three machines have the CPUs of four such pods, and room for three; there is no fourth.
    await east.apply(deployment("web", 4, pod_spec(cpu="5")))
    examples: tuple[UnplacedPod, ...] = ()

    async def is_told() -> bool:
        """All at once: three of the requests alone leave one pod over too, on two machines."""
        nonlocal examples
        reports = [each.report for each in await fleet.admin.sessions(cluster_id="east")]
        examples = next((each.report.examples for each in reports if each), ())
        pods = [pod for pod in await east.pods("app=web") if not node_name(pod)]
        waiting = [f"{east.namespace}/{pod['metadata']['name']}" for pod in pods]
        return (
            len(waiting) == await here.operator.metric("bigfleet_operator_covered_not_placed") == 1
            and len(await fleet.bound_to("east")) == len(await east.nodes()) == 3
            and [each.pod for each in examples] == waiting
            and all("Insufficient cpu" in each.text for each in examples)
        )

    await east.until(is_told, lambda: examples)
