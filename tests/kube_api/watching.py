"""One open watch: what it was sent, what it has to be sent next."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from tests.kube_api import refusals
from tests.kube_api.storage import Change, Object, Resource, Storage


class Watch:
    def __init__(
        self,
        storage: Storage,
        resource: Resource,
        chosen: Callable[[Object], bool],
        after: int,
        replayed: list[Object],
    ) -> None:
        self._storage = storage
        self._resource = resource
        self._chosen = chosen
        self._after = after
        self._replayed = replayed
        self._woken = asyncio.Event()
        self._bookmarks = 0
        self._ended = False
        self._is_new = True
        self._is_frozen = False
        self.is_broken = False
        self.plural = resource.plural

    def wake(self) -> None:
        self._woken.set()

    def bookmark(self) -> None:
        self._bookmarks += 1
        self.wake()

    def freeze(self, frozen: bool) -> None:
        """As on a line that lost its other end: open, and nothing comes."""
        self._is_frozen = frozen
        self.wake()

    def end(self, broken: bool = False) -> None:
        self._ended = True
        self.is_broken = self.is_broken or broken
        self.wake()

    def is_ended(self) -> bool:
        return self._ended

    async def lines(self) -> AsyncGenerator[bytes, None]:
        for found in self._replayed:
            yield _line("ADDED", found)
        while not self.is_ended():
            self._woken.clear()
            if self._is_frozen:
                await self._woken.wait()
                continue
            if self._is_new and self._after < self._storage.compacted:
                yield _line("ERROR", refusals.expired(str(self._after), self._storage.version).body)
                return
            self._is_new = False
            for change in self._storage.changes(self.plural, self._after):
                self._after = change.version
                if (event := self._event_of(change)) is not None:
                    yield event
                if self.is_ended():
                    return
            if self._bookmarks:
                self._bookmarks = 0
                self._after = self._storage.version
                yield self._bookmark_line()
            if not self._woken.is_set():
                await self._woken.wait()

    def _event_of(self, change: Change) -> bytes | None:
        """As the selector sees it: what leaves the selection is DELETED, what enters is ADDED."""
        was = change.before is not None and self._chosen(change.before)
        now = change.after is not None and self._chosen(change.after)
        if now:
            return _line("MODIFIED" if was else "ADDED", change.after)
        if not was or change.before is None:
            return None
        # As it was when it was last selected, with the version of its leaving.
        meta = {**change.before["metadata"], "resourceVersion": str(change.version)}
        return _line("DELETED", {**change.before, "metadata": meta})

    def _bookmark_line(self) -> bytes:
        meta = {"resourceVersion": str(self._after), "creationTimestamp": None}
        empty = {"kind": self._resource.kind, "apiVersion": self._resource.api_version}
        # Like Go's zero value of the kind: it need not be a valid object.
        return _line("BOOKMARK", {**empty, "metadata": meta, "spec": {"containers": None}})


def _line(kind: str, found: Any) -> bytes:
    event = {"type": kind, "object": found}
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
