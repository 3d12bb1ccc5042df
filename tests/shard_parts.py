"""The parts of a shard as the shard makes them, and the clusters that are connected to them."""

from collections.abc import Mapping
from itertools import count

from bigfleet.model.machines import Instant
from bigfleet.model.ownership import Ownership
from bigfleet.model.session_frames import PROTOCOL, Hello, ShardFrame
from bigfleet.shard.events import SessionClosed, SessionOpened
from bigfleet.shard.parts import Parts, ShardStart, Stored
from bigfleet.shard.settings import ShardSettings

#: Addresses by name.
CLOUD: Mapping[str, str] = {"cloud": "cloud:9000"}


def parts_of(
    settings: ShardSettings | None = None,
    *,
    providers: Mapping[str, str] = CLOUD,
    epoch: int = 1,
    at: Instant = 0,
    stored: Stored | None = None,
    ownership: Ownership | None = None,
) -> Parts:
    """Ids are id-1, id-2 and so on."""
    known, numbers = settings or ShardSettings(), count(1)
    owned = ownership or Ownership(known.id)
    start = ShardStart(
        known, epoch, providers, lambda: f"id-{next(numbers)}", at, stored or {}, owned
    )
    return Parts(start)


class Clusters:
    """The sessions of a shard, by cluster."""

    def __init__(self, parts: Parts, *connected: str) -> None:
        self._sessions = parts.sessions
        self._numbers = count(1)
        #: Of the session that is open.
        self._number_of: dict[str, int] = {}
        for cluster in connected:
            self.connect(cluster)

    def connect(self, cluster: str, *features: str, at: Instant = 0) -> None:
        self._number_of[cluster] = number = next(self._numbers)
        hello = Hello(cluster, "+".join((PROTOCOL, *features)))
        assert self._sessions.on_opened(SessionOpened(number, hello, "test", at))

    def disconnect(self, *clusters: str, at: Instant = 0) -> None:
        """Of all of them without a name."""
        for cluster in clusters or tuple(self._number_of):
            self._sessions.on_closed(SessionClosed(self._number_of.pop(cluster), at))

    def read(self) -> list[tuple[str, ShardFrame]]:
        """(cluster, frame) of what was sent since the last time."""
        return [
            (cluster, frame)
            for cluster, number in self._number_of.items()
            for frame in self._sessions.take(number, 1_000_000)
        ]
