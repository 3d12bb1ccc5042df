"""Events for open pages: each is encoded once, kept for those who come back, and sent to all.

Pure: time is told with every call, and a client is a queue that somebody else empties. A topic is
sent at most four times a second: what comes in between is merged into the next event. A client that
does not read is closed when too much waits for it; it comes back by itself and is told what it
missed, or that it must load everything anew.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.web.answers import json_bytes

MOST_CLIENTS = 256
#: Bytes that may wait for one client.
MOST_BEHIND = 2**20
#: Between two events of a topic.
SHORTEST_GAP = SECOND // 4
#: For so long events are kept for those who come back, and no more than so many bytes of them.
KEPT_FOR = 300 * SECOND
MOST_KEPT = 32 * 2**20

Merge = Callable[[Any, Any], Any]


def newest(_before: Any, after: Any) -> Any:
    """Of a topic that tells how things are."""
    return after


class HubFull(Exception):
    """There are as many clients as there may be."""


@dataclass(frozen=True, slots=True)
class SentEvent:
    number: int
    topic: str
    at: Instant
    frame: bytes


@dataclass(eq=False)
class Client:
    topics: frozenset[str]
    #: Called when something waits, or it was closed.
    wake: Callable[[], None]
    waiting: deque[bytes] = field(default_factory=deque)
    size: int = 0
    is_closed: bool = False

    def put(self, frame: bytes) -> None:
        if self.size + len(frame) > MOST_BEHIND:
            self.close()
        elif not self.is_closed:
            self.waiting.append(frame)
            self.size += len(frame)
            self.wake()

    def take(self) -> bytes:
        """All that waits; empty: nothing."""
        taken = b"".join(self.waiting)
        self.waiting.clear()
        self.size = 0
        return taken

    def close(self) -> None:
        self.is_closed = True
        self.waiting.clear()
        self.size = 0
        self.wake()


@dataclass
class _Topic:
    merge: Merge
    #: Whether the last event says all there is to know.
    is_state: bool
    #: Merged, not sent yet.
    pending: Any = None
    sent_at: Instant = 0
    #: Of an event of it that was not made, as nobody was there: what was before is lost.
    gap: int = 0
    #: When its last client left.
    left_at: Instant = 0
    last: SentEvent | None = None


class Hub:
    def __init__(self, now: Instant, topics: Mapping[str, Merge]) -> None:
        """`topics`: how two events of each become one; `newest` where the last says it all.

        Numbers of events begin with the time: ids of an earlier life are older than all of ours.
        """
        self._topics = {name: _Topic(merge, merge is newest) for name, merge in topics.items()}
        self._number = now // 1_000_000
        #: Events up to this one are not kept any more.
        self._forgotten = self._number
        self._kept: deque[SentEvent] = deque()
        self._kept_bytes = 0
        self._place = (0, 0)
        self.clients: set[Client] = set()

    @property
    def number(self) -> int:
        """Of the last event."""
        return self._number

    @property
    def topics(self) -> Iterable[str]:
        return self._topics.keys()

    def is_wanted(self, topic: str, now: Instant) -> bool:
        """Someone listens to it, or left a moment ago and may come back."""
        known = self._topics[topic]
        listened = any(topic in client.topics for client in self.clients)
        return listened or bool(known.left_at and now - known.left_at < KEPT_FOR)

    def at(self, epoch: int, cycle: int) -> None:
        """Where the fleet is: ids of events name it."""
        self._place = max(self._place, (epoch, cycle))

    def offer(self, topic: str, document: Any, now: Instant) -> None:
        """Sent now, or merged into the next event of its topic."""
        known = self._topics[topic]
        before = known.pending
        known.pending = document if before is None else known.merge(before, document)
        if now - known.sent_at >= SHORTEST_GAP:
            self._send(topic, known, now)

    def due(self) -> Instant | None:
        """When something that was merged may be sent; None: nothing waits."""
        waiting = (each.sent_at for each in self._topics.values() if each.pending is not None)
        first = min(waiting, default=None)
        return None if first is None else first + SHORTEST_GAP

    def tick(self, now: Instant) -> None:
        """Sends what is due, and forgets what is old."""
        for topic, known in self._topics.items():
            if known.pending is not None and now - known.sent_at >= SHORTEST_GAP:
                self._send(topic, known, now)
        while self._kept and (now - self._kept[0].at > KEPT_FOR or self._kept_bytes > MOST_KEPT):
            gone = self._kept.popleft()
            self._kept_bytes -= len(gone.frame)
            self._forgotten = gone.number

    def join(
        self, topics: Iterable[str], last_id: str, wake: Callable[[], None], hello: Any
    ) -> Client:
        """Raises HubFull. `last_id`: of the last event it has; empty: it comes for the first time.

        First `hello`; then what it missed, a `reset` where that is not kept any more, or, for one
        that is new, the last event of each topic that says it all.
        """
        if len(self.clients) >= MOST_CLIENTS:
            raise HubFull
        client = Client(frozenset(topics), wake)
        self.clients.add(client)
        client.put(_frame("hello", "", hello))
        missed = self._missed(client.topics, last_id) if last_id else None
        if last_id and missed is None:
            client.put(_frame("reset", self._id(self._number), {}))
        if missed is None:
            told = (self._topics[topic] for topic in sorted(client.topics))
            missed = [each.last for each in told if each.is_state and each.last is not None]
        for event in missed:
            client.put(event.frame)
        return client

    def leave(self, client: Client, now: Instant) -> None:
        self.clients.discard(client)
        for topic in client.topics:
            self._topics[topic].left_at = now

    def forget_who_left(self) -> None:
        """Those who come back are told that they must load everything anew."""
        for known in self._topics.values():
            known.left_at = 0

    def close(self) -> None:
        for client in self.clients:
            client.close()

    # -- within ----------------------------------------------------------------------------------

    def _id(self, number: int) -> str:
        epoch, cycle = self._place
        return f"{epoch}.{cycle}.{number}"

    def _send(self, topic: str, known: _Topic, now: Instant) -> None:
        document, known.pending, known.sent_at = known.pending, None, now
        self._number += 1
        if not known.is_state and not self.is_wanted(topic, now):
            known.gap = self._number
            return
        name = topic.partition(":")[0]
        frame = _frame(name, self._id(self._number), document)
        event = known.last = SentEvent(self._number, topic, now, frame)
        self._kept.append(event)
        self._kept_bytes += len(frame)
        for client in tuple(self.clients):
            if topic in client.topics:
                client.put(frame)

    def _missed(self, topics: frozenset[str], last_id: str) -> list[SentEvent] | None:
        """None: not all of it is kept, or the id is not one of ours."""
        last = _number_in(last_id)
        lost = max((self._topics[topic].gap for topic in topics), default=0)
        if last is None or not max(self._forgotten, lost) <= last <= self._number:
            return None
        missed = [each for each in self._kept if each.number > last and each.topic in topics]
        if sum(len(each.frame) for each in missed) > MOST_BEHIND // 2:
            return None
        return missed


def _number_in(last_id: str) -> int | None:
    parts = last_id.split(".")
    is_ours = len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts)
    return int(parts[2]) if is_ours and len(parts[2]) < 19 else None


def _frame(name: str, event_id: str, document: Any) -> bytes:
    """JSON has no line breaks of its own."""
    head = f"event: {name}\n" + (f"id: {event_id}\n" if event_id else "")
    return head.encode() + b"data: " + json_bytes(document) + b"\n\n"
