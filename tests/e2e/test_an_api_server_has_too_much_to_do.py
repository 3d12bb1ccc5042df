"""A crowd: thousands of requests at once, a server that says 429, a client that writes all day."""

import asyncio

from bigfleet.wire.shard_read import ShardReadClient
from tests.e2e.draining import RECLAIM, cordoned, stuck_drain, until_drained
from tests.e2e.joined import GROUP, join
from tests.e2e.requests import capacity_request, create_many, phases
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet, OwnCluster

FLOOD = 5_000
MARK = "e2e/turn"
#: Thousands of writes, and lists of all of them to see how far they are.
LONG = 300.0


async def test_a_flood_of_requests_is_rolled_up_whole(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 1)])
    here = await join(east, fleet, act, qps="1000", burst="1000")
    here.podwatch.stop()
    sizes = ("100m", "200m", "300m", "400m", "500m")
    await create_many(
        east,
        [
            capacity_request(f"flood-{number}", cpu=sizes[number % 5], priority=number % 2)
            for number in range(FLOOD)
        ],
    )

    async with ShardReadClient(fleet.shard_address) as shard:

        async def is_told() -> bool:
            views = (await shard.needs()).needs
            return sum(view.need.aggregate["cpu"] for view in views) == FLOOD * 300

        await east.until(is_told, here.operator.shown, LONG)
        needs = [view.need for view in (await shard.needs()).needs]
    # Requests that ask alike are one Need, of any size.
    assert len(needs) == 2
    assert {need.aggregate["cpu"] for need in needs} == {FLOOD * 150}

    async def are_acknowledged() -> bool:
        return await phases(east) == {"Acknowledged": FLOOD}

    await east.until(are_acknowledged, here.operator.shown, LONG)
    assert here.operator.resident_megabytes() < 500
    assert await here.operator.metric("bigfleet_operator_outbox_dropped_total") == 0


async def test_a_server_that_refuses_most_of_what_it_is_asked_gets_all_of_it_in_the_end(
    own_cluster: OwnCluster, make_fleet: MakeFleet, act: Act
) -> None:
    """One call at a time: everybody but administrators is told to come back in a second."""
    north = await own_cluster(
        "north",
        enable_priority_and_fairness="false",
        max_requests_inflight="1",
        max_mutating_requests_inflight="1",
    )
    fleet = await make_fleet([offered("bare_metal", 1)])
    here = await join(north, fleet, act, qps="1000", burst="1000")
    await create_many(north, [capacity_request(f"r-{n}", cpu="10m") for n in range(400)])

    async def are_acknowledged() -> bool:
        return await phases(north) == {"Acknowledged": 400}

    await north.until(are_acknowledged, here.operator.shown, LONG)
    _, page = await here.operator.page("/metrics")
    assert 'status="429"' in page, "the server has refused nothing"

    async def leads() -> bool:
        return await here.operator.metric("bigfleet_operator_leader") == 1

    # Its lease is refused like everything else, and may have to be taken anew.
    await north.until(leads, here.operator.shown)


async def test_a_client_that_writes_to_the_same_objects_all_the_time_does_not_stop_a_drain(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 2)])
    async with stuck_drain(east, fleet, act) as (here, node, _):
        turns = 0

        async def scribble() -> None:
            nonlocal turns
            while True:
                turns += 1
                mark = {"metadata": {"annotations": {MARK: str(turns)}}}
                paths = [f"/api/v1/nodes/{name}" for name in await east.nodes()]
                paths += [
                    f"{GROUP}/upcomingnodes/{n['metadata']['name']}" for n in await upcoming()
                ]
                await asyncio.gather(
                    *(east.api.patch(path, mark) for path in paths), return_exceptions=True
                )

        async def upcoming() -> list[dict[str, dict[str, str]]]:
            return await east.api.list(f"{GROUP}/upcomingnodes")

        async def has_scribbled() -> bool:
            if scribbling.done():
                scribbling.result()
            return turns > 10

        scribbling = asyncio.create_task(scribble())
        try:
            await east.until(has_scribbled)
            await until_drained(here, node)

            async def is_told() -> bool:
                return len(await upcoming()) == 1

            await east.until(is_told, here.operator.shown)
        finally:
            scribbling.cancel()
            await asyncio.wait({scribbling})
        assert scribbling.cancelled(), scribbling.exception()
        assert await cordoned(east) == []
        (left,) = (await east.nodes()).values()
        assert RECLAIM not in left["metadata"]["annotations"]
        assert MARK in left["metadata"]["annotations"], (
            "what another writer wrote is not ours to take"
        )
        (told,) = await upcoming()
        assert MARK in told["metadata"]["annotations"]
        assert not here.operator.logged("write_back.not_taken")
