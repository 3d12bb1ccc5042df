"""ProvisioningRequests in a fleet: answered by what-if, booked, used by pods, given up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bigfleet.kube.buffers import POD_TEMPLATES
from bigfleet.kube.names import OWNED_BY_PROVISIONING_REQUEST
from bigfleet.kube.provisioning_requests import (
    ATOMIC_SCALE_UP,
    CHECK_CAPACITY,
    PROVISIONING_REQUESTS,
)
from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import NeedQuery
from bigfleet.wire.shard_read import ShardReadClient
from tests.e2e.assets import require
from tests.e2e.joined import JoinedCluster, join
from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import deployment, pod_spec

#: One of these fills a machine: a fleet covers sums, and only so a pod is a machine.
WHOLE_MACHINE = "7"
CORES = 7000
CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
#: Questions have pauses of 5 and 10 s between them, and a first what-if starts a process.
PATIENCE = 180.0


def asked(name: str, of: str, *counts: int, cpu: str = WHOLE_MACHINE) -> list[Object]:
    """A ProvisioningRequest, with a PodTemplate for each of its podSets."""
    templates = [
        {
            "apiVersion": POD_TEMPLATES.api_version,
            "kind": "PodTemplate",
            "metadata": {"name": f"{name}-{place}"},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu=cpu)},
        }
        for place in range(len(counts))
    ]
    sets = [
        {"count": count, "podTemplateRef": {"name": f"{name}-{place}"}}
        for place, count in enumerate(counts)
    ]
    request = {
        "apiVersion": PROVISIONING_REQUESTS.api_version,
        "kind": "ProvisioningRequest",
        "metadata": {"name": name},
        "spec": {"provisioningClassName": of, "podSets": sets},
    }
    return [*templates, request]


async def join_with_requests(
    cluster: Cluster, fleet: Fleet, act: Act, **operator_settings: str
) -> JoinedCluster:
    await cluster.apply_crds(require("provisioningrequests.yaml").read_text())
    return await join(cluster, fleet, act, settings=operator_settings)


def path_of(here: JoinedCluster, name: str) -> str:
    return PROVISIONING_REQUESTS.path(here.cluster.namespace, name)


async def conditions(here: JoinedCluster, name: str) -> dict[str, Object]:
    body = await here.cluster.api.get(path_of(here, name))
    return {each["type"]: each for each in body.get("status", {}).get("conditions", ())}


async def until_says(here: JoinedCluster, name: str, condition: str, said: str) -> str:
    """Its message, once it has this status and reason: `True CapacityIsFound`."""
    last: dict[str, Object] = {}

    async def says() -> bool:
        last.clear()
        last.update(await conditions(here, name))
        found = last.get(condition, {})
        return f"{found.get('status')} {found.get('reason')}" == said

    await here.cluster.until(says, lambda: (name, last), PATIENCE)
    return str(last[condition]["message"])


async def booked(here: JoinedCluster) -> int:
    found = await here.requests()
    label = OWNED_BY_PROVISIONING_REQUEST
    return sum(label in each["metadata"].get("labels", {}) for each in found)


async def cores_in_demand(fleet: Fleet, cluster: str) -> int:
    async with ShardReadClient(fleet.shard_address) as reading:
        views = (await reading.needs(cluster)).needs
    return sum(view.need.aggregate["cpu"] for view in views)


async def until_bound(here: JoinedCluster, count: int) -> None:
    async def are_bound() -> bool:
        return len(await here.fleet.bound_to(here.cluster.name)) == count

    await here.cluster.until(are_bound, lambda: (count, here.actor.troubles), PATIENCE)


async def bought(fleet: Fleet) -> int:
    states = [machine.state for machine in (await fleet.machines()).values()]
    return len(states) - states.count(MachineState.SPECULATIVE)


async def test_a_check_is_answered_with_yes_and_with_no_and_why(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 3)])
    here = await join_with_requests(east, fleet, act)
    await east.apply(*asked("fits", CHECK_CAPACITY, 1, 1))
    text = await until_says(here, "fits", "Provisioned", "True CapacityIsFound")
    assert text.startswith("2 pods are covered; the capacity is booked for them until ")
    assert await booked(here) == 2
    await until_bound(here, 2)

    async def is_told_apart() -> bool:
        query = NeedQuery("east", sources=("provisioning-request",))
        rows = (await fleet.admin.needs(query)).rows
        return [row.sources for row in rows] == [("provisioning-request",)]

    await east.until(is_told_apart, here.operator.shown, PATIENCE)
    # Beside what is booked there is one machine.
    await east.apply(*asked("more", CHECK_CAPACITY, 2))
    text = await until_says(here, "more", "Failed", "True CapacityIsNotFound")
    need, code, sentence = text.split(": ", 2)
    assert need.startswith("need/east/n")
    assert "." in code
    assert sentence
    assert (await conditions(here, "more"))["Accepted"]["status"] == "True"
    # No machine of the fleet is so large.
    await east.apply(*asked("huge", CHECK_CAPACITY, 1, cpu="500"))
    text = await until_says(here, "huge", "Failed", "True CapacityIsNotFound")
    assert ": supply." in text
    assert await booked(here) == 2
    assert (await conditions(here, "fits"))["Provisioned"]["status"] == "True"


async def test_of_two_checks_at_once_the_one_that_fits_is_granted(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 2)])
    here = await join_with_requests(east, fleet, act)
    names = ("one", "two")
    await east.apply(*(each for name in names for each in asked(name, CHECK_CAPACITY, 2)))
    seen: dict[str, dict[str, Object]] = {}

    async def are_answered() -> bool:
        seen.update({name: await conditions(here, name) for name in names})
        ended = {name for name in names if "Failed" in seen[name]}
        held = [seen[name].get("Provisioned", {}).get("status") for name in names]
        return len(ended) == 1 and "True" in held

    await east.until(are_answered, lambda: seen, PATIENCE)
    granted = next(name for name in names if "Failed" not in seen[name])
    assert seen[granted]["Provisioned"]["reason"] == "CapacityIsFound"
    assert await booked(here) == 2


async def test_an_atomic_request_buys_all_of_it_or_nothing(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("on_demand", 3)])
    here = await join_with_requests(east, fleet, act)
    await east.apply(*asked("large", ATOMIC_SCALE_UP, 4))
    text = await until_says(here, "large", "Provisioned", "False CapacityIsNotFound")
    assert "it is asked again until" in text
    await east.apply(*asked("small", ATOMIC_SCALE_UP, 1, 1))
    await until_says(here, "small", "Provisioned", "True CapacityIsProvisioned")
    # What can be used is there already.
    assert len(await east.nodes()) == 2
    assert (await bought(fleet), await booked(here)) == (2, 2)
    # The large one has asked for nothing in all that time.
    assert await cores_in_demand(fleet, "east") == 2 * CORES
    (said,) = [(await conditions(here, "large"))["Provisioned"]]
    assert said["status"] == "False"


@asynccontextmanager
async def always(look: Callable[[], object], seen: set[object]) -> AsyncIterator[None]:
    """All that is seen, as long as the block runs."""

    async def keep_looking() -> None:
        while True:
            seen.add(await look())  # type: ignore[misc]

    looking = asyncio.create_task(keep_looking())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.wait([looking])
    assert looking.cancelled(), looking.exception()


async def test_pods_use_a_booking_and_are_never_counted_beside_it(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("on_demand", 6)])
    here = await join_with_requests(east, fleet, act)
    await east.apply(*asked("batch", ATOMIC_SCALE_UP, 3))
    await until_says(here, "batch", "Provisioned", "True CapacityIsProvisioned")
    requests: set[object] = set()
    demand: set[object] = set()

    async def counted() -> int:
        return len(await here.requests())

    async with (
        always(counted, requests),
        always(lambda: cores_in_demand(fleet, "east"), demand),
    ):
        pods = pod_spec(cpu=WHOLE_MACHINE)
        await east.apply(deployment("batch", 2, pods, annotations={CONSUME: "batch"}))
        await here.until_running("batch", 2)

        async def is_taken_over() -> bool:
            return await booked(here) == 1

        await east.until(is_taken_over, lambda: "pods ask beside their booking", PATIENCE)
        await here.until_told(machines=3)
    assert requests == {3}
    assert demand == {3 * CORES}
    assert await bought(fleet) == 3


async def test_a_deleted_request_withdraws_all_its_demand_in_one_roll_up(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 3)])
    # No roll-up but those that a change asks for, and time for the last share to go.
    here = await join_with_requests(east, fleet, act, rollup_debounce="3s", rollup_interval="1h")
    await east.apply(*asked("fits", CHECK_CAPACITY, 3))
    await until_says(here, "fits", "Provisioned", "True CapacityIsFound")
    demand: set[object] = set()
    async with always(lambda: cores_in_demand(fleet, "east"), demand):
        await east.api.delete(path_of(here, "fits"))

        async def is_withdrawn() -> bool:
            return await cores_in_demand(fleet, "east") == 0

        await east.until(is_withdrawn, lambda: demand, PATIENCE)
    assert demand <= {3 * CORES, 0}
    assert await here.requests() == []


async def test_a_shard_that_is_away_is_said_and_asked_again(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 2)])
    here = await join_with_requests(east, fleet, act)
    assert fleet.shard is not None
    fleet.shard.kill()
    await east.apply(*asked("fits", CHECK_CAPACITY, 2))
    text = await until_says(here, "fits", "Provisioned", "False ShardDoesNotAnswer")
    assert fleet.shard_address in text
    assert await booked(here) == 0
    await fleet.restart_shard()
    await until_says(here, "fits", "Provisioned", "True CapacityIsFound")
