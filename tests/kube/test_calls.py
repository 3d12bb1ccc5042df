"""Calls to an API server: what they do, how fast they come, who may write, what fails."""

import asyncio
from collections.abc import Generator

import httpx2
import pytest

from bigfleet.edge.clock import SECOND, ManualClock, settle
from bigfleet.edge.counts import Counts
from bigfleet.kube.answers import (
    AlreadyExists,
    Conflict,
    NotFound,
    Refused,
    TooMany,
    Unreachable,
)
from bigfleet.kube.api import Api, RateLimiter
from bigfleet.kube.calls import Calls
from bigfleet.kube.kinds import (
    AVAILABLE_CAPACITIES,
    CAPACITY_REQUESTS,
    LEASES,
    NODES,
    PODS,
    UPCOMING_NODES,
    Kind,
)
from bigfleet.kube.objects import Meta, Node, Pod
from tests.kube.waiting import driven, until
from tests.kube_api import FakeApiServer, Replica, api_for


def node(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": labels}}


async def test_an_object_is_read_into_its_narrow_record() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        server.put(
            NODES,
            {
                "metadata": {"name": "n-1", "labels": {"zone": "a"}},
                "spec": {"providerID": "aws:///i-1", "podCIDR": "10.0.0.0/24"},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            },
        )
        found = await api.get(NODES, "n-1")
    assert (found.metadata.labels, found.spec.provider_id, found.is_ready) == (
        {"zone": "a"},
        "aws:///i-1",
        True,
    )


async def test_what_is_created_twice_exists_already() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        made = await api.create(UPCOMING_NODES, node("u-1"))
        assert made.metadata.uid
        with pytest.raises(AlreadyExists):
            await api.create(UPCOMING_NODES, node("u-1"))


async def test_a_generated_name_is_told() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        made = await api.create(CAPACITY_REQUESTS, {"metadata": {"generateName": "web-"}}, "shop")
        assert made.metadata.name.startswith("web-")
        assert len(made.metadata.name) > len("web-")
        assert (await api.get(CAPACITY_REQUESTS, made.metadata.name, "shop")) == made


async def test_a_replacement_of_an_old_version_conflicts() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        first = await api.create(LEASES, {"metadata": {"name": "l"}}, "default")
        meta = {"name": "l", "resourceVersion": first.metadata.resource_version}
        ours = {"metadata": meta, "spec": {"holderIdentity": "a"}}
        theirs = {"metadata": meta, "spec": {"holderIdentity": "b"}}
        await api.replace(LEASES, "l", ours, "default")
        with pytest.raises(Conflict):
            await api.replace(LEASES, "l", theirs, "default")
        assert server.get(LEASES, "l")["spec"] == {"holderIdentity": "a"}


async def test_a_deletion_bound_to_a_uid_spares_a_namesake() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        server.put(UPCOMING_NODES, node("u-1"))
        with pytest.raises(Conflict):
            await api.delete(UPCOMING_NODES, "u-1", uid="another")
        assert server.has(UPCOMING_NODES, "u-1")
        await api.delete(UPCOMING_NODES, "u-1")
        with pytest.raises(NotFound):
            await api.delete(UPCOMING_NODES, "u-1")


async def test_a_status_is_written_by_its_subresource_only() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        server.put(UPCOMING_NODES, node("u-1"))
        patch = {"status": {"phase": "Ready"}, "spec": {"labels": {"a": "b"}}}
        await api.merge_patch(UPCOMING_NODES, "u-1", patch)
        assert "status" not in server.get(UPCOMING_NODES, "u-1")
        await api.merge_patch(UPCOMING_NODES, "u-1", {**patch, "spec": None}, subresource="status")
        found = server.get(UPCOMING_NODES, "u-1")
    assert (found["status"], found["spec"]) == ({"phase": "Ready"}, {"labels": {"a": "b"}})


async def test_a_patch_that_changes_nothing_makes_no_version() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        first = await api.create(AVAILABLE_CAPACITIES, {**node("a"), "spec": {"cost": "1"}})
        second = await api.merge_patch(AVAILABLE_CAPACITIES, "a", {"spec": {"cost": "1"}})
    assert second.metadata == first.metadata


@pytest.mark.parametrize("name", ["", "..", "a/b", "a?b", "%2e%2e", "a b"])
async def test_an_invalid_name_is_never_sent(name: str) -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        with pytest.raises(Refused):
            await api.delete(NODES, name)
        with pytest.raises(Refused):
            await api.get(PODS, "p", name)
        assert server.done == []


async def test_a_kind_is_served_when_its_definition_is_there() -> None:
    buffers = Kind(
        "autoscaling.x-k8s.io", "v1beta1", "capacitybuffers", "CapacityBuffer", True, Node
    )
    async with FakeApiServer() as server, api_for(server) as api:
        assert not await api.serves(buffers)
        server.define(buffers)
        assert await api.serves(buffers)
        assert await api.serves(NODES)
        assert not await api.serves(Kind("", "v1", "machines", "Machine", False, Node))


async def test_a_budget_refuses_an_eviction_by_name_and_it_is_not_asked_again() -> None:
    async with FakeApiServer() as server, api_for(server, ManualClock()) as api:
        body = {"metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}}}
        server.put(PODS, {**body, "status": {"phase": "Running"}})
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        server.put(
            "poddisruptionbudgets",
            {"metadata": {"name": "web", "namespace": "shop"}, "spec": budget},
        )
        pod = await api.get(PODS, "web-1", "shop")
        with pytest.raises(TooMany, match="The disruption budget web needs 1 healthy pods"):
            await api.evict(pod)
        server.fail("evict", status=429, retry_after=1)
        with pytest.raises(TooMany):
            await api.evict(pod)
        assert len(server.calls("evict")) == 2


async def test_an_eviction_is_of_that_very_pod() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        server.put(PODS, {"metadata": {"name": "web-1", "namespace": "shop"}})
        pod = await api.get(PODS, "web-1", "shop")
        server.remove(PODS, "web-1", "shop")
        server.put(PODS, {"metadata": {"name": "web-1", "namespace": "shop"}})
        with pytest.raises(Conflict):
            await api.evict(pod, grace_seconds=5)
        assert server.has(PODS, "web-1", "shop")
        await api.evict(await api.get(PODS, "web-1", "shop"), grace_seconds=5)
        assert not server.has(PODS, "web-1", "shop")


async def test_an_object_that_fits_no_record_is_a_problem_with_the_kind_in_it() -> None:
    async with FakeApiServer() as server, api_for(server) as api:
        server.put(NODES, {"metadata": {"name": "n-1"}, "spec": {"unschedulable": "maybe"}})
        with pytest.raises(Refused, match=r"nodes \(v1\) cannot be read"):
            await api.get(NODES, "n-1")


# -- again, or not -------------------------------------------------------------------------------


async def test_a_busy_server_is_asked_again_when_it_said_and_not_before() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, api_for(server, clock) as api:
        server.fail("create", status=429, retry_after=7)
        asked = asyncio.ensure_future(api.create(UPCOMING_NODES, node("u-1")))
        await server.until(lambda: len(server.done) == 1)
        await until(lambda: clock.next_due() is not None)
        await clock.advance(6.9)
        assert len(server.done) == 1
        await clock.advance(0.2)
        assert (await asked).metadata.name == "u-1"


async def test_a_busy_server_that_names_no_time_is_left_alone() -> None:
    async with FakeApiServer() as server, api_for(server, ManualClock()) as api:
        server.fail("get", status=429)
        with pytest.raises(TooMany):
            await api.get(NODES, "n-1")


@pytest.mark.parametrize("status", [500, 503, 0], ids=["500", "503", "broken line"])
async def test_a_patch_whose_answer_was_lost_is_made_again(status: int) -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, api_for(server, clock) as api:
        server.put(NODES, node("n-1"))
        server.fail("patch", status=status, times=2, done_anyway=True)
        patch = {"spec": {"unschedulable": True}}
        asked = asyncio.ensure_future(api.merge_patch(NODES, "n-1", patch))
        await driven(clock, asked)
        assert (await asked).spec.unschedulable
        assert api.writes == 3


@pytest.mark.parametrize("status", [500, 0], ids=["500", "broken line"])
async def test_a_creation_whose_answer_was_lost_is_not_made_again(status: int) -> None:
    async with FakeApiServer() as server, api_for(server, ManualClock()) as api:
        server.fail("create", status=status, done_anyway=True)
        with pytest.raises(Unreachable):
            await api.create(UPCOMING_NODES, node("u-1"))
        assert server.has(UPCOMING_NODES, "u-1")
        assert api.writes == 1


async def test_asking_ends_at_the_deadline() -> None:
    clock = ManualClock()
    began = clock.now()
    async with FakeApiServer() as server, api_for(server, clock) as api:
        server.fail("get", status=503, times=1000)
        asked = asyncio.ensure_future(api.get(NODES, "n-1"))
        await driven(clock, asked)
        with pytest.raises(Unreachable):
            await asked
        assert 3 < len(server.done) < 30
    assert clock.now() - began <= 30 * SECOND


async def test_a_server_that_is_not_there_is_named() -> None:
    client = httpx2.AsyncClient(base_url="http://127.0.0.1:1", trust_env=False)
    async with Api(client, ManualClock(), lambda: 0.5, deadline_seconds=0) as api:
        with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:1: "):
            await api.get(NODES, "n-1")


async def test_an_answer_of_a_proxy_in_between_is_quoted() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(403, text="<html>go away</html>")

    client = httpx2.AsyncClient(base_url="http://api", transport=httpx2.MockTransport(answer))
    async with Api(client, ManualClock(), lambda: 0.5) as api:
        with pytest.raises(Refused, match="go away"):
            await api.get(NODES, "n-1")


async def test_a_server_that_has_just_started_misses_no_right() -> None:
    """Admission that has not filled its caches says Forbidden to every caller."""
    async with FakeApiServer() as server, api_for(server) as api:
        text = 'nodes "n-1" is forbidden: not yet ready to handle request'
        server.fail("create", status=403, reason="Forbidden", message=text)
        with pytest.raises(Unreachable, match="not yet ready"):
            await api.create(NODES, node("n-1"))
        server.fail("create", status=403, reason="Forbidden", message="nodes is forbidden")
        with pytest.raises(Refused):
            await api.create(NODES, node("n-1"))


async def test_requests_are_counted_by_verb_and_outcome() -> None:
    counts = Counts()
    async with FakeApiServer() as server:
        client = httpx2.AsyncClient(base_url=server.url, trust_env=False)
        async with Api(client, ManualClock(), lambda: 0.5, counts=counts) as api:
            with pytest.raises(NotFound):
                await api.get(NODES, "n-1")
            await api.create(NODES, node("n-1"))
    assert counts.of("api_requests_total", verb="GET", status="404") == 1
    assert counts.of("api_requests_total", verb="POST", status="201") == 1


async def test_nothing_is_sent_while_writing_is_not_allowed() -> None:
    async with FakeApiServer() as server, api_for(server, ManualClock(), writer=Replica()) as api:
        server.put(PODS, {"metadata": {"name": "web-0", "namespace": "shop"}})
        with pytest.raises(Unreachable, match="does not lead"):
            await api.evict(Pod(metadata=Meta(name="web-0", namespace="shop")))
        with pytest.raises(Unreachable, match="does not lead"):
            await api.create(NODES, {"metadata": {"name": "n-1"}})
        assert server.writes() == []
        assert api.writes == 0


async def test_a_lease_is_written_by_candidates_and_read_by_all() -> None:
    async with FakeApiServer() as server, api_for(server, ManualClock(), writer=Replica()) as api:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        assert (await api.get(NODES, "n-1")).metadata.name == "n-1"
        await api.create(LEASES, {"metadata": {"name": "l"}, "spec": {}}, "ops")
        assert server.has(LEASES, "l", "ops")


class UnreadableToken(httpx2.Auth):
    """As while a mounted token is exchanged."""

    is_readable = False

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        if not self.is_readable:
            raise PermissionError(13, "Permission denied", "token")
        yield request


def _api(body: bytes = b"{}", auth: httpx2.Auth | None = None) -> Api:
    transport = httpx2.MockTransport(lambda _request: httpx2.Response(200, content=body))
    client = httpx2.AsyncClient(base_url="http://api", transport=transport, auth=auth)
    return Api(client, ManualClock(), lambda: 0.5, deadline_seconds=0.01)


async def test_a_token_that_cannot_be_read_just_now_is_a_lost_call() -> None:
    async with _api(auth=UnreadableToken()) as api:
        calls: Calls = api
        with pytest.raises(Unreachable, match="Permission denied"):
            await calls.get(NODES, "n-1")
        with pytest.raises(Unreachable, match="Permission denied"):
            await anext(api.watch(NODES, resource_version="1", timeout_seconds=1))


async def test_bytes_that_are_no_text_are_an_answer_that_cannot_be_read() -> None:
    async with _api(b'{"metadata":{"name":"\xff\xfe"}}') as api:
        with pytest.raises(Refused, match="cannot be read"):
            await api.get(NODES, "n-1")
    async with _api(b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n') as api:
        with pytest.raises(Refused, match="cannot be read"):
            await anext(api.watch(NODES, resource_version="1", timeout_seconds=1))


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    clock = ManualClock()
    began = clock.now()
    limiter = RateLimiter(clock, qps=10, burst=5)
    passed: list[float] = []

    async def one() -> None:
        await limiter.take()
        passed.append(round((clock.now() - began) / SECOND, 3))

    await driven(clock, asyncio.gather(*(one() for _ in range(9))))
    assert passed == [0, 0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4]


async def test_rest_fills_the_bucket_to_the_burst_and_no_further() -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, qps=10, burst=3)
    assert [limiter.reserve() for _ in range(3)] == [0, 0, 0]
    await clock.advance(1000)
    assert [limiter.reserve() for _ in range(4)] == [0, 0, 0, pytest.approx(0.1)]


async def test_who_gives_up_waiting_leaves_the_turn_to_the_next() -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, qps=1, burst=1)
    await limiter.take()
    waiting = asyncio.ensure_future(limiter.take())
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert limiter.reserve() == pytest.approx(1)


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_pace_that_lets_nothing_through_is_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="would let nothing through"):
        RateLimiter(ManualClock(), qps, burst)


async def test_calls_are_paced_and_leases_overtake_them() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, api_for(server, clock, qps=1, burst=2) as api:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        for _ in range(2):
            await api.get(NODES, "n-1")
        third = asyncio.ensure_future(api.get(NODES, "n-1"))
        await settle()
        with pytest.raises(NotFound):
            await api.get(LEASES, "bigfleet", "default")
        assert len(server.calls("get", "nodes")) == 2
        await driven(clock, third)
        assert len(server.calls("get", "nodes")) == 3
