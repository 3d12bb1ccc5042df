"""A thousand pods at once: all of them are bound, at a bounded cost to the API server."""

from tests.e2e.joined import join
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.surge import machines_for, offers_for, surge

PODS = 1000


async def test_a_thousand_pods_are_bound_with_three_writes_each_at_most(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet(offers_for(PODS, spare=10))
    # As long as an operator waits by default: pods come faster than requests for them, and a pod
    # that has asked waits while one that has not yet takes its room.
    here = await join(east, fleet, act, stuck_grace="10s")
    found = await surge(here, PODS)
    # As many machines as it takes, and none in reserve.
    assert found.machines == machines_for(PODS)
    assert found.podwatch_writes["POST"] >= PODS
    assert found.writes_a_pod <= 3, found
    assert len(await here.requests()) == PODS
