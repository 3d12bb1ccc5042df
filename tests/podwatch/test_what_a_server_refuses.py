"""Refusals that last: namespaces at their end, quotas, webhooks, definitions that are missing."""

from bigfleet.edge.clock import SECOND
from bigfleet.kube.kinds import CAPACITY_REQUESTS, EVENTS, PODS
from bigfleet.model.machines import Instant
from bigfleet.podwatch.driving.process import PodwatchProcess
from bigfleet.podwatch.metrics import RECONCILES
from tests.kube_api import ApiCall, FakeApiServer
from tests.podwatch.pods import pod_json
from tests.podwatch.rig import Lines, fast, requests, running
from tests.shard_system.rig import page
from tests.shard_system.waiting import until, until_told

ENDING = "unable to create new content in namespace old because it is being terminated"
QUOTA = "exceeded quota: objects, requested: count/capacityrequests=1, used: 0, limited: 0"


def of_old(call: ApiCall) -> bool:
    return call.namespace == "old"


def reconciled(process: PodwatchProcess, outcome: str) -> float:
    return process.counts.of(RECONCILES, outcome=outcome)


def end_namespace(server: FakeApiServer) -> None:
    """As the server refuses, word for word."""
    server.fail(
        "create",
        "capacityrequests",
        status=403,
        reason="Forbidden",
        message=f'capacityrequests.bigfleet.lucy.sh "cr" is forbidden: {ENDING}',
        causes=(
            {"reason": "NamespaceTerminating", "message": "namespace old is being terminated"},
        ),
        times=10**6,
        when=of_old,
    )


async def let_time_pass(server: FakeApiServer) -> None:
    """As long as five attempts for another object take: four waits, each twice the one before."""
    server.fail("create", "capacityrequests", status=500, times=4, when=lambda c: not of_old(c))
    server.put(PODS, pod_json("other"))
    await server.until(lambda: requests(server, "uid-other"))


async def test_a_namespace_at_its_end_is_asked_once_for_each_pod_and_no_event_is_written() -> None:
    lines = Lines()
    async with FakeApiServer() as server, running(server, clock=fast(5), lines=lines) as process:
        end_namespace(server)
        for number in range(3):
            server.put(PODS, pod_json(f"web-{number}", namespace="old"))
        await let_time_pass(server)
        asked = [call for call in server.calls("create", "capacityrequests") if of_old(call)]
        assert len(asked) == 3
        assert reconciled(process, "error") == 4
        assert not [text for text in lines.of("podwatch.failed") if ENDING in text]
        assert reconciled(process, "pod_gone") == 3
        assert not server.calls("create", "events")


async def test_what_a_quota_refuses_is_told_on_the_pod_and_tried_again_after_a_rest() -> None:
    clock, asked = fast(10), list[Instant]()

    def note_time(call: ApiCall) -> bool:
        if of_old(call):
            asked.append(clock.now())
        return False

    async with FakeApiServer() as server, running(server, clock=clock) as process:
        server.fail("create", "capacityrequests", when=note_time)
        server.fail(
            "create",
            "capacityrequests",
            status=403,
            reason="Forbidden",
            message=f'capacityrequests "cr" is forbidden: {QUOTA}',
            when=of_old,
        )
        server.put(PODS, pod_json("web", namespace="old"))
        await server.until(lambda: server.calls("create", "events"))
        (event,) = server.objects(EVENTS).values()
        assert (event["reason"], event["involvedObject"]["uid"]) == (
            "CapacityRequestRefused",
            "uid-web",
        )
        assert QUOTA in event["message"]
        await server.until(lambda: requests(server, "uid-web"))
        first, again = asked
        assert again - first >= 11 * SECOND, "three quarters of the first rest at least"
        assert reconciled(process, "error") == 1


async def test_one_reason_for_many_refusals_is_one_subject_of_the_log() -> None:
    lines = Lines()
    async with FakeApiServer() as server, running(server, clock=fast(), lines=lines) as process:
        text = 'admission webhook "no.example" denied the request'
        server.fail("create", "capacityrequests", status=422, message=text, times=10**6)
        for number in range(20):
            server.put(PODS, pod_json(f"web-{number}"))
        await until(lambda: reconciled(process, "error") >= 20)
        said = [facts["subject"] for event, facts in lines.said if event == "podwatch.failed"]
        assert len(said) >= 20
        assert len(set(said)) == 1


async def test_a_definition_that_is_missing_is_waited_for_and_named() -> None:
    async with FakeApiServer() as server:
        server.undefine(CAPACITY_REQUESTS)
        server.put(PODS, pod_json("web-1"))
        async with running(server, clock=fast()) as process:

            async def is_told() -> bool:
                status, text = await page(process.metrics_port, "/readyz")
                return status == 503 and "bigfleet operator crds" in text

            await until_told(is_told)
            server.define(CAPACITY_REQUESTS)
            await server.until(lambda: requests(server, "uid-web-1"))
            assert process.why_not_ready() == ""


async def test_a_write_is_not_tried_again_once_the_lease_is_lost() -> None:
    async with FakeApiServer() as server, running(server, clock=fast(10)) as process:
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        server.fail("update", "leases", status=500, times=10**6)
        server.fail("get", "leases", status=500, times=10**6)
        server.fail("patch", "capacityrequests", status=500, times=10**6)
        server.put(PODS, pod_json("web-1", cpu="2"))
        await server.until(lambda: server.calls("patch", "capacityrequests"))
        await until(lambda: not process.election.holding)
        tried = len(server.calls("patch", "capacityrequests"))
        await until(lambda: not len(process.pods.working))
        assert len(server.calls("patch", "capacityrequests")) <= tried + 1
