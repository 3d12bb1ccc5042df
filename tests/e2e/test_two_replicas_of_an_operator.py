"""Two replicas of an operator: one acts, and its death or its sleep costs no machine."""

import signal

from tests.e2e.draining import stuck_drain, until_drained
from tests.e2e.joined import join
from tests.e2e.stand.cluster import Cluster
from tests.e2e.stand.fleet import Fleet, offered
from tests.e2e.stand.makers import Act, MakeFleet
from tests.e2e.stand.processes import Supervised
from tests.e2e.stand.workloads import deployment, pod_spec
from tests.e2e.standing_still import LASTING, moved, sight_of

LEASE = {"lease_duration": "4s", "lease_renew": "2s", "lease_retry": "500ms"}
WRITES = ("POST", "PUT", "PATCH", "DELETE")


async def leads(operator: Supervised) -> bool:
    return await operator.metric("bigfleet_operator_leader") == 1


async def writes_of(operator: Supervised) -> float:
    """Requests that change something, answered or not."""
    _, text = await operator.page("/metrics")
    rows = (line.rpartition(" ") for line in text.splitlines())
    return sum(
        float(value)
        for label, _, value in rows
        if label.startswith("bigfleet_operator_api_requests_total{")
        and any(f'verb="{verb}"' in label for verb in WRITES)
    )


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
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    """It sleeps in the middle of a drain, with an eviction due the moment it wakes."""
    fleet = await make_fleet([offered("bare_metal", 2)])
    here, node = await stuck_drain(east, fleet, act, **LEASE)
    first, second = here.operator, await second_of(east, fleet)
    bound, written = await fleet.bound_to("east"), await writes_of(first)
    first.send(signal.SIGSTOP)
    try:
        await east.until(lambda: leads(second), second.shown)

        async def goes_on() -> bool:
            return await second.metric("bigfleet_operator_eviction_blocked_total") > 0

        await east.until(goes_on, second.shown)
    finally:
        first.send(signal.SIGCONT)
    await first.event("lease.lost")
    # What it had sent before it fell asleep is not counted against it.
    since = await writes_of(first)
    assert since <= written + 3, "it went on writing after its lease"
    assert await leads(second)
    assert not await leads(first)
    assert await fleet.bound_to("east") == bound
    await until_drained(here, node)
    assert await writes_of(first) == since
    assert len(await fleet.bound_to("east")) == 1
