"""A thousand pods that end before all of them were asked for: what that costs the API server."""

from collections import Counter

from bigfleet.kube.kinds import PODS
from bigfleet.podwatch.driving.workers import WORKERS
from tests.kube_api import FakeApiServer
from tests.podwatch.pods import pod_json
from tests.podwatch.rig import fast, requests, running
from tests.shard_system.waiting import until

PODS_OF_A_JOB = 1000


async def test_pods_that_are_gone_are_not_asked_for_and_nothing_is_written_twice() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()) as process:
        for number in range(PODS_OF_A_JOB):
            server.put(PODS, pod_json(f"job-{number}"))
        await server.until(lambda: len(requests(server)) >= PODS_OF_A_JOB // 4)
        for number in range(PODS_OF_A_JOB):
            server.remove(PODS, f"job-{number}", "shop")
        server.put(PODS, pod_json("last"))
        await server.until(lambda: requests(server, "uid-last"))
        await server.until(lambda: len(requests(server)) == 1)
        await until(lambda: not len(process.pods.working))
        verbs = Counter(done.call.verb for done in server.writes("capacityrequests"))
        assert verbs["create"] < PODS_OF_A_JOB // 2
        assert verbs["delete"] <= 2 * WORKERS
        assert verbs["patch"] == 0
        assert len(process.pods.working) == 0
