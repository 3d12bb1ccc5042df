"""The outbox of one session: what is to be sent, in order, without ever waiting for the reader.

A frame with a supersedes key takes the place of the queued one with the same key; frames without
one (Acknowledgement, BootstrapRequest, ReclaimInstruction) are never replaced. What is being sent
is no longer replaced but still counts, until the next `take` or `sent` says that it is gone.

An update never moves in front of an instruction to reclaim its machine: "Configured" after it says
that the machine stays, before it nothing.

The replay after a Hello is one entry that makes its frames when they are taken: a cluster of a
hundred thousand machines costs its ids, not its frames, and does not break the bounds meant for
readers who do not keep up. Its age counts from the last time some of it was taken.

Sizes are estimates of the encoded frame (`estimated_bytes`): the state does not encode.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import (
    AvailableCapacityUpdate,
    BootstrapRequest,
    NodeStateUpdate,
    ReclaimInstruction,
    ShardFrame,
    supersedes_key_of,
)

#: The update of a machine as it is now; None: it is gone and there is nothing to tell.
UpdateOf = Callable[[str], NodeStateUpdate | None]

#: Tags, lengths and numbers of any frame.
_FRAME_BYTES = 32
#: Tags and lengths of a map entry, and of a quantity's digits.
_ENTRY_BYTES = 6
_QUANTITY_BYTES = 16


def estimated_bytes(frame: ShardFrame) -> int:
    """About what the frame takes on the wire, within a factor of two."""
    if isinstance(frame, NodeStateUpdate):
        texts = (frame.provider_id, frame.node_name, frame.cluster_id, frame.last_error)
        labels = sum(len(k) + len(v) + _ENTRY_BYTES for k, v in frame.labels.items())
        resources = sum(len(name) + _QUANTITY_BYTES for name in frame.resources)
        named = 2 * len(frame.machine_id) + sum(map(len, texts))
        return _FRAME_BYTES + named + labels + resources
    if isinstance(frame, AvailableCapacityUpdate):
        # The fingerprint is made of the requirements' text.
        return _FRAME_BYTES + 2 * len(frame.fingerprint)
    if isinstance(frame, BootstrapRequest):
        values = sum(len(r.key) + sum(map(len, r.values)) for r in frame.requirements)
        return _FRAME_BYTES + len(frame.request_id) + len(frame.cluster_id) + values
    if isinstance(frame, ReclaimInstruction):
        return _FRAME_BYTES + len(frame.instruction_id) + sum(map(len, frame.nodes))
    return _FRAME_BYTES


@dataclass(slots=True)
class _Queued:
    frame: ShardFrame
    size: int
    #: Of the first frame that stood here.
    since: Instant


class _Replay:
    """Machines still to be told of, in order, and what superseded some of them meanwhile."""

    def __init__(self, machines: Iterable[str], update_of: UpdateOf, since: Instant) -> None:
        self._left = list(machines)
        self._left.reverse()
        self._newer: dict[str, NodeStateUpdate | None] = dict.fromkeys(self._left)
        self._update_of = update_of
        self.since = since

    def __len__(self) -> int:
        return len(self._left)

    def __contains__(self, machine: str) -> bool:
        return machine in self._newer

    def supersede(self, frame: NodeStateUpdate) -> None:
        self._newer[frame.machine_id] = frame

    def pop(self) -> NodeStateUpdate | None:
        machine = self._left.pop()
        return self._newer.pop(machine) or self._update_of(machine)


class Outbox:
    def __init__(self) -> None:
        #: Oldest first, by growing numbers.
        self._queue: OrderedDict[int, _Queued | _Replay] = OrderedDict()
        self._number = 0
        #: Where the newest queued frame of a supersedes key stands.
        self._place_of: dict[str, int] = {}
        #: Where the newest queued instruction to reclaim a node stands.
        self._reclaim_of: dict[str, int] = {}
        self._bytes = 0
        self._sending: list[_Queued] = []
        self._replay: _Replay | None = None
        self._replay_place = 0
        #: When some of the replay was last taken: until it ends, nothing is older than this.
        self._replayed_at: Instant = 0

    @property
    def waiting(self) -> bool:
        """Whether `take` would give something."""
        return bool(self._queue)

    @property
    def frames(self) -> int:
        """Unsent frames, those being sent included, the replay apart."""
        return len(self._queue) - (self._replay is not None) + len(self._sending)

    @property
    def replay_left(self) -> int:
        return len(self._replay) if self._replay is not None else 0

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def oldest_at(self) -> Instant | None:
        """Since when the oldest unsent frame waits; None: nothing waits."""
        if self._sending:
            return max(self._sending[0].since, self._replayed_at)
        if self._queue:
            return max(next(iter(self._queue.values())).since, self._replayed_at)
        return None

    def put(self, frame: ShardFrame, at: Instant) -> bool:
        """Queue a frame; True if it took the place of an older one."""
        place = self._replaceable(frame)
        if place is None:
            self._append(frame, at)
            return False
        queued = self._queue[place]
        if isinstance(queued, _Replay):
            assert isinstance(frame, NodeStateUpdate), "a replay is of machines"
            queued.supersede(frame)
            return True
        size = estimated_bytes(frame)
        self._bytes += size - queued.size
        queued.frame, queued.size = frame, size
        return True

    def put_replay(self, machines: Iterable[str], update_of: UpdateOf, at: Instant) -> None:
        """Queue an update of each machine, to be made when it is taken; once per session."""
        assert self._replay is None, "a session replays once"
        replay = _Replay(machines, update_of, at)
        if len(replay):
            self._replay = replay
            self._number += 1
            self._queue[self._number] = replay
            self._replay_place = self._number

    def take(self, limit: int, at: Instant) -> list[ShardFrame]:
        """The next frames to be sent; what was taken before is gone now."""
        self.sent()
        while self._queue and len(self._sending) < limit:
            place, head = next(iter(self._queue.items()))
            if isinstance(head, _Queued):
                self._sending.append(head)
                self._forget_place(head.frame, place)
            else:
                self._take_replay(head, limit, at)
                if len(head):
                    break
                self._replay = None
            del self._queue[place]
        return [queued.frame for queued in self._sending]

    def sent(self) -> None:
        """What was taken has left."""
        self._bytes -= sum(queued.size for queued in self._sending)
        self._sending = []

    def _replaceable(self, frame: ShardFrame) -> int | None:
        """Where the older frame stands whose place this one may take."""
        place, asked = self._place_of.get(supersedes_key_of(frame)), 0
        if isinstance(frame, NodeStateUpdate):
            if place is None and self._replay is not None and frame.machine_id in self._replay:
                place = self._replay_place
            names = (frame.machine_id, frame.node_name)
            asked = max(self._reclaim_of.get(name, 0) for name in names)
        return place if place is not None and place > asked else None

    def _append(self, frame: ShardFrame, at: Instant) -> None:
        size = estimated_bytes(frame)
        self._bytes += size
        self._number += 1
        self._queue[self._number] = _Queued(frame, size, at)
        if key := supersedes_key_of(frame):
            self._place_of[key] = self._number
        elif isinstance(frame, ReclaimInstruction):
            self._reclaim_of.update(dict.fromkeys(frame.nodes, self._number))

    def _forget_place(self, frame: ShardFrame, place: int) -> None:
        """The frame at this place is on its way."""
        if key := supersedes_key_of(frame):
            _drop(self._place_of, key, place)
        elif isinstance(frame, ReclaimInstruction):
            for node in frame.nodes:
                _drop(self._reclaim_of, node, place)

    def _take_replay(self, replay: _Replay, limit: int, at: Instant) -> None:
        self._replayed_at = at
        while len(replay) and len(self._sending) < limit:
            frame = replay.pop()
            if frame is not None:
                size = estimated_bytes(frame)
                self._bytes += size
                self._sending.append(_Queued(frame, size, at))


def _drop(places: dict[str, int], name: str, place: int) -> None:
    if places.get(name) == place:
        del places[name]
