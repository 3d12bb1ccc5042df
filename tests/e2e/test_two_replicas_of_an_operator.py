"""Two replicas of an operator: one acts, and its death or its sleep costs no machine."""

import signal
from pathlib import Path
from shutil import copyfile

from tests.e2e.draining import stuck_drain, until_drained
from tests.e2e.joined import join
from tests.e2e.rig.accounts import operator_account
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.faulty_api import FaultyApi
from tests.e2e.rig.fleet import Fleet, offered
from tests.e2e.rig.makers import Act, FaultsOf, MakeFleet
from tests.e2e.rig.processes import Supervised
from tests.e2e.rig.workloads import deployment, pod_spec
from tests.e2e.standing_still import LASTING, moved, sight_of

#: Long enough that no holder loses it because the machine is busy.
LEASE = {"lease_duration": "12s", "lease_renew": "9s", "lease_retry": "500ms"}
WRITES = ("POST", "PUT", "PATCH", "DELETE")


async def leads(operator: Supervised) -> bool:
    return await operator.metric("bigfleet_operator_leader") == 1


def writes_on(way: FaultyApi) -> int:
    """Requests that change something other than a lease, answered or not."""
    return sum(method in WRITES and "/leases" not in path for method, path in way.seen)


async def second_of(cluster: Cluster, fleet: Fleet) -> Supervised:
    second = await fleet.start_operator(cluster, replica="-second", **LEASE)

    async def is_ready() -> bool:
        return (await second.page("/readyz"))[0] == 200

    await cluster.until(is_ready, second.shown)
    assert not await leads(second)
    return second


async def test_the_second_replica_takes_over_from_a_killed_one_and_no_machine_moves(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 2), offered("on_demand", 2)])
    here = await join(east, fleet, act, settings=LEASE)
    await east.apply(deployment("web", 2, pod_spec(cpu="7")))
    await here.until_running("web", 2)
    await here.until_told(2)
    second = await second_of(east, fleet)
    machines, before = await fleet.machines(), await sight_of(east, LASTING)
    here.operator.kill()
    await east.until(lambda: leads(second), second.shown)
    # It has told the shard the demand of the cluster: the same as before.
    await second.event("session.opened")
    acked = await second.metric("bigfleet_operator_rollup_duration_seconds_count")

    async def has_rolled_up_again() -> bool:
        told = await second.metric("bigfleet_operator_rollup_duration_seconds_count")
        return told > acked + 2

    await east.until(has_rolled_up_again, second.shown)
    assert await fleet.machines() == machines
    assert moved(before, await sight_of(east, LASTING)) == []
    await east.apply(deployment("web", 3, pod_spec(cpu="7")))
    await here.until_running("web", 3)


async def test_a_replica_that_slept_through_its_lease_does_not_act_when_it_wakes(
    east: Cluster, make_fleet: MakeFleet, act: Act, faults_of: FaultsOf, tmp_path: Path
) -> None:
    """It sleeps in the middle of a drain, with an eviction due the moment it wakes."""
    fleet = await make_fleet([offered("bare_metal", 2)])
    # Its requests are counted on their way: it cannot be asked while it sleeps.
    way = await faults_of(east)
    kubeconfig = tmp_path / "first.kubeconfig"
    copyfile(await operator_account(east, through=way.address), kubeconfig)
    settings = {"kubeconfig": str(kubeconfig), **LEASE}
    async with stuck_drain(east, fleet, act, **settings) as (here, node, _):
        first, second = here.operator, await second_of(east, fleet)
        bound = await fleet.bound_to("east")
        assert writes_on(way) > 0, "it goes another way"
        first.send(signal.SIGSTOP)
        try:
            await east.until(lambda: leads(second), second.shown)

            async def goes_on() -> bool:
                return await second.metric("bigfleet_operator_eviction_blocked_total") > 0

            await east.until(goes_on, second.shown)
            asleep = writes_on(way)
        finally:
            first.send(signal.SIGCONT)
        await first.event("lease.lost")
        # An eviction whose connection was being opened when it fell asleep is not held against it.
        assert writes_on(way) <= asleep + 1, "it went on writing after its lease"
        assert await leads(second)
        assert not await leads(first)
        assert await fleet.bound_to("east") == bound
        await until_drained(here, node)
        assert writes_on(way) <= asleep + 1, "it went on writing after its lease"
        assert len(await fleet.bound_to("east")) == 1
