"""A copy of all objects of a kind, kept up to date: list once, then watch.

Laws: a list is applied whole or not at all; what is missing from a new list is reported as deleted;
a watch resumes after the last version that was seen, so an interruption loses and repeats nothing.
Only a version the server has forgotten (410) leads to a new list. How old the copy may be is always
known: `stale_seconds`. A resumed watch is open before what was missed has been told on it, and no
word of the server's says when that is done; so it is believed only after a while. What an object is
narrowed to, and so kept, is the caller's choice.
"""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Generic, TypeVar, cast

import msgspec

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import DELETED, ApiProblem, Expired, NotFound, WatchEvent
from bigfleet.kube.api import SILENT, Api
from bigfleet.kube.kinds import Kind
from bigfleet.kube.objects import Meta, ObjectKey
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant

T = TypeVar("T", bound=msgspec.Struct)
V = TypeVar("V")

Changed = Callable[[ObjectKey, V | None, V | None], None]

#: The server ends a watch after a time drawn from here to twice as long.
_WATCH_SECONDS = 300
_WAITS = Backoff(0.5, 30.0)
#: A watch that ends sooner counts as failed, lest we ask in circles.
_SHORTEST_WATCH = 1 * SECOND
#: A server tells what was missed from its memory, in milliseconds: far below this.
CATCH_UP_SECONDS = 2.0
_CATCH_UP = round(CATCH_UP_SECONDS * SECOND)
#: Watches end now and then; what is missed between one and the next is as if told late.
_NO_GAP = 1 * SECOND


class Cache(Generic[V]):
    def __init__(self, at: Instant) -> None:
        #: All and only the objects that `narrow` kept.
        self.objects: dict[ObjectKey, V] = {}
        #: A whole list was applied; stays true when the watch fails later.
        self.synced = False
        #: From when on an open watch tells all; None: none is open.
        self._all_told_from: Instant | None = None
        #: When the server was last known to have told us all.
        self._current_at = at
        self._changed: list[Changed[V]] = []
        self._listed: list[Callable[[], None]] = []

    def stale_seconds(self, at: Instant) -> float:
        """0 while a watch tells all, else the time since the server was last known to."""
        return 0.0 if self._tells_all(at) else max(0.0, (at - self._current_at) / SECOND)

    def subscribe(self, changed: Changed[V], listed: Callable[[], None] | None = None) -> None:
        """`changed(key, before, after)`, None for absent; `listed` after each list.

        Who comes late is told of what is already there.
        """
        self._changed.append(changed)
        for key, value in self.objects.items():
            changed(key, None, value)
        if listed is not None:
            self._listed.append(listed)
            if self.synced:
                listed()

    # -- for the reflector -----------------------------------------------------------------------

    def put(self, key: ObjectKey, value: V | None) -> None:
        """None: not there (any more). An equal value is not a change."""
        before = self.objects.get(key)
        if value is None:
            if before is None:
                return
            del self.objects[key]
        elif before == value:
            return
        else:
            self.objects[key] = value
        for changed in self._changed:
            changed(key, before, value)

    def put_all(self, found: dict[ObjectKey, V]) -> None:
        for key in [key for key in self.objects if key not in found]:
            self.put(key, None)
        for key, value in found.items():
            self.put(key, value)
        self.synced = True
        for listed in self._listed:
            listed()

    def listed(self, at: Instant) -> None:
        self._current_at, self._all_told_from = at, None

    def opened(self, at: Instant) -> None:
        is_gap = at - self._current_at > _NO_GAP
        self._all_told_from = at + _CATCH_UP if is_gap else at

    def heard(self, at: Instant) -> None:
        if self._tells_all(at):
            self._current_at = at

    def lost(self) -> None:
        self._all_told_from = None

    def _tells_all(self, at: Instant) -> bool:
        return self._all_told_from is not None and at >= self._all_told_from


