"""What waits for the line to the shard: answers in order, bounded; the roll-up is not among them.

An answer is never dropped. Where they outgrow the bound the session must end: the shard then asks
again on the next one, which is what makes ending it safe.
"""

from collections import deque

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
