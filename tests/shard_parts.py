"""The parts of a shard as the shard makes them, and the clusters that are connected to them."""

from collections.abc import Mapping
from itertools import count

from bigfleet.model.machines import Instant
from bigfleet.model.ownership import Ownership
from bigfleet.model.session_frames import PROTOCOL, Hello, ShardFrame
from bigfleet.shard.effects import KeptRows, KeptState, Stored
from bigfleet.shard.events import SessionClosed, SessionOpened
from bigfleet.shard.parts import Parts, ShardStart
from bigfleet.shard.settings import ShardSettings

#: Addresses by name.
CLOUD: Mapping[str, str] = {"cloud": "cloud:9000"}


def start_of(
    settings: ShardSettings | None = None,
    *,
    providers: Mapping[str, str] = CLOUD,
    epoch: int = 1,
    at: Instant = 0,
    stored: Stored | None = None,
    store: KeptState | None = None,
    ownership: Ownership | None = None,
    ids: str = "id",
) -> ShardStart:
    """Random names are id-1, id-2 and so on. Without `store`, nothing keeps the disk from being
    written, and it held `stored`."""
    known, numbers = settings or ShardSettings(), count(1)
    owned = ownership or Ownership(known.id)
    kept = store or KeptRows(stored or {})
    return ShardStart(known, epoch, providers, lambda: f"{ids}-{next(numbers)}", at, kept, owned)


def parts_of(
    settings: ShardSettings | None = None,
    *,
    providers: Mapping[str, str] = CLOUD,
    epoch: int = 1,
    at: Instant = 0,
    stored: Stored | None = None,
    ownership: Ownership | None = None,
    ids: str = "id",
) -> Parts:
    """As `start_of` has it."""
    return Parts(
        start_of(
            settings,
            providers=providers,
            epoch=epoch,
            at=at,
            stored=stored,
            ownership=ownership,
            ids=ids,
        )
    )


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
