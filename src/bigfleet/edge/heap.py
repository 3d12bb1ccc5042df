"""Memory that was freed goes back to the operating system.

After a large roll-up has come and gone the C library keeps what was freed, for the next one that
may never come. Every few seconds it is asked how much it keeps; when that, or the resident memory,
has grown by more than a little, caches by text are emptied and the library is told to give back
what it does not need, in a thread.
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

    def is_worth_returning(self, free: int, resident: int) -> bool:
        self._free = min(self._free, free)
        if self._resident is None:
            self._resident = resident
        self._resident = min(self._resident, resident)
        return free > self._free + _LITTLE or resident > self._resident + _LITTLE

    def returned(self, free: int, resident: int) -> None:
        self._free, self._resident = free, resident


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
