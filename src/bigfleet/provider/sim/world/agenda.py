"""What the substrate has still to do, in the order of time and then of name.

A thing to do has a key, and one time: putting it again moves it. Ties are broken by key, never by
the order of arrival, so two runs do the same things in the same order.
"""

from heapq import heapify, heappop, heappush

from bigfleet.model.machines import Instant

Key = tuple[str, ...]
_SLACK = 64


class Agenda:
    def __init__(self) -> None:
        #: All and only what is still to be done.
        self._at_of: dict[Key, Instant] = {}
        #: May hold outdated times of moved and dropped keys; they are skipped when they surface.
        self._heap: list[tuple[Instant, Key]] = []

    def __len__(self) -> int:
        return len(self._at_of)

    def put(self, at: Instant, *key: str) -> None:
        if self._at_of.get(key) == at:
            return
        self._at_of[key] = at
        heappush(self._heap, (at, key))
        if len(self._heap) > 2 * len(self._at_of) + _SLACK:
            self._heap = [(at, key) for key, at in self._at_of.items()]
            heapify(self._heap)

    def drop(self, *key: str) -> None:
        self._at_of.pop(key, None)

    def at(self, *key: str) -> Instant | None:
        return self._at_of.get(key)

    def next_at(self) -> Instant | None:
        while self._heap:
            at, key = self._heap[0]
            if self._at_of.get(key) == at:
                return at
            heappop(self._heap)
        return None

    def pop(self) -> Key:
        """The first key; the caller has seen that there is one by `next_at`."""
        _, key = heappop(self._heap)
        del self._at_of[key]
        return key
