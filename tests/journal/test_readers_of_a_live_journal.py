"""TailJournal and FetchJournal: nothing is missed, nothing comes twice, a slow reader is ended."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from bigfleet.journal.history import History
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.journal.writer import JournalWriter
from bigfleet.model.journal import CycleOutput, JournalHeader, JournalRecord, Keyframe, TickRun
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import FetchCall, TailCall
from bigfleet.shard.driving import journal_streams
from bigfleet.shard.driving.journal_streams import MOST_READERS, JournalStreams
from bigfleet.wire.journal_records import records_from
from bigfleet.wire.journal_rpcs import CHUNK_BYTES
from tests.journal.lives import START, LivingFleet
from tests.journal.test_notes_beside_the_cycles import event, notes_of

EPOCH = 3


class Journal:
    """Written in a thread of its own; each cycle with one note of each kind."""

    def __init__(self, directory: Path, segment_bytes: int) -> None:
        self.directory = directory
        limits = JournalLimits(segment_bytes=segment_bytes)
        file = JournalFile(directory, "shard-0", EPOCH, "0.3.0", limits)
        # A second has passed whenever it is asked: quiet cycles are written at once too.
        seconds = count()
        self.writer = JournalWriter(file, lambda: START, lambda: float(next(seconds)))
        self.streams = JournalStreams(directory, self.writer, EPOCH)
        self._cycles: Iterator[FinishedCycle] = LivingFleet(11).cycles(1000)
        self._written = asyncio.Event()
        self._last = 0
        self._loop = asyncio.get_running_loop()
        self.writer.listen(self._on_written)
        self.writer.start()

    def _on_written(self, records: list[bytes]) -> None:
        """In the writer's thread."""
        for content in records:
            for record in records_from(content):
                if isinstance(record.body, CycleOutput | TickRun):
                    self._loop.call_soon_threadsafe(self._cycle_written, record.cycle)

    def _cycle_written(self, cycle: int) -> None:
        self._last = cycle
        self._written.set()

    async def live(self, cycles: int) -> None:
        """Returns when they are written."""
        for _ in range(cycles):
            cycle = next(self._cycles)
            for note in notes_of(cycle.given.cycle):
                self.writer.note(note)
            self.writer.offer(cycle)
            while self._last < cycle.given.cycle:
                self._written.clear()
                await self._written.wait()


@asynccontextmanager
async def living_journal(directory: Path, segment_bytes: int = 2**26) -> AsyncIterator[Journal]:
    journal = Journal(directory, segment_bytes)
    try:
        yield journal
    finally:
        await asyncio.to_thread(journal.writer.close)


async def tailed(journal: Journal, call: TailCall) -> list[JournalRecord]:
    return [record async for record in journal.streams.tail(call)]


async def refusal(records: AsyncGenerator[object, None]) -> Rejected:
    with pytest.raises(Rejected) as refused:
        async for _ in records:
            pass
    return refused.value


async def test_a_reader_gets_all_records_once_whatever_is_written_meanwhile(tmp_path: Path) -> None:
    async with living_journal(tmp_path, 3000) as journal:
        await journal.live(5)
        found: list[JournalRecord] = []
        async with aclosing(journal.streams.tail(TailCall(-1, follow=True))) as records:
            async for record in records:
                found.append(record)
                if len(found) in (4, 12):
                    await journal.live(4)
                if record.cycle >= 13 and len(found) > 20:
                    break
    kept = [
        each.seq
        for each in records_in_order(segments_of(tmp_path))
        if not isinstance(each.body, Keyframe)
    ]
    assert [each.seq for each in found] == kept[: len(found)]


async def test_a_reader_of_now_gets_what_is_written_from_now_on(tmp_path: Path) -> None:
    async with living_journal(tmp_path) as journal:
        await journal.live(3)
        assert await tailed(journal, TailCall()) == []
        # Notes of cycle 3 may come after it.
        now = TailCall(follow=True, kinds=("output",))
        async with aclosing(journal.streams.tail(now)) as records:
            first = asyncio.ensure_future(anext(records))
            while not first.done():
                await journal.live(1)
            assert (await first).cycle > 3


