"""Requests are marked Acknowledged in the cluster, several at a time, over real HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from bigfleet.edge.clock import ManualClock, next_turn
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import NullLog
from bigfleet.kube.api import Api
from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.kube.objects import ObjectKey
from bigfleet.operator.acknowledgements import Acknowledgements
from bigfleet.operator.driving.acknowledge_requests import AcknowledgeRequests
from bigfleet.operator.rollup import DemandBook
from tests.cluster_demand.requests import key, spec
from tests.kube_api import FakeApiServer, api_for


class Rig:
    def __init__(self, server: FakeApiServer, api: Api, acknowledge: AcknowledgeRequests) -> None:
        self.server = server
        self.api = api
        self.acknowledge = acknowledge

    def __getitem__(self, name: str) -> dict[str, object]:
        status = self.server.get(CAPACITY_REQUESTS, name, "team").get("status", {})
        assert isinstance(status, dict)
        return status

    def is_marked(self, name: str) -> bool:
        return self[name].get("phase") == "Acknowledged"


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await next_turn()


def request(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "team"}, "spec": {"priority": 0}}


@asynccontextmanager
async def rig(book: DemandBook, counts: Counts, concurrency: int = 16) -> AsyncIterator[Rig]:
    """With an object in the cluster for every request of the book."""
    clock = ManualClock(1_767_225_600_500_000_000)
    async with FakeApiServer() as server, api_for(server) as api:
        for place in book._requests:
            server.put(CAPACITY_REQUESTS, request(place.name))
        driver = AcknowledgeRequests(
            api, Acknowledgements(book), clock, NullLog(), counts, concurrency=concurrency
        )
        running = asyncio.create_task(driver.run())
        try:
            yield Rig(server, api, driver)
        finally:
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running


def book_of(*names: str) -> DemandBook:
    book = DemandBook("shop")
    for name in names:
        book.put(key(name), name, spec(interruptionPenalty="500m"), "Pending")
    return book


async def test_a_mark_says_since_when_and_in_which_buckets() -> None:
    book, counts = book_of("a"), Counts()
    async with rig(book, counts) as r:
        r.acknowledge.acknowledge(book.take_waiting(book.mark))
        await r.server.until(lambda: r.is_marked("a"))
        assert r["a"] == {
            "phase": "Acknowledged",
            "acknowledgedAt": "2026-01-01T00:00:00Z",
            "interruptionPenaltyBucket": "0.5",
            "reclamationPenaltyBucket": "unspecified",
        }
        (write,) = r.server.writes("capacityrequests")
        assert (write.call.verb, write.call.subresource) == ("patch", "status")


async def test_as_many_are_written_at_a_time_as_allowed() -> None:
    names = [f"r{n}" for n in range(10)]
    book, counts = book_of(*names), Counts()
    async with rig(book, counts, concurrency=4) as r:
        hold = r.server.hold("patch", "capacityrequests")
        r.acknowledge.acknowledge(book.take_waiting(book.mark))
        await until(lambda: len(hold.waiting) >= 4)
        await r.api.get(CAPACITY_REQUESTS, "r0", "team")
        assert len(hold.waiting) == 4, "a fifth would have come before the answer to a later call"
        hold.release()
        await until(lambda: counts.of("acknowledged_total") == 10)
        assert all(map(r.is_marked, names))
    assert counts.histograms["acknowledge_duration_seconds", ()].count == 1


async def test_a_request_that_is_gone_needs_no_mark() -> None:
    book, counts = book_of("gone", "a"), Counts()
    async with rig(book, counts, concurrency=1) as r:
        r.server.remove(CAPACITY_REQUESTS, "gone", "team")
        r.acknowledge.acknowledge(book.take_waiting(book.mark))
        await until(lambda: counts.of("acknowledged_total") == 1)
        assert r.is_marked("a")
    assert book.take_waiting(book.mark) == []


async def test_a_request_that_left_the_book_is_not_asked_for() -> None:
    book, counts = book_of("left", "a"), Counts()
    async with rig(book, counts, concurrency=1) as r:
        due = book.take_waiting(book.mark)
        book.remove(key("left"))
        r.acknowledge.acknowledge(due)
        await r.server.until(lambda: r.is_marked("a"))
        assert len(r.server.writes("capacityrequests")) == 1


async def test_a_mark_that_is_refused_waits_for_the_next_roll_up() -> None:
    book, counts = book_of("a", "b"), Counts()
    async with rig(book, counts, concurrency=1) as r:
        r.server.fail("patch", "capacityrequests", status=403, reason="Forbidden")
        r.acknowledge.acknowledge(book.take_waiting(book.mark))
        await r.server.until(lambda: r.is_marked("b"))
        assert not r.is_marked("a")
        again = book.take_waiting(book.mark)
        assert again == [key("a")]
        r.acknowledge.acknowledge(again)
        await r.server.until(lambda: r.is_marked("a"))


async def test_what_is_not_written_at_the_end_waits_for_another_acknowledgement() -> None:
    """A replica that loses its lease, and has it again later, still owes these marks."""
    book, counts = book_of("held", "queued"), Counts()
    async with rig(book, counts, concurrency=1) as r:
        hold = r.server.hold("patch", "capacityrequests")
        r.acknowledge.acknowledge(book.take_waiting(book.mark))
        await hold.reached()
    assert sorted(book.take_waiting(book.mark)) == [
        ObjectKey("team", "held"),
        ObjectKey("team", "queued"),
    ]


async def test_what_a_roll_up_did_not_have_is_not_marked_for_what_bore_its_name() -> None:
    """Marks wait for the line; meanwhile an object may be made anew, or ask for something else."""
    book, counts = book_of("anew", "changed", "a"), Counts()
    async with rig(book, counts, concurrency=1) as r:
        due = book.take_waiting(book.mark)
        book.put(key("anew"), "another", spec(), "Pending")
        book.put(key("changed"), "changed", spec(resources={"cpu": "2"}), "Pending")
        r.acknowledge.acknowledge(due)
        await r.server.until(lambda: r.is_marked("a"))
        assert not r.is_marked("anew")
        assert not r.is_marked("changed")
        assert sorted(book.take_waiting(book.mark)) == [key("anew"), key("changed")]
