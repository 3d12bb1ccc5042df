"""What waits for the line to the shard: answers in order, bounded; the roll-up is not among them.

An answer is never dropped. Where they outgrow the bound the session must end: the shard then asks
again on the next one, which is what makes ending it safe.
"""

from collections import deque
from typing import Protocol

from bigfleet.model.session_frames import OperatorFrame


class Outbox:
    def __init__(self, most: int) -> None:
        self._most = most
        self._frames: deque[OperatorFrame] = deque()

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def has_room(self) -> bool:
        return len(self._frames) < self._most

    def put(self, frame: OperatorFrame) -> bool:
        """False: full, and the session must end."""
        if not self.has_room:
            return False
        self._frames.append(frame)
        return True

    def take(self) -> OperatorFrame | None:
        return self._frames.popleft() if self._frames else None

    def clear(self) -> None:
        """With the session that asked for them."""
        self._frames.clear()


class Line(Protocol):
    """The session with the shard, as far as answers use it."""

    @property
    def connected(self) -> bool: ...

    @property
    def has_room(self) -> bool: ...

    def say(self, frame: OperatorFrame, /) -> None: ...


class OperatorAnswers:
    """Answers to what the shard asked, told in order as the line has room for them.

    The line's outbox is small, and to overflow it costs the session. Yet a thousand drains may end
    in one moment, at their common deadline or when a cache has become complete, and would then end
    every session anew. So answers wait here; there are never more of them than the shard has asked
    for.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._waiting: deque[OperatorFrame] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def say(self, frame: OperatorFrame) -> None:
        """Never blocks. Without a session it is not said: the shard asks again in the next one."""
        if self._line.connected:
            self._waiting.append(frame)
            self.on_room()

    def on_room(self) -> None:
        while self._waiting and self._line.has_room:
            self._line.say(self._waiting.popleft())

    def on_disconnected(self) -> None:
        self._waiting.clear()
