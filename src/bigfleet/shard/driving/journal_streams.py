"""The journal for readers of the admin service: as it is written, and as it lies on disk.

Files are read in a thread. What is written while a reader looks is kept for it within bounds, and a
reader that does not keep up is ended: it may ask again from the last record it has.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol

from bigfleet.journal.frames import sound_length
from bigfleet.journal.segments import Segment, UnreadableJournal, records_of, segments_of
from bigfleet.model.journal import (
    CycleOutput,
    InputChange,
    JournalEvent,
    JournalHeader,
    JournalRecord,
    Keyframe,
    TickRun,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import FetchCall, TailCall
from bigfleet.model.shard_views import ActionView, StoryEvent
from bigfleet.wire.journal_records import HEADER, KEYFRAME, kind_of, records_from
from bigfleet.wire.journal_rpcs import CHUNK_BYTES

#: At a time.
MOST_READERS = 8
#: Of records that wait for one reader.
MOST_WAITING_BYTES = 16 * 2**20
#: Records read from a file between two answers.
_AT_A_TIME = 200
_NAMES = {
    JournalHeader: "header",
    Keyframe: "keyframe",
    InputChange: "input",
    CycleOutput: "output",
    TickRun: "tick_run",
    ActionView: "outcome",
    StoryEvent: "story",
    JournalEvent: "event",
}
_EVERYTHING_BUT = ("keyframe",)


class WrittenJournal(Protocol):
    """`journal/writer.py` `JournalWriter`."""

    @property
    def first_cycle(self) -> int: ...
    def listen(self, listener: Callable[[list[bytes]], None], /) -> None: ...
    def forget(self, listener: Callable[[list[bytes]], None], /) -> None: ...


class _Waiting:
    """Records that were written and not yet sent: the writer's thread adds, the loop takes."""

    def __init__(self, with_keyframes: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._with_keyframes = with_keyframes
        self._records: deque[bytes] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self.is_too_slow = False

    def put(self, records: list[bytes]) -> None:
        """In the writer's thread."""
        try:
            self._loop.call_soon_threadsafe(self._add, records)
        except RuntimeError:
            # The loop has ended, and with it every reader.
            return

    async def take(self) -> list[bytes]:
        """At least one, once there is one."""
        await self._news.wait()
        self._news.clear()
        taken = list(self._records)
        self._records.clear()
        self._bytes = 0
        return taken

    def _add(self, records: list[bytes]) -> None:
        for record in records:
            if self._with_keyframes or kind_of(record) != KEYFRAME:
                self._records.append(record)
                self._bytes += len(record)
        if self._bytes > MOST_WAITING_BYTES:
            self.is_too_slow = True
            self._records.clear()
            self._bytes = 0
        self._news.set()


class JournalStreams:
    def __init__(self, directory: Path | None, written: WrittenJournal | None, epoch: int) -> None:
        """`directory`: where the journal is kept; None: none is."""
        self._directory = directory
        self._written = written
        self._epoch = epoch
        self._readers = 0

    async def tail(self, call: TailCall) -> AsyncGenerator[JournalRecord, None]:
        directory, written = self._kept()
        unknown = [kind for kind in call.kinds if not kind.replace("_", "").isalnum()]
        if call.from_seq < -1 or unknown:
            text = "from_seq: -1 for the oldest, 0 for now, or a record; kinds: such as outcome"
            raise Rejected(Code.INVALID_ARGUMENT, text)
        with self._one_more():
            segments = await self._from(directory, call) if call.from_seq else []
            for segment in segments[:-1]:
                async for record in _read(segment, call, self._epoch):
                    yield record
            with _listening(written, "keyframe" in call.kinds) as waiting:
                # From here on nothing is missed; the newest segment may have got a successor.
                newer = await asyncio.to_thread(_listed, directory) if segments else []
                last = 0
                for segment in newer:
                    if _begin(segment) < _begin(segments[-1]):
                        continue
                    async for record in _read(segment, call, self._epoch):
                        last = record.seq if segment.epoch == self._epoch else 0
                        yield record
                while call.follow:
                    for content in await waiting.take():
                        for record in _wanted(records_from(content), call):
                            if record.seq > last:
                                yield record
                    if waiting.is_too_slow:
                        text = "records were written faster than they were read"
                        text = f"{text}; ask again from the last seq you have"
                        raise Rejected(Code.RESOURCE_EXHAUSTED, text)

    async def fetch(self, call: FetchCall) -> AsyncGenerator[JournalHeader | bytes, None]:
        directory, _ = self._kept()
        with self._one_more():
            segments = await asyncio.to_thread(_listed, directory)
            chosen = self._chosen(segments, call)
            header = await asyncio.to_thread(_header_of, chosen[0])
            yield header
            for segment in chosen:
                content = await asyncio.to_thread(_sound_bytes, segment)
                for start in range(0, len(content), CHUNK_BYTES):
                    yield content[start : start + CHUNK_BYTES]

    # -- within ----------------------------------------------------------------------------------

    def _kept(self) -> tuple[Path, WrittenJournal]:
        if self._directory is None or self._written is None:
            raise Rejected(Code.NOT_FOUND, "this shard keeps no journal: journal.enabled is false")
        return self._directory, self._written

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        if self._readers >= MOST_READERS:
            text = f"{MOST_READERS} readers of the journal are served already; ask again later"
            raise Rejected(Code.RESOURCE_EXHAUSTED, text)
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1

    async def _from(self, directory: Path, call: TailCall) -> list[Segment]:
        """Segments that may hold the first record; at least one."""
        segments = await asyncio.to_thread(_listed, directory)
        own = [each for each in segments if each.epoch == self._epoch]
        if call.from_seq < 0 or not own:
            return segments
        first = await asyncio.to_thread(_first_seq, own[0])
        if call.from_seq < first:
            text = f"records before {first} are no longer kept; from_seq -1 is the oldest"
            raise Rejected(Code.OUT_OF_RANGE, text)
        return own

    def _chosen(self, segments: Sequence[Segment], call: FetchCall) -> list[Segment]:
        """Segments begin with a key frame: the one that holds the first cycle is the first."""
        if call.from_cycle < 0 or 0 < call.to_cycle < call.from_cycle:
            text = "from_cycle and to_cycle: a span of cycles, the first not after the last"
            raise Rejected(Code.INVALID_ARGUMENT, text)
        first, last = (self._epoch, call.from_cycle), (self._epoch, call.to_cycle or 2**63)
        begun = [place for place, each in enumerate(segments) if _begin(each) <= first]
        if call.from_cycle and not begun:
            oldest = segments[0]
            text = f"the oldest cycle that is kept is {oldest.epoch}:{oldest.first_cycle}"
            raise Rejected(Code.OUT_OF_RANGE, text)
        start = begun[-1] if call.from_cycle else 0
        return [each for each in segments[start:] if _begin(each) <= last]


@contextmanager
def _listening(written: WrittenJournal, with_keyframes: bool) -> Iterator[_Waiting]:
    waiting = _Waiting(with_keyframes)
    written.listen(waiting.put)
    try:
        yield waiting
    finally:
        written.forget(waiting.put)


async def _read(
    segment: Segment, call: TailCall, epoch: int
) -> AsyncGenerator[JournalRecord, None]:
    """Those a reader wants; the tail of a file that is being written may be torn."""
    records = iter(_wanted(records_of(segment.path, last=True), call))
    while some := await asyncio.to_thread(_some, records):
        for record in some:
            if segment.epoch != epoch or record.seq >= call.from_seq:
                yield record


def _some(records: Iterator[JournalRecord]) -> list[JournalRecord]:
    try:
        return list(islice(records, _AT_A_TIME))
    except UnreadableJournal as problem:
        raise Rejected(Code.OUT_OF_RANGE, str(problem)) from None


def _wanted(records: Iterable[JournalRecord], call: TailCall) -> Iterator[JournalRecord]:
    return (record for record in records if _is_wanted(record, call))


def _is_wanted(record: JournalRecord, call: TailCall) -> bool:
    body, name = record.body, _NAMES[type(record.body)]
    is_kind = isinstance(body, JournalEvent) and body.kind in call.kinds
    if not (is_kind or (name in call.kinds if call.kinds else name not in _EVERYTHING_BUT)):
        return False
    return (not call.machine or _names_machine(record, call.machine)) and (
        not call.cluster or _names_cluster(record, call.cluster)
    )


def _names_machine(record: JournalRecord, machine: str) -> bool:
    match record.body:
        case CycleOutput(actions):
            return any(view.machine == machine for view in actions)
        case ActionView() | StoryEvent() as about:
            return about.machine == machine
        case JournalEvent() as event:
            return machine in (event.subject, event.attributes.get("machine"))
        case _:
            return False


def _names_cluster(record: JournalRecord, cluster: str) -> bool:
    match record.body:
        case CycleOutput(actions):
            return any(view.cluster == cluster for view in actions)
        case ActionView() | StoryEvent() as about:
            return about.cluster == cluster
        case JournalEvent() as event:
            paused = event.pause.scope.cluster_ids if event.pause else ()
            return cluster in (event.subject, event.attributes.get("cluster"), *paused)
        case _:
            return False


# -- in a thread -----------------------------------------------------------------------------------


def _listed(directory: Path) -> list[Segment]:
    try:
        return segments_of(directory)
    except (UnreadableJournal, OSError) as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"nothing is recorded yet: {problem}") from None


def _first_seq(segment: Segment) -> int:
    return _first_header(segment).seq


def _header_of(segment: Segment) -> JournalHeader:
    body = _first_header(segment).body
    assert isinstance(body, JournalHeader), "only headers were read"
    return body


def _first_header(segment: Segment) -> JournalRecord:
    try:
        for record in records_of(segment.path, last=True, kinds=(HEADER,)):
            return record
    except UnreadableJournal as problem:
        raise Rejected(Code.OUT_OF_RANGE, str(problem)) from None
    raise Rejected(Code.OUT_OF_RANGE, f"{segment.path.name} is empty")


def _sound_bytes(segment: Segment) -> bytes:
    """Without the frame that is being written."""
    try:
        content = segment.path.read_bytes()
    except OSError as problem:
        text = f"{segment.path.name} is gone: {problem.strerror}; ask for later cycles"
        raise Rejected(Code.OUT_OF_RANGE, text) from None
    return content[: sound_length(memoryview(content))]


def _begin(segment: Segment) -> tuple[int, int]:
    return segment.epoch, segment.first_cycle
