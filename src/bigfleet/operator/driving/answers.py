"""Answers to what the shard asked, told in order as the line has room for them.

The line's outbox is small, and to overflow it costs the session. Yet a thousand drains may end in
one moment, at their common deadline or when a cache has become complete, and would then end every
session anew. So answers wait here; there are never more of them than the shard has asked for.
"""

from collections import deque

from bigfleet.model.session_frames import OperatorFrame
from bigfleet.operator.driving.line import ShardLine


class OperatorAnswers:
    def __init__(self, line: ShardLine) -> None:
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
