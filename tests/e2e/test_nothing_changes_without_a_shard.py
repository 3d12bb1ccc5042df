"""Static stability: a fleet that is gone leaves a cluster as it was, and goes on where it ended."""

import asyncio

from bigfleet.edge.driver import RealClock
from tests.e2e.draining import cordoned, stuck_drain, until_drained
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.workloads import budget, deployment, pod_spec
from tests.e2e.standing_still import at_rest, moved, sight_of
from tests.shard_system.demand import HIGH

#: Of a dead shard: some dialling, some turns of every loop that could do mischief.
_REST_SECONDS = 10.0


async def rest() -> None:
    """Nothing can be waited for where nothing shall happen."""
    passed = asyncio.Event()
    RealClock().call_later(_REST_SECONDS, passed.set)
    await passed.wait()


async def test_without_its_shard_and_its_operator_a_cluster_stands_still_and_then_goes_on(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 3)])
    async with stuck_drain(east, fleet, act) as (here, node, elsewhere):
        shard = fleet.shard
        assert shard is not None
        shard.kill()

        async def is_alone() -> bool:
            return await here.operator.metric("bigfleet_operator_connected") == 0

        await east.until(is_alone, here.operator.shown)
        machines, before = await fleet.machines(), await at_rest(east)
        assert await cordoned(east) == [node]
        # From here on the drain could go on, as far as the cluster is concerned.
        await east.apply(budget("web", app="web", maxUnavailable=2))
        path = f"/apis/policy/v1/namespaces/{east.namespace}/poddisruptionbudgets/web"

        async def may_go_on() -> bool:
            return bool((await east.api.get(path))["status"]["disruptionsAllowed"])

        await east.until(may_go_on)
        await rest()
        assert moved(before, await sight_of(east)) == []
        here.operator.kill()
        await rest()
        assert moved(before, await sight_of(east)) == []
        assert await fleet.machines() == machines

        here.operator.start()
        await fleet.restart_shard()
        await until_drained(here, node)
        assert len(await fleet.bound_to("east")) == 1
        await elsewhere.wants(0, HIGH)
        await east.apply(deployment("web", 3, pod_spec(cpu="7")))
        await here.until_running("web", 3)
        assert len(await fleet.bound_to("east")) == 3
