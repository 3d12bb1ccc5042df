"""What has to be looked at: each object once however often it changed, and again after a failure.

An object that changes while it is looked at is looked at once more. The queue is bounded: what no
longer fits is forgotten, and `missed` says that everything must be offered anew. Time comes in as
an argument; the jitter of a wait is drawn by the caller's `draw` (0 up to 1).
"""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

K = TypeVar("K", bound=Hashable)


#: For what passes by itself.
PASSING = Backoff(0.5, 60.0)
#: For what stays until a person mends it. A thousand pods that a quota refuses must not hold up
#: those that it does not refuse.
REFUSED = Backoff(15.0, 300.0)
#: More than any cluster has pods (Kubernetes ends at 150,000).
LARGEST = 200_000


class WorkQueue(Generic[K]):
    def __init__(self, draw: Callable[[], float], largest: int = LARGEST) -> None:
        self._draw = draw
        self._largest = largest
        #: In the order in which they were offered.
        self._ready: OrderedDict[K, None] = OrderedDict()
        #: All and only those that wait for their time; the earliest time wins.
        self._waiting: dict[K, Instant] = {}
        self._due: list[tuple[Instant, int, K]] = []
        self._order = 0
        #: Those a worker looks at now, and whether they changed meanwhile.
        self._held: dict[K, bool] = {}
        #: Failures in a row.
        self._failures: dict[K, int] = {}
        #: Something did not fit: offer everything again.
        self.missed = False

    def __len__(self) -> int:
        return len(self._ready) + len(self._waiting) + len(self._held)

    def offer(self, key: K) -> None:
        """To be looked at by the next free worker, even if it waits after a failure."""
        if key in self._held:
            self._held[key] = True
        elif key in self._ready:
            return
        elif key not in self._waiting and len(self) >= self._largest:
            self.missed = True
        else:
            self._waiting.pop(key, None)
            self._ready[key] = None

    def offer_at(self, key: K, at: Instant) -> None:
        """Not before `at`, unless something else asks for it first."""
        if key in self._ready or (key in self._waiting and self._waiting[key] <= at):
            return
        if key not in self._waiting and len(self) >= self._largest:
            self.missed = True
            return
        self._waiting[key] = at
        self._order += 1
        heapq.heappush(self._due, (at, self._order, key))

    def take(self, at: Instant) -> K | None:
        """The next one, to be handed back by `done` or `failed`."""
        while self._due and self._due[0][0] <= at:
            due, _, key = heapq.heappop(self._due)
            if self._waiting.get(key) == due:
                del self._waiting[key]
                self.offer(key)
        if not self._ready:
            return None
        key, _ = self._ready.popitem(last=False)
        self._held[key] = False
        return key

    def done(self, key: K) -> None:
        self._failures.pop(key, None)
        if self._held.pop(key):
            self.offer(key)

    def failed(self, key: K, at: Instant, waits: Backoff = PASSING) -> float:
        """Again after a wait that doubles, whose seconds are the result."""
        changed = self._held.pop(key)
        failures = self._failures[key] = min(self._failures.get(key, 0) + 1, 20)
        wait = waits.half_drawn(failures, self._draw())
        if changed and failures == 1:
            self.offer(key)
        else:
            self.offer_at(key, at + round(wait * SECOND))
        return wait

    def next_due(self) -> Instant | None:
        """When `take` will have something; None: when something is offered."""
        while self._due and self._waiting.get(self._due[0][2]) != self._due[0][0]:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None

    def clear(self) -> None:
        """Nothing is to be done any more; what is looked at now still comes back."""
        self._ready.clear()
        self._waiting.clear()
        self._due.clear()
        self._failures.clear()
        self.missed = False
