"""A kind of objects that a cluster may have or not: whether it has is asked every minute."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem
from bigfleet.kube.api import Api
from bigfleet.kube.kinds import Kind
from bigfleet.kube.objects import ObjectKey
from bigfleet.kube.reflector import Reflector
from bigfleet.model.machines import Instant

T = TypeVar("T", bound=msgspec.Struct)

DISCOVERY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class KindNames:
    """How log lines speak of it."""

    #: How their events begin.
    event: str
    plural: str


class OptionalKind(Generic[T]):
    def __init__(
        self,
        names: KindNames,
        kinds: Sequence[Kind[T]],
        mode: str,
        api: Api,
        clock: Clock,
        draw: Callable[[], float],
        log: Log,
        narrowed: Callable[[T], T | None],
        changed: Callable[[ObjectKey, T | None, T | None], None],
        switched: Callable[[], None],
    ) -> None:
        """`kinds`: its versions, the best first; `mode`: auto, true or false; `switched`: it came,
        or left, or is served in another version: nothing is known of its objects any more."""
        self._names = names
        self._kinds = kinds
        self._mode = mode
        self._api, self._clock, self._draw, self._log = api, clock, draw, log
        self._narrowed, self._changed, self._switched = narrowed, changed, switched
        #: Which version is watched; None: there are none, once `_known`.
        self.kind: Kind[T] | None = None
        self._known = mode == "false"
        self._reflector: Reflector[T, T] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """For ever, unless it is turned off."""
        if self._mode == "false":
            return
        try:
            while True:
                try:
                    self._use(await self._served())
                except ApiProblem as problem:
                    self._log.warning(f"{self._names.event}.discovery", msg=str(problem))
                if self._watching is not None and self._watching.done():
                    # It never ends by itself; what it died of is this task's end too.
                    await self._watching
                await self._clock.sleep(DISCOVERY_SECONDS)
        finally:
            self._stop_watching()

    def is_fresh(self, at: Instant) -> bool:
        """Whether an object that is not in the cache is not in the cluster."""
        if not self._known:
            return False
        if self._reflector is None:
            return True
        cache = self._reflector.cache
        return cache.synced and not cache.stale_seconds(at)

    async def _served(self) -> Kind[T] | None:
        for kind in self._kinds:
            if await self._api.serves(kind):
                return kind
        return None

    def _use(self, kind: Kind[T] | None) -> None:
        if kind == self.kind and self._known:
            return
        self._stop_watching()
        self.kind, self._known = kind, True
        event, plural = self._names.event, self._names.plural
        self._switched()
        if kind is None:
            text = f"this cluster has no {plural}; it is asked again every minute"
            tell = self._log.warning if self._mode == "true" else self._log.info
            tell(f"{event}.absent", msg=text)
            return
        self._log.info(f"{event}.watched", msg=f"{plural} are read as {kind.version}")
        self._reflector = Reflector(
            self._api, kind, self._narrowed, self._clock, self._draw, self._log
        )
        self._reflector.cache.subscribe(self._changed)
        self._watching = asyncio.create_task(self._reflector.run(), name=event)

    def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        self._watching = self._reflector = None
