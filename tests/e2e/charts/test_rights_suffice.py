"""An operator and a podwatch with the rights of their charts: nothing they ask for is refused."""

import re

from tests.e2e.joined import join
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.fleet import offered
from tests.e2e.rig.makers import Act, MakeFleet
from tests.e2e.rig.processes import Supervised
from tests.e2e.rig.workloads import deployment, pod_spec


async def answers_of(process: Supervised) -> set[str]:
    """Every status the API server has answered it with."""
    _, text = await process.page("/metrics")
    rows = re.findall(r'^bigfleet_\w*api_requests_total\{.*status="(\d+)".*\}', text, re.MULTILINE)
    return set(rows)


async def test_a_joined_cluster_grows_and_shrinks_without_a_refusal(
    east: Cluster, make_fleet: MakeFleet, act: Act
) -> None:
    fleet = await make_fleet([offered("bare_metal", 2)])
    here = await join(east, fleet, act)
    await east.apply(deployment("web", 2, pod_spec(cpu="5")))
    await here.until_running("web", 2)
    await east.apply(deployment("web", 0, pod_spec(cpu="5")))

    async def all_given_back() -> bool:
        return not await fleet.bound_to("east") and not await here.upcoming()

    await east.until(all_given_back)
    for process in (here.operator, here.podwatch):
        answers = await answers_of(process)
        assert "200" in answers
        assert "403" not in answers