class Reflector(Generic[T, V]):
    def __init__(
        self,
        api: Api,
        kind: Kind[T],
        narrow: Callable[[T], V | None],
        clock: Clock,
        draw: Callable[[], float],
        log: Log,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> None:
        self._api = api
        self._kind = kind
        self._narrow = narrow
        self._clock = clock
        self._draw = draw
        self._log = log
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        #: Everything up to here is in the cache; empty: list first.
        self._version = ""
        self._failures = 0
        self._opened_at: Instant | None = None
        self.cache: Cache[V] = Cache(clock.now())
        #: Why it could not go on when it last tried; empty while it can.
        self.trouble = ""

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except Expired:
                self._version = ""
                self.cache.lost()
                self._failures += 1
                if self._failures == 1:
                    continue
                await self._pause("the server forgets faster than we read")
            except ApiProblem as problem:
                if problem.reason != SILENT:
                    # The line was known to work until this moment.
                    self.cache.heard(self._clock.now())
                self.cache.lost()
                self._forgive()
                self._failures += 1
                await self._pause(self._why(problem))

    def _why(self, problem: ApiProblem) -> str:
        if not isinstance(problem, NotFound):
            return problem.text
        kind = f"{self._kind.plural}.{self._kind.group}".rstrip(".")
        return (
            f"the API server knows no {kind}: install the definition (`bigfleet operator crds` "
            f"prints those of BigFleet)"
        )

    async def _list(self) -> None:
        found, version = await everything(
            self._api,
            self._kind,
            self._narrow,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        self.cache.put_all(found)
        self.cache.listed(self._clock.now())
        self._version = version
        self._log.info("listed", kind=self._kind.plural, objects=len(found))

    async def _watch(self) -> None:
        self._opened_at = None
        events = self._api.watch(
            self._kind,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=self._version,
            timeout_seconds=round(_WATCH_SECONDS * (1 + self._draw())),
            opened=self._opened,
        )
        async with aclosing(events):
            async for event in events:
                self._take(event)
        self.cache.heard(self._clock.now())
        self.cache.lost()
        if not self._forgive():
            self._failures += 1
            await self._pause("the server ended the watch at once")

    def _opened(self) -> None:
        self.trouble = ""
        self._opened_at = self._clock.now()
        self.cache.opened(self._opened_at)

    def _forgive(self) -> bool:
        """A watch that lived for a while ends a row of failures, however quiet it was."""
        opened_at, self._opened_at = self._opened_at, None
        if opened_at is None or self._clock.now() - opened_at < _SHORTEST_WATCH:
            return False
        self._failures = 0
        return True

    def _take(self, event: WatchEvent[T]) -> None:
        if event.object is not None:
            gone = event.type == DELETED
            self.cache.put(key_of(event.object), None if gone else self._narrow(event.object))
        self._version = event.resource_version or self._version
        self._failures = 0
        self.cache.heard(self._clock.now())

    async def _pause(self, why: str) -> None:
        seconds = _WAITS.half_drawn(self._failures, self._draw())
        self.trouble = why
        kind = self._kind.plural
        self._log.warning(
            "watch_interrupted", subject=kind, kind=kind, why=why, again_in_seconds=seconds
        )
        await self._clock.sleep(seconds)


async def everything(
    api: Api,
    kind: Kind[T],
    narrow: Callable[[T], V | None],
    *,
    namespace: str = "",
    label_selector: str = "",
    field_selector: str = "",
) -> tuple[dict[ObjectKey, V], str]:
    """All objects as of one moment, and its resourceVersion; read by the page.

    Where the pages expire under our hands, everything is asked for at once: that cannot expire.
    """
    found: dict[ObjectKey, V] = {}
    token, limit = "", 500
    while True:
        try:
            page = await api.list_page(
                kind,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                continue_token=token,
            )
        except Expired:
            if not token:
                raise
            found, token, limit = {}, "", 0
            continue
        for item in page.items:
            if (value := narrow(item)) is not None:
                found[key_of(item)] = value
        token = page.continue_token
        if not token:
            return found, page.resource_version


def key_of(found: msgspec.Struct) -> ObjectKey:
    return cast("Meta", cast("Any", found).metadata).key
