"""A cache of objects: complete, current, and honest about its age."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest

from bigfleet.edge.clock import SECOND, Clock, ManualClock
from bigfleet.edge.logs import NullLog
from bigfleet.kube.api import SILENCE_SECONDS, Api
from bigfleet.kube.kinds import NODES, PODS, Kind
from bigfleet.kube.objects import Node, ObjectKey, Pod
from bigfleet.kube.reflector import CATCH_UP_SECONDS, Reflector, everything
from tests.kube.waiting import until
from tests.kube_api import FakeApiServer, api_for


def node(name: str, zone: str = "a") -> dict[str, object]:
    return {"metadata": {"name": name, "labels": {"zone": zone}}}


def zone_of(found: Node) -> str | None:
    return found.metadata.labels.get("zone")


def key(name: str) -> ObjectKey:
    return ObjectKey("", name)


@dataclass
class RecordingListener:
    """What a subscriber was told."""

    reflector: Reflector[Node, str]
    changes: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    lists: int = 0

    def changed(self, key: ObjectKey, before: str | None, after: str | None) -> None:
        self.changes.append((key.name, before, after))

    def listed(self) -> None:
        self.lists += 1

    @property
    def zones(self) -> dict[str, str]:
        return {key.name: zone for key, zone in self.reflector.cache.objects.items()}

    def stale(self, clock: Clock) -> float:
        return self.reflector.cache.stale_seconds(clock.now())


@asynccontextmanager
async def reflecting(
    server: FakeApiServer, clock: ManualClock, selector: str = ""
) -> AsyncIterator[RecordingListener]:
    async with api_for(server, clock) as api:
        reflector = Reflector(
            api, NODES, zone_of, clock, lambda: 0.5, NullLog(), label_selector=selector
        )
        seen = RecordingListener(reflector)
        reflector.cache.subscribe(seen.changed, seen.listed)
        task = asyncio.ensure_future(reflector.run())
        try:
            yield seen
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def healed(server: FakeApiServer, clock: ManualClock, watches: int = 1) -> None:
    """Moves the clock over back-offs until a watch is open."""
    async with asyncio.timeout(60):
        while server.watches("nodes") < watches:
            await clock.advance(0.1)


async def test_a_list_and_then_changes_make_the_cache() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server:
        server.put(NODES, node("n-1"))
        async with reflecting(server, clock) as seen:
            assert not seen.reflector.cache.synced
            await server.until(lambda: server.watches("nodes"))
            assert (seen.zones, seen.lists) == ({"n-1": "a"}, 1)
            server.put(NODES, node("n-2"))
            server.put(NODES, node("n-1", "b"))
            server.remove(NODES, "n-2")
            await until(lambda: len(seen.changes) == 4)
    assert seen.changes == [
        ("n-1", None, "a"),
        ("n-2", None, "a"),
        ("n-1", "a", "b"),
        ("n-2", "a", None),
    ]


async def test_a_cache_longer_than_a_page_is_synced_with_its_last_page_only() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server:
        for i in range(1203):
            server.put(NODES, node(f"n-{i:04d}"))
        last = server.hold("list", when=lambda call: "-203-" in call.query.get("continue", ""))
        async with reflecting(server, clock) as seen:
            await last.reached()
            assert (len(seen.zones), seen.reflector.cache.synced) == (0, False)
            last.release()
            await until(lambda: seen.reflector.cache.synced)
            assert len(seen.zones) == 1203
        assert len(server.calls("list")) == 3


async def test_pages_that_expire_are_read_anew_and_whole() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, api_for(server, clock) as api:
        for i in range(700):
            server.put(NODES, node(f"n-{i:04d}"))
        second = server.hold("list", when=lambda call: "continue" in call.query)
        asked = asyncio.ensure_future(everything(api, NODES, zone_of))
        await second.reached()
        server.remove(NODES, "n-0001")
        server.compact()
        second.release()
        found, version = await asked
        assert len(found) == 699
        assert key("n-0001") not in found
        assert version == str(server.storage.version)


async def test_what_vanished_while_the_server_forgot_is_told_as_deleted() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server:
        server.put(NODES, node("n-1"))
        server.put(NODES, node("n-2"))
        async with reflecting(server, clock) as seen:
            await server.until(lambda: server.watches("nodes"))
            server.drop_watches()
            server.remove(NODES, "n-1")
            server.put(NODES, node("n-3"))
            server.compact()
            await healed(server, clock)
            await until(lambda: seen.lists == 2)
            assert seen.zones == {"n-2": "a", "n-3": "a"}
    assert seen.changes[2:] == [("n-1", "a", None), ("n-3", None, "a")]


async def test_a_watch_dropped_in_the_middle_loses_nothing_and_repeats_nothing() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server:
        async with reflecting(server, clock) as seen:
            await server.until(lambda: server.watches("nodes"))
            for i in range(60):
                server.put(NODES, node(f"n-{i}"))
                server.put(NODES, node(f"n-{i}", "b"))
                if i % 20 == 10:
                    await until(lambda: seen.changes)
                    server.drop_watches(clean=i % 40 == 10)
                    server.remove(NODES, f"n-{i}")
                    await server.until(lambda: not server.watches("nodes"))
                    await healed(server, clock)
            await until(lambda: len(seen.zones) == 57 and seen.zones.get("n-59") == "b")
        assert len(server.calls("list")) == 1
    history: dict[str, list[tuple[str | None, str | None]]] = {}
    for name, before, after in seen.changes:
        history.setdefault(name, []).append((before, after))
    lived = [(None, "a"), ("a", "b")]
    assert history == {
        f"n-{i}": [*lived, ("b", None)] if i in (10, 30, 50) else lived for i in range(60)
    }


async def test_a_bookmark_moves_the_version_a_watch_resumes_from() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server:
        async with reflecting(server, clock) as seen:
            await server.until(lambda: server.watches("nodes"))
            server.put(PODS, {"metadata": {"name": "elsewhere"}})
            version = server.storage.version
            server.bookmark()
            server.put(NODES, node("n-1"))
            await until(lambda: seen.changes)
            server.put(PODS, {"metadata": {"name": "elsewhere-2"}})
            server.bookmark()
            server.compact()
            await clock.advance(2)
            server.drop_watches(clean=True)
            await healed(server, clock)
        resumed = server.calls("watch")[-1].query["resourceVersion"]
        assert int(resumed) == server.storage.version > version
        assert len(server.calls("list")) == 1


async def test_a_watch_asks_for_an_end_of_its_own_and_for_bookmarks() -> None:
    async with FakeApiServer() as server, reflecting(server, ManualClock()):
        await server.until(lambda: server.watches("nodes"))
        query = server.calls("watch")[0].query
    assert (query["timeoutSeconds"], query["allowWatchBookmarks"]) == ("450", "true")


async def test_an_object_that_leaves_the_selection_leaves_the_cache() -> None:
    async with FakeApiServer() as server:
        server.put(NODES, node("n-1"))
        server.put(NODES, node("n-2", "b"))
        async with reflecting(server, ManualClock(), "zone=a") as seen:
            await server.until(lambda: server.watches("nodes"))
            assert seen.zones == {"n-1": "a"}
            server.put(NODES, node("n-1", "b"))
            server.put(NODES, node("n-2", "a"))
            await until(lambda: seen.zones == {"n-2": "a"})


async def test_what_narrows_to_nothing_is_not_in_the_cache() -> None:
    async with FakeApiServer() as server:
        server.put(NODES, {"metadata": {"name": "bare"}})
        server.put(NODES, node("n-1"))
        async with reflecting(server, ManualClock()) as seen:
            await server.until(lambda: server.watches("nodes"))
            assert seen.zones == {"n-1": "a"}
            server.put(NODES, {"metadata": {"name": "n-1"}})
            await until(lambda: seen.zones == {})
    assert seen.changes == [("n-1", None, "a"), ("n-1", "a", None)]


async def test_a_change_of_a_dropped_field_is_not_a_change() -> None:
    async with FakeApiServer() as server:
        server.put(NODES, node("n-1"))
        async with reflecting(server, ManualClock()) as seen:
            await server.until(lambda: server.watches("nodes"))
            server.put(NODES, {**node("n-1"), "status": {"images": ["heartbeat"]}})
            server.put(NODES, node("n-2"))
            await until(lambda: len(seen.zones) == 2)
    assert seen.changes == [("n-1", None, "a"), ("n-2", None, "a")]


async def test_an_open_watch_is_fresh_however_quiet_and_an_error_makes_it_age() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, reflecting(server, clock) as seen:
        await server.until(lambda: server.watches("nodes"))
        await until(lambda: seen.stale(clock) == 0)
        await clock.advance(400)
        assert seen.stale(clock) == 0
        server.fail("watch", status=503, times=10_000)
        server.drop_watches()
        await until(lambda: clock.next_due() is not None)
        await clock.advance(90)
        assert 89 <= seen.stale(clock) <= 91
        assert seen.reflector.cache.synced
        server.heal()
        await healed(server, clock)
        await clock.advance(CATCH_UP_SECONDS)
        await until(lambda: seen.stale(clock) == 0)


class SilentStream(httpx2.AsyncByteStream):
    """A stream that is told one event and then nothing, until the client gives up."""

    def __init__(self, event: bytes, gives_up: asyncio.Event) -> None:
        self._event = event
        self._gives_up = gives_up

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._event
        await self._gives_up.wait()
        raise httpx2.ReadTimeout("")


async def test_a_watch_that_fell_silent_is_as_old_as_its_last_word() -> None:
    clock, gives_up = ManualClock(), asyncio.Event()
    event = b'{"type":"ADDED","object":{"metadata":{"name":"n-1","labels":{"zone":"a"}}}}\n'

    def answer(request: httpx2.Request) -> httpx2.Response:
        if "watch" not in request.url.params:
            return httpx2.Response(200, json={"metadata": {"resourceVersion": "7"}, "items": []})
        assert request.extensions["timeout"]["read"] == SILENCE_SECONDS
        return httpx2.Response(200, stream=SilentStream(event, gives_up))

    client = httpx2.AsyncClient(base_url="http://api", transport=httpx2.MockTransport(answer))
    async with Api(client, clock, lambda: 0.5) as api:
        reflector = Reflector(api, NODES, zone_of, clock, lambda: 0.5, NullLog())
        task = asyncio.ensure_future(reflector.run())
        await until(lambda: reflector.cache.objects)
        await clock.advance(SILENCE_SECONDS)
        assert reflector.cache.stale_seconds(clock.now()) == 0
        gives_up.set()
        await until(lambda: clock.next_due() is not None)
        assert reflector.cache.stale_seconds(clock.now()) == SILENCE_SECONDS
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_quiet_watch_that_lived_ends_a_row_of_failures() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, reflecting(server, clock) as seen:
        await server.until(lambda: server.watches("nodes"))
        server.fail("watch", status=503, times=5)
        server.drop_watches()
        await healed(server, clock)
        await clock.advance(120)
        await until(lambda: seen.stale(clock) == 0)
        server.drop_watches()
        await until(lambda: clock.next_due() is not None)
        assert ((clock.next_due() or 0) - clock.now()) / SECOND == pytest.approx(0.375)


async def test_errors_are_answered_with_longer_and_longer_waits_up_to_half_a_minute() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server, reflecting(server, clock):
        await server.until(lambda: server.watches("nodes"))
        server.fail("watch", status=403, times=10_000)
        server.drop_watches()
        waits: list[int] = []
        while len(waits) < 10:
            await server.until(lambda: len(server.calls("watch")) > len(waits))
            await until(lambda: clock.next_due() is not None)
            waits.append((clock.next_due() or 0) - clock.now())
            await clock.advance(waits[-1] / 1e9)
    assert [round(wait / 1e9, 3) for wait in waits] == [
        *[0.375, 0.75, 1.5, 3.0, 6.0, 12.0],
        *[22.5] * 4,
    ]


async def test_an_object_that_cannot_be_read_keeps_the_cache_from_looking_complete() -> None:
    clock = ManualClock()
    async with FakeApiServer() as server:
        server.put(NODES, {"metadata": {"name": "n-1"}, "spec": {"unschedulable": 7}})
        async with reflecting(server, clock) as seen:
            await server.until(lambda: server.done)
            await until(lambda: clock.next_due() is not None)
            assert not seen.reflector.cache.synced
            server.put(NODES, node("n-1"))
            await healed(server, clock)
            assert seen.zones == {"n-1": "a"}


async def test_text_with_odd_line_breaks_in_it_stays_one_event() -> None:
    odd = "a\u2028b\u0085c"
    async with FakeApiServer() as server, reflecting(server, ManualClock()) as seen:
        await server.until(lambda: server.watches("nodes"))
        server.put(NODES, node("n-1", odd))
        await until(lambda: seen.zones == {"n-1": odd})


async def test_who_subscribes_late_is_told_what_is_there() -> None:
    async with FakeApiServer() as server:
        server.put(NODES, node("n-1"))
        async with reflecting(server, ManualClock()) as seen:
            await until(lambda: seen.reflector.cache.synced)
            late = RecordingListener(seen.reflector)
            seen.reflector.cache.subscribe(late.changed, late.listed)
    assert (late.changes, late.lists) == ([("n-1", None, "a")], 1)


@pytest.mark.parametrize("namespace", ["", "shop"])
async def test_one_namespace_or_all(namespace: str) -> None:
    pods: Kind[Pod] = PODS
    async with FakeApiServer() as server, api_for(server) as api:
        for place in ("shop", "bank"):
            server.put(PODS, {"metadata": {"name": "p", "namespace": place}})
        found, _ = await everything(api, pods, lambda pod: pod.metadata.uid, namespace=namespace)
    assert {k.namespace for k in found} == ({namespace} if namespace else {"shop", "bank"})
