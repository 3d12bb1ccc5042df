"""A store of leases behind a line that delays and loses, all on one clock."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from bigfleet.edge.clock import ManualClock
from bigfleet.kube.answers import ObjectPage, Unreachable, object_of, problem_of
from bigfleet.kube.calls import Body
from bigfleet.kube.kinds import LEASES, Kind
from bigfleet.kube.objects import ObjectKey, Pod
from tests.kube_api.refusals import Refusal
from tests.kube_api.storage import Resource, Storage

T = TypeVar("T", bound=msgspec.Struct)
LEASE = Resource(LEASES.group, LEASES.version, LEASES.plural, LEASES.kind, True)
KEY = ObjectKey("default", "bigfleet")


class Leases:
    def __init__(self) -> None:
        self.storage = Storage(lambda: "2026-01-01T00:00:00Z", lambda: None)

    @property
    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = self.storage.find(LEASE, KEY)["spec"]
        return found

    @property
    def holder(self) -> str:
        return str(self.spec["holderIdentity"])


class Line:
    """One candidate's way to the store. `delay` is drawn for each message; None loses it."""

    def __init__(
        self, leases: Leases, clock: ManualClock, delay: Callable[[], float | None]
    ) -> None:
        self._leases = leases
        self._clock = clock
        self.delay = delay

    async def get(self, kind: Kind[T], name: str, namespace: str = "") -> T:
        return await self._over(kind, lambda s: s.find(LEASE, ObjectKey(namespace, name)))

    async def create(self, kind: Kind[T], body: Body, namespace: str = "") -> T:
        return await self._over(kind, lambda s: s.create(LEASE, namespace, dict(body)))

    async def replace(self, kind: Kind[T], name: str, body: Body, namespace: str = "") -> T:
        key = ObjectKey(namespace, name)
        return await self._over(kind, lambda s: s.replace(LEASE, key, dict(body)))

    async def _over(self, kind: Kind[T], do: Callable[[Storage], Any]) -> T:
        await self._travel()
        try:
            answer = msgspec.json.encode(do(self._leases.storage))
        except Refusal as refusal:
            await self._travel()
            raise problem_of(refusal.status, refusal.encoded(), {}) from None
        await self._travel()
        return object_of(kind, answer)

    async def _travel(self) -> None:
        delay = self.delay()
        if delay is None:
            await self._clock.sleep(8)
            raise Unreachable(0, "Unreachable", "lost")
        if delay:
            await self._clock.sleep(delay)

    async def list_page(
        self, kind: Kind[T], namespace: str = "", *, field_selector: str = "", limit: int = 500
    ) -> ObjectPage[T]:
        raise NotImplementedError

    async def merge_patch(
        self, kind: Kind[T], name: str, patch: Body, namespace: str = "", *, subresource: str = ""
    ) -> T:
        raise NotImplementedError

    async def delete(self, kind: Kind[T], name: str, namespace: str = "", *, uid: str = "") -> None:
        raise NotImplementedError

    async def evict(self, pod: Pod, grace_seconds: int | None = None) -> None:
        raise NotImplementedError

    async def serves(self, kind: Kind[T]) -> bool:
        return True
