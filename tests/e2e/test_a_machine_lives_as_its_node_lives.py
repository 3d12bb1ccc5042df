"""Machines whose Nodes are deleted, fall silent or never come are replaced, and pods run."""

import datetime

from bigfleet.model.machines import MachineState
from bigfleet.model.shard_admin import StoryCall
from tests.e2e.joined import JoinedCluster, join
from tests.e2e.placed import (
    OPERATOR_HASTE,
    PODWATCH_HASTE,
    set_ready,
    stays_quiet,
    until_all_run,
)
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import deployment, node_name, pod_spec


async def two_that_run(
    east: Cluster, fleet: Fleet, act: Act, count: int = 2, **operator_settings: str
) -> JoinedCluster:
    """A machine each."""
    settings = {**OPERATOR_HASTE, **operator_settings}
    here = await join(east, fleet, act, settings=settings, podwatch_settings=PODWATCH_HASTE)
    await east.apply(deployment("web", count, pod_spec(cpu="5")))
    await until_all_run(here, count)
    await here.until_told(count)
    return here


async def test_the_machine_of_a_deleted_node_is_replaced(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 4)])
    here = await two_that_run(east, fleet, act)
    before = await fleet.bound_to("east")
    (first, *_) = sorted(await east.nodes())
    lost = here.actor.machines[first].id
    await east.api.delete(f"/api/v1/nodes/{first}")

    async def is_replaced() -> bool:
        bound = await fleet.bound_to("east")
        return lost not in bound and len(bound) == 2

    await east.until(is_replaced, here.operator.shown)
    await until_all_run(here, 2)
    await stays_quiet(here)
    assert before - await fleet.bound_to("east") == {lost}


async def test_a_node_that_stays_not_ready_is_replaced(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 8)])
    here = await two_that_run(east, fleet, act, 6, repair_conditions="Ready=5s")
    (sick, *_) = sorted(await east.nodes())
    lost = here.actor.machines[sick].id
    await set_ready(east, [sick], False, now())

    async def is_replaced() -> bool:
        bound = await fleet.bound_to("east")
        return lost not in bound and len(bound) == 6

    await east.until(is_replaced, here.operator.shown)
    await until_all_run(here, 6)
    assert sick not in {node_name(pod) for pod in await east.pods()}


async def test_when_half_the_nodes_fall_silent_at_once_none_is_replaced(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    """A network fault is not thirty dead machines."""
    fleet = await make_fleet([offered("bare_metal", 8)])
    here = await two_that_run(east, fleet, act, 4, repair_conditions="Ready=2s")
    before = await fleet.bound_to("east")
    silent = sorted(await east.nodes())[:2]
    await set_ready(east, silent, False, now())
    await stays_quiet(here, 10)
    assert await fleet.bound_to("east") == before
    states = {(await fleet.machines())[name].state for name in before}
    assert states == {MachineState.CONFIGURED}
    await set_ready(east, silent, True, now())
    await stays_quiet(here, 5)


async def test_a_machine_that_never_joins_is_given_back_and_another_one_comes(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 2)], deadlines_join="5s")
    here = await join(east, fleet, act, settings=OPERATOR_HASTE, podwatch_settings=PODWATCH_HASTE)
    first = sorted(await fleet.machines())[0]
    here.actor.broken.add(first)
    await east.apply(deployment("web", 1, pod_spec(cpu="5")))
    await until_all_run(here, 1)
    (bound,) = await fleet.bound_to("east")
    assert bound != first

    async def is_given_back() -> bool:
        return (await fleet.machines())[first].state is MachineState.IDLE

    await east.until(is_given_back, here.operator.shown)
    story = [event.text for event in (await fleet.admin.story(StoryCall(first))).events]
    assert any("join" in text for text in story), story


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
