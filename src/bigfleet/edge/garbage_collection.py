"""When a long-lived process looks for garbage that only a collection finds.

A full collection walks every object there is and stops everything meanwhile: 0.47 s of CPU in a
shard with 5,000 sessions and 50,000 Need rows (Python 3.11), several times a minute with the
interpreter's own thresholds. Nearly all of what it walks lives as long as the process. So the
young are collected often, by time, which keeps them few; everything is looked at when it has
doubled, once an hour at most. After hundreds of sessions that came and went nothing old was found
to be garbage.

By time and not by count, because the interpreter's count goes down with every object that dies,
however old: under load it let 40,000 young ones gather, 35 ms at once.
"""

import gc

from bigfleet.edge.clock import Clock

_YOUNG_SECONDS = 0.25
#: Every so many times those are collected too that survived once: some 20,000 objects, 20 ms, while
#: thousands of sessions dial in, next to nothing otherwise.
_MIDDLE = 4
_FULL_SECONDS = 3600.0
#: So few objects are not worth a collection.
_FEW = 200_000
#: What the interpreter may still do by itself, should the loop not get a turn for long.
_BY_ITSELF = (200_000, 50, 1_000_000_000)


async def collect_rarely(clock: Clock) -> None:
    """Takes the collector over for the rest of the process's life; runs for ever."""
    gc.set_threshold(*_BY_ITSELF)
    rounds_to_full = round(_FULL_SECONDS / _YOUNG_SECONDS)
    usual: int | None = None
    rounds = 0
    while True:
        await clock.sleep(_YOUNG_SECONDS)
        rounds += 1
        gc.collect(0 if rounds % _MIDDLE else 1)
        if rounds % rounds_to_full == 0:
            usual = _collected_if_doubled(usual)


def _collected_if_doubled(usual: int | None) -> int:
    """How many objects are usual from here on."""
    objects = _tracked()
    if usual is None or objects <= 2 * usual + _FEW:
        return usual or objects
    gc.collect()
    return _tracked()


def _tracked() -> int:
    """Counted where they are: the obvious way would make a list of them all."""
    gc.freeze()
    try:
        return gc.get_freeze_count()
    finally:
        gc.unfreeze()