async def test_kinds_and_names_narrow_what_is_told(tmp_path: Path) -> None:
    async with living_journal(tmp_path) as journal:
        await journal.live(6)
        await asyncio.to_thread(journal.writer.close)
        stories = await tailed(journal, TailCall(-1, kinds=("story",)))
        assert [each.cycle for each in stories] == [1, 2, 3, 4, 5, 6]
        events = await tailed(journal, TailCall(-1, kinds=("rollup_accepted",)))
        assert [each.body for each in events] == [event(f"cycle {n}") for n in range(1, 7)]
        about = await tailed(journal, TailCall(-1, kinds=("outcome", "story"), machine="m-4"))
        assert [each.cycle for each in about] == [4, 4]
        assert len(await tailed(journal, TailCall(-1, cluster="shop", kinds=("event",)))) == 6
        keyframes = await tailed(journal, TailCall(-1, kinds=("keyframe",)))
        assert keyframes[0].cycle == 1
        later = await tailed(journal, TailCall(stories[3].seq, kinds=("story",)))
        assert later == stories[3:]


async def test_a_reader_that_does_not_keep_up_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_streams, "MOST_WAITING_BYTES", 500)
    async with living_journal(tmp_path) as journal:
        await journal.live(1)
        records = journal.streams.tail(TailCall(-1, follow=True))
        await anext(records)
        while len(journal.writer._listeners) < 2:
            await anext(records)
        await journal.live(5)
        ended = await refusal(records)
        assert ended.code is Code.RESOURCE_EXHAUSTED
        assert "ask again from the last seq you have" in ended.text


async def test_what_cannot_be_served_is_refused_with_its_code(tmp_path: Path) -> None:
    nothing = JournalStreams(None, None, EPOCH)
    assert (await refusal(nothing.tail(TailCall(-1)))).code is Code.NOT_FOUND
    assert (await refusal(nothing.fetch(FetchCall()))).code is Code.NOT_FOUND
    async with living_journal(tmp_path, 2000) as journal:
        assert (await refusal(journal.streams.fetch(FetchCall()))).code is Code.OUT_OF_RANGE
        await journal.live(8)
        first, *_, last = segments_of(tmp_path)
        first.path.unlink()
        for call, code in (
            (TailCall(-2), Code.INVALID_ARGUMENT),
            (TailCall(-1, kinds=("\x1b",)), Code.INVALID_ARGUMENT),
            (TailCall(1), Code.OUT_OF_RANGE),
        ):
            assert (await refusal(journal.streams.tail(call))).code is code
        for asked, code in (
            (FetchCall(-1), Code.INVALID_ARGUMENT),
            (FetchCall(9, 8), Code.INVALID_ARGUMENT),
            (FetchCall(1), Code.OUT_OF_RANGE),
        ):
            assert (await refusal(journal.streams.fetch(asked))).code is code
        assert last.first_cycle > 1
        many = [journal.streams.tail(TailCall(-1)) for _ in range(MOST_READERS)]
        for each in many:
            await anext(each)
        one_more = await refusal(journal.streams.tail(TailCall(-1)))
        assert one_more.code is Code.RESOURCE_EXHAUSTED
        for each in many:
            await each.aclose()
        assert await tailed(journal, TailCall(-1))


async def test_fetched_segments_replay_elsewhere(tmp_path: Path) -> None:
    async with living_journal(tmp_path / "here", 2500) as journal:
        await journal.live(12)
        segments = segments_of(tmp_path / "here")
        wanted = segments[2].first_cycle
        pieces = [each async for each in journal.streams.fetch(FetchCall(wanted, wanted + 1))]
        every = [each async for each in journal.streams.fetch(FetchCall())]
    header, *content = pieces
    assert isinstance(header, JournalHeader)
    assert (header.shard_id, header.epoch, header.first_cycle) == ("shard-0", EPOCH, wanted)
    assert len(every) > len(pieces)
    there = tmp_path / segments[2].path.name
    there.write_bytes(b"".join(each for each in content if isinstance(each, bytes)))
    assert all(len(each) <= CHUNK_BYTES for each in content if isinstance(each, bytes))
    again = list(replayed(History().cycles(records_in_order(segments_of(there)))))
    assert again[0].recorded.given.cycle == wanted
    assert all(each.identical for each in again)
