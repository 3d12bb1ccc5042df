"""Memory that was freed goes back to the operating system.

After a large roll-up has come and gone the C library keeps what was freed, for the next one that
may never come. Every few seconds it is asked how much it keeps; when that, or the resident memory,
has grown by more than a little, caches by text are emptied and the library is told to give back
what it does not need, in a thread.

What a process takes and frees all the time is free too whenever one looks; given back, every page
of it has to be taken anew: some 3,000 page faults in the next cycle of a shard of 225,000 machines,
every five seconds. So where memory is back at once, it is given back more and more rarely.
"""

import asyncio
import ctypes
from collections.abc import Callable

from bigfleet.edge.clock import Clock
from bigfleet.edge.process_usage import resident_bytes
from bigfleet.model.syntax import forget_texts

_SECONDS = 5.0
#: Free memory that is not worth giving back: a few roll-ups of ordinary size come and go with it.
_LITTLE = 16 * 2**20
#: Looks between two returns at most: ten minutes.
_MOST_LOOKS = 120


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of the GNU C library."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


class FreedMemory:
    """When to give back: pure, on the bytes that are kept free and those that are resident."""

    def __init__(self) -> None:
        #: The least free since memory was given back: pages that went stay counted as free.
        self._free = 0
        #: What was resident then. It grows when such pages are used again, be it for a moment.
        self._resident: int | None = None
        #: Looks without a return after the last one, and how many of them are left.
        self._pause = 0
        self._left = 0
        #: Whether the look is the first after them.
        self._is_first = False

    def is_worth_returning(self, free: int, resident: int) -> bool:
        if self._left:
            self._left -= 1
            return False
        self._free = min(self._free, free)
        if self._resident is None:
            self._resident = resident
        self._resident = min(self._resident, resident)
        is_worth = free > self._free + _LITTLE or resident > self._resident + _LITTLE
        if not is_worth:
            self._is_first = False
        return is_worth

    def returned(self, free: int, resident: int) -> None:
        """What is back at the first look was not worth it: the next one comes later."""
        self._free, self._resident = free, resident
        self._pause = min(_MOST_LOOKS, 2 * self._pause + 1) if self._is_first else 0
        self._left, self._is_first = self._pause, True


async def return_freed_memory(clock: Clock) -> None:
    """Runs for ever; returns at once where the C library has no words for it."""
    library = _library()
    if library is None:
        return
    free, give_back = library
    memory = FreedMemory()
    while True:
        await clock.sleep(_SECONDS)
        if memory.is_worth_returning(free(), resident_bytes()):
            forget_texts()
            await asyncio.to_thread(give_back)
            memory.returned(free(), resident_bytes())


def _library() -> tuple[Callable[[], int], Callable[[], object]] | None:
    """Bytes that are free and kept, and what gives them back; None: another C library."""
    try:
        library = ctypes.CDLL(None)
        info, trim = library.mallinfo2, library.malloc_trim
    except (OSError, AttributeError):
        return None
    info.restype = _MallInfo
    trim.argtypes = [ctypes.c_size_t]
    return lambda: int(info().fordblks), lambda: trim(0)
