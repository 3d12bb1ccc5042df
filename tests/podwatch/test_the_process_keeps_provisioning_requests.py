"""A running pod controller and ProvisioningRequests: answers become conditions and bookings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bigfleet.edge.driver import RealClock
from bigfleet.kube.kinds import CAPACITY_REQUESTS, PODS, PRIORITY_CLASSES
from bigfleet.kube.provisioning_requests import ATOMIC_SCALE_UP, PROVISIONING_REQUESTS
from bigfleet.podwatch.driving.process import PodwatchProcess
from tests.kube_api import FakeApiServer
from tests.podwatch.pods import Json, pod_json
from tests.podwatch.provisioning import (
    ARRIVING,
    CONSUME,
    NAME,
    NO,
    UID,
    UNKNOWN,
    YES,
    Answers,
    request_json,
    template_json,
)
from tests.podwatch.rig import Lines, acknowledge, fast, requests, running
from tests.shard_system.waiting import until


@asynccontextmanager
async def answered(
    server: FakeApiServer, answers: Answers, **words: Any
) -> AsyncIterator[PodwatchProcess]:
    words = {"clock": fast(5)} | words
    ours: dict[str, Any] = {"provisioning_requests": "true", "cluster_id": "shop"}
    async with running(server, questions=answers, **ours, **words) as process:
        yield process


def prepared(server: FakeApiServer, *cpus: str) -> None:
    server.define(PROVISIONING_REQUESTS)
    for place, cpu in enumerate(cpus or ("500m",)):
        meta = {"name": f"set-{place}", "namespace": "shop"}
        server.put("podtemplates", {"metadata": meta, "template": template_json(cpu)})


def says(server: FakeApiServer, name: str) -> str:
    status: Json = server.get(PROVISIONING_REQUESTS, NAME, "shop").get("status", {})
    found = [each for each in status.get("conditions", ()) if each["type"] == name]
    return f"{found[0]['status']} {found[0]['reason']}" if found else ""


def shares(server: FakeApiServer) -> list[Json]:
    return requests(server, UID)


async def booked(server: FakeApiServer, number: int) -> None:
    """All shares are there, the shard has heard of them, and the request says so."""
    await server.until(lambda: len(shares(server)) == number)
    for body in shares(server):
        acknowledge(server, body)
    await server.until(lambda: says(server, "Provisioned").startswith("True"))


async def test_a_check_books_all_its_pods_as_demand_once_the_shard_says_yes() -> None:
    answers = Answers()
    async with FakeApiServer(RealClock()) as server:
        prepared(server, "500m", "2")
        server.put(PROVISIONING_REQUESTS, request_json(2, 1))
        async with answered(server, answers):
            await server.until(lambda: len(shares(server)) == 3)
            assert says(server, "Accepted") == "True Accepted"
            assert says(server, "Provisioned") == "False CapacityRequested"
            await booked(server, 3)
            assert says(server, "Provisioned") == "True CapacityIsFound"
            (needs,) = answers.asked
            assert sum(need.aggregate["cpu"] for need in needs) == 3000
            assert {need.cluster for need in needs} == {"shop"}
            owner = shares(server)[0]["metadata"]["ownerReferences"][0]
            assert (owner["kind"], owner["uid"]) == ("ProvisioningRequest", UID)


async def test_an_atomic_request_that_cannot_fit_makes_no_request_at_all() -> None:
    answers = Answers(covered=NO)
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(2, of=ATOMIC_SCALE_UP))
        async with answered(server, answers):
            await server.until(lambda: says(server, "Provisioned") == "False CapacityIsNotFound")
            await until(lambda: len(answers.asked) > 2)
            assert server.calls("create", "capacityrequests") == []
            answers.covered, answers.there = YES, ARRIVING
            await server.until(lambda: len(shares(server)) == 2)
            for body in shares(server):
                acknowledge(server, body)
            await until(lambda: len(answers.looked_at) > 2)
            assert says(server, "Provisioned") == "False CapacityRequested"
            answers.there = YES
            await server.until(lambda: says(server, "Provisioned") == "True CapacityIsProvisioned")


async def test_an_atomic_request_that_is_not_complete_in_time_withdraws_everything() -> None:
    answers = Answers(there=ARRIVING)
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        body = request_json(2, of=ATOMIC_SCALE_UP, ValidUntilSeconds="600")
        server.put(PROVISIONING_REQUESTS, body)
        async with answered(server, answers, clock=None):
            await server.until(lambda: len(shares(server)) == 2)
            for share in shares(server):
                acknowledge(server, share)
            await until(lambda: answers.looked_at)
        async with answered(server, answers, identity="b", clock=fast(200)):
            await server.until(lambda: says(server, "Failed") == "True Expired")
            await server.until(lambda: not shares(server))


async def test_a_booking_expires_and_its_pods_go_on_asking() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(2))
        async with answered(server, Answers(), clock=None):
            await booked(server, 2)
            server.put(PODS, pod_json("one", annotations={CONSUME: NAME}))
            await server.until(lambda: len(requests(server, "uid-one")) == 1)
            assert len(requests(server)) == 2
        async with answered(server, Answers(), identity="b", clock=fast(200)):
            await server.until(lambda: says(server, "BookingExpired") == "True BookingExpired")
            await server.until(lambda: not shares(server))
            assert len(requests(server, "uid-one")) == 1


async def test_pods_take_their_shares_over_and_nothing_is_made_or_deleted_for_them() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server, "500m", "2")
        server.put(PROVISIONING_REQUESTS, request_json(2, 1))
        async with answered(server, Answers(), clock=None):
            await booked(server, 3)
            made = len(server.calls("create", "capacityrequests"))
            for name, cpu in (("a", "500m"), ("b", "500m"), ("c", "2")):
                server.put(PODS, pod_json(name, cpu=cpu, annotations={CONSUME: NAME}))
            await server.until(lambda: not shares(server))
            assert len(requests(server)) == 3
            assert {len(requests(server, f"uid-{name}")) for name in "abc"} == {1}
            assert len(server.calls("create", "capacityrequests")) == made
            assert server.calls("delete", "capacityrequests") == []
            assert says(server, "Provisioned") == "True CapacityIsFound"


async def test_a_share_that_changed_before_it_is_taken_is_taken_at_the_next_look() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(1))
        async with answered(server, Answers()):
            await booked(server, 1)
            server.fail("patch", "capacityrequests", status=409, times=1)
            server.put(PODS, pod_json("a", annotations={CONSUME: NAME}))
            await server.until(lambda: requests(server, "uid-a"))
            assert len(requests(server)) == 1


async def test_a_deleted_request_withdraws_its_booking_and_leaves_pods_their_own() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(3))
        async with answered(server, Answers()) as process:
            await booked(server, 3)
            server.put(PODS, pod_json("a", annotations={CONSUME: NAME}))
            await server.until(lambda: requests(server, "uid-a"))
            server.remove(PROVISIONING_REQUESTS, NAME, "shop")
            await server.until(lambda: len(requests(server)) == 1)
            assert requests(server, "uid-a")
            await until(lambda: not any(process.provisioning.sizes().values()))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (request_json(0), "InvalidCount"),
        (request_json(2_000_000_000), "TooManyPods"),
        (request_json(1, ValidUntilSeconds="soon"), "InvalidParameter"),
        (request_json(), "NoPodSets"),
    ],
)
async def test_what_cannot_be_meant_fails_in_its_status_and_disturbs_nothing(
    body: Json, reason: str
) -> None:
    answers = Answers()
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, body)
        async with answered(server, answers):
            await server.until(lambda: says(server, "Failed") == f"True {reason}")
            server.put(PODS, pod_json("web-1"))
            await server.until(lambda: requests(server, "uid-web-1"))
            assert answers.asked == []
            assert shares(server) == []


async def test_a_template_that_is_missing_is_told_and_found_once_it_is_there() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(1, 1))
        async with answered(server, Answers()):
            await server.until(lambda: says(server, "Accepted") == "False PodTemplateNotFound")
            meta = {"name": "set-1", "namespace": "shop"}
            template = template_json("1", priorityClassName="high")
            server.put("podtemplates", {"metadata": meta, "template": template})
            await server.until(lambda: says(server, "Accepted") == "False PriorityClassNotFound")
            server.put(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 7})
            await server.until(lambda: len(shares(server)) == 2)
            assert sorted(each["spec"]["priority"] for each in shares(server)) == [0, 7]


async def test_other_classes_are_left_alone_and_that_is_said_once() -> None:
    lines = Lines()
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        for name in ("x", "y"):
            server.put(PROVISIONING_REQUESTS, request_json(1, name=name, of="queued.example.com"))
        async with answered(server, Answers(), lines=lines) as process:
            await until(lambda: lines.of("provisioning_requests.class"))
            server.put(PROVISIONING_REQUESTS, request_json(1))
            await server.until(lambda: len(shares(server)) == 1)
            assert len(process.provisioning) == 1
        assert len(lines.of("provisioning_requests.class")) == 1
        assert "status" not in server.get(PROVISIONING_REQUESTS, "x", "shop")


async def test_a_shard_that_does_not_answer_is_said_in_the_status() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(1))
        async with answered(server, Answers(covered=UNKNOWN)):
            await server.until(lambda: says(server, "Provisioned") == "False ShardDoesNotAnswer")
            assert shares(server) == []


async def test_a_replica_that_takes_over_asks_nothing_again_and_writes_nothing_new() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(2))
        async with answered(server, Answers(), clock=None):
            await booked(server, 2)
        writes = len(server.writes("capacityrequests") + server.writes("provisioningrequests"))
        answers = Answers()
        async with answered(server, answers, identity="b", clock=None):
            await until(lambda: answers.looked_at)
            server.put(PODS, pod_json("web-1"))
            await server.until(lambda: requests(server, "uid-web-1"))
        after = len(server.writes("capacityrequests") + server.writes("provisioningrequests"))
        assert answers.asked == []
        assert after == writes + 1


async def test_requests_that_are_turned_off_ask_for_nothing_any_more() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(2))
        async with answered(server, Answers()):
            await booked(server, 2)
        async with running(server, identity="b", clock=fast()):
            await server.until(lambda: not requests(server))


async def test_shares_that_garbage_collection_left_are_withdrawn() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        labels = {"bigfleet.lucy.sh/owned-by-provisioning-request": "uid-gone"}
        meta = {"name": "cr-provreq-x", "namespace": "shop", "labels": labels}
        server.put(CAPACITY_REQUESTS, {"metadata": meta, "spec": {"resources": {}, "priority": 0}})
        async with answered(server, Answers()):
            await server.until(lambda: not requests(server))


async def test_the_next_question_counts_what_another_request_was_granted_just_now() -> None:
    answers = Answers()
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(2))
        async with answered(server, answers):
            await server.until(lambda: len(shares(server)) == 2)
            answers.covered = NO
            server.put(PROVISIONING_REQUESTS, request_json(1, name="next"))
            await until(lambda: len(answers.asked) > 1)
            assert answers.beside[0] == []
            assert answers.beside[1] == answers.asked[0]
            await server.until(lambda: waits_for_others(server))
            await booked(server, 2)
            await server.until(lambda: ended(server))
            assert answers.beside[-1] == []


def condition_of(server: FakeApiServer, name: str, condition: str) -> str:
    status: Json = server.get(PROVISIONING_REQUESTS, name, "shop").get("status", {})
    found = [each for each in status.get("conditions", ()) if each["type"] == condition]
    return f"{found[0]['status']} {found[0]['reason']}" if found else ""


def waits_for_others(server: FakeApiServer) -> bool:
    return condition_of(server, "next", "Provisioned") == "False OtherBookingsFirst"


def ended(server: FakeApiServer) -> bool:
    return condition_of(server, "next", "Failed") == "True CapacityIsNotFound"


@pytest.mark.parametrize("missing", ["shard_addr", "cluster_id"])
async def test_without_a_shard_to_ask_auto_leaves_them_alone_and_says_what_is_missing(
    missing: str,
) -> None:
    lines = Lines()
    words: dict[str, Any] = {"shard_addr": "127.0.0.1:1", "cluster_id": "shop", missing: ""}
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(1))
        async with running(server, lines=lines, **words) as process:
            server.put(PODS, pod_json("web-1"))
            await server.until(lambda: requests(server, "uid-web-1"))
            assert len(process.provisioning) == 0
    (off,) = lines.of("provisioning_requests.off")
    assert f"{missing} not set" in off


async def test_with_a_shard_named_auto_asks_it_and_its_absence_is_in_the_status() -> None:
    async with FakeApiServer(RealClock()) as server:
        prepared(server)
        server.put(PROVISIONING_REQUESTS, request_json(1))
        async with running(server, shard_addr="127.0.0.1:1", cluster_id="shop"):
            await server.until(lambda: says(server, "Provisioned") == "False ShardDoesNotAnswer")
            assert shares(server) == []
