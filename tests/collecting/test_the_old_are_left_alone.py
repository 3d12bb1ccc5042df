"""The young are collected by time; everything only where it has doubled, hours later."""

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest

from bigfleet.edge import garbage_collection
from bigfleet.edge.clock import ManualClock

HOUR = 3600.0


class Collector:
    """In place of the interpreter's."""

    def __init__(self) -> None:
        #: How often each generation was collected; 2 is everything.
        self.done: Counter[int] = Counter()
        self.objects = 1_000_000

    def collect(self, generation: int = 2) -> int:
        self.done[generation] += 1
        return 0


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made, before = Collector(), gc.get_threshold()
    monkeypatch.setattr(gc, "collect", made.collect)
    monkeypatch.setattr(garbage_collection, "_tracked", lambda: made.objects)
    # Far fewer rounds in an hour: the clock stops at every one of them.
    monkeypatch.setattr(garbage_collection, "_YOUNG_SECONDS", 100.0)
    yield made
    gc.set_threshold(*before)


@pytest.fixture
async def clock(collector: Collector) -> AsyncIterator[ManualClock]:
    made = ManualClock()
    running = asyncio.create_task(garbage_collection.collect_rarely(made))
    yield made
    running.cancel()
    await asyncio.wait({running})


async def test_the_young_are_collected_often_and_the_middle_ones_now_and_then(
    clock: ManualClock, collector: Collector
) -> None:
    await clock.advance(1600.0)
    assert collector.done == {0: 12, 1: 4}


async def test_everything_is_never_collected_while_the_process_stays_as_large(
    clock: ManualClock, collector: Collector
) -> None:
    await clock.advance(10 * HOUR)
    assert collector.done[2] == 0
    assert gc.get_threshold()[2] >= 1_000_000_000


async def test_everything_is_collected_once_when_it_has_doubled(
    clock: ManualClock, collector: Collector
) -> None:
    await clock.advance(2 * HOUR)
    collector.objects = 2_300_000
    await clock.advance(3 * HOUR)
    assert collector.done[2] == 1


async def test_what_grew_before_the_first_hour_is_usual(
    clock: ManualClock, collector: Collector
) -> None:
    collector.objects = 10
    await clock.advance(1000.0)
    collector.objects = 5_000_000
    await clock.advance(3 * HOUR)
    assert collector.done[2] == 0


def test_counting_the_objects_leaves_them_where_they_can_be_collected() -> None:
    assert garbage_collection._tracked() > 1_000
    assert gc.get_freeze_count() == 0
