"""Memory that was freed goes back to the operating system.

After a large roll-up has come and gone the C library keeps what was freed, for the next one that
may never come. Every few seconds it is asked how much it keeps; when that has grown by more than a
little, it is told to give it back, in a thread.
"""

import asyncio
import ctypes
from collections.abc import Callable

from bigfleet.edge.clock import Clock

_SECONDS = 5.0
#: Free memory that is not worth giving back: a few roll-ups of ordinary size come and go with it.
_LITTLE = 16 * 2**20


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
    """When to give back: pure, on the number of free bytes the C library holds."""

    def __init__(self) -> None:
        #: What was free and not worth giving back, or has been given back: pages that went stay
        #: counted as free.
        self._usual = 0

    def is_worth_returning(self, free: int) -> bool:
        self._usual = min(self._usual, free)
        return free > self._usual + _LITTLE

    def returned(self, free: int) -> None:
        self._usual = free


async def return_freed_memory(clock: Clock) -> None:
    """Runs for ever; returns at once where the C library has no words for it."""
    library = _library()
    if library is None:
        return
    free, give_back = library
    memory = FreedMemory()
    while True:
        await clock.sleep(_SECONDS)
        if memory.is_worth_returning(await asyncio.to_thread(free)):
            await asyncio.to_thread(give_back)
            memory.returned(await asyncio.to_thread(free))


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
