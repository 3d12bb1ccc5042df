"""Sentences on objects: written once, never in the way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bigfleet.edge.clock import ManualClock, settle
from bigfleet.edge.logs import NullLog
from bigfleet.kube.api import Writer
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import EVENTS
from bigfleet.kube.objects import Reference
from tests.kube_api import FakeApiServer, Replica, api_for

NODE = Reference(api_version="v1", kind="Node", name="n-1", uid="u-1")
POD = Reference(api_version="v1", kind="Pod", name="web-1", namespace="shop", uid="u-2")


@asynccontextmanager
async def telling(
    server: FakeApiServer, clock: ManualClock, writer: Writer | None = None
) -> AsyncIterator[Events]:
    async with api_for(server, clock, writer=writer) as api:
        events = Events(api, clock, NullLog(), component="bigfleet-operator", instance="pod-1")
        task = asyncio.ensure_future(events.run())
        try:
            yield events
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def written(server: FakeApiServer) -> list[dict[str, Any]]:
    return list(server.objects(EVENTS).values())


async def test_an_event_lies_beside_its_object() -> None:
    async with FakeApiServer() as server, telling(server, ManualClock()) as events:
        events.tell(POD, "Warning", "UntranslatableRequirement", "operator Gt")
        events.tell(NODE, "Normal", "Reclaimed", "given back")
        await server.until(lambda: len(written(server)) == 2)
        of_node, of_pod = written(server)
    assert of_pod["metadata"]["namespace"] == "shop"
    assert of_node["metadata"]["namespace"] == "default"
    assert of_node["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "n-1",
        "uid": "u-1",
    }
    assert (of_node["type"], of_node["reason"], of_node["message"]) == (
        "Normal",
        "Reclaimed",
        "given back",
    )
    assert of_node["reportingComponent"] == "bigfleet-operator"
    assert of_node["firstTimestamp"] == "2023-11-14T22:13:20Z"


async def test_the_same_sentence_is_written_once_in_ten_minutes() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, telling(server, clock) as events:
        for _ in range(5):
            events.tell(NODE, "Warning", "Blocked", "by a budget")
        events.tell(NODE, "Warning", "Blocked", "by another budget")
        await server.until(lambda: len(written(server)) == 2)
        await clock.advance(599)
        events.tell(NODE, "Warning", "Blocked", "by a budget")
        await clock.advance(2)
        events.tell(NODE, "Warning", "Blocked", "by a budget")
        await server.until(lambda: len(written(server)) == 3)
    assert len(server.calls("create", "events")) == 3


async def test_more_than_can_be_written_is_dropped_and_counted() -> None:
    async with FakeApiServer() as server, telling(server, ManualClock()) as events:
        gate = server.hold("create")
        events.tell(NODE, "Normal", "First", "in flight")
        await gate.reached()
        for i in range(1500):
            events.tell(NODE, "Normal", "Many", f"sentence {i}")
        assert events.dropped == 500
        gate.release()
        await server.until(lambda: len(written(server)) == 1001)


async def test_a_refused_event_does_not_stop_the_next() -> None:
    async with FakeApiServer() as server, telling(server, ManualClock()) as events:
        server.fail("create", status=403)
        events.tell(NODE, "Normal", "First", "refused")
        events.tell(NODE, "Normal", "Second", "written")
        await server.until(lambda: len(written(server)) == 1)
    assert (written(server)[0]["reason"], events.dropped) == ("Second", 1)


async def test_a_long_sentence_is_cut_to_what_the_api_takes() -> None:
    async with FakeApiServer() as server, telling(server, ManualClock()) as events:
        events.tell(NODE, "Normal", "Long", "x" * 5000)
        await server.until(lambda: written(server))
    assert len(written(server)[0]["message"]) == 1024


async def test_what_is_told_while_writing_is_not_allowed_is_written_later() -> None:
    replica = Replica()
    async with FakeApiServer() as server, telling(server, ManualClock(), replica) as events:
        for reason in ("First", "Second"):
            events.tell(NODE, "Normal", reason, "given back")
        await settle()
        assert server.writes() == []
        replica.leads = True
        events.resume()
        await server.until(lambda: len(written(server)) == 2)
        assert [each["reason"] for each in written(server)] == ["First", "Second"]
        assert events.dropped == 0
