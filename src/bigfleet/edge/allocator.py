"""Which allocator a process has: one that gives back what a heavy cluster left.

The interpreter's own takes memory by the megabyte and returns one only when nothing in it is alive.
Each of its 32 sizes of objects keeps one alive somewhere, and a roll-up of 8 MB that came and went
leaves 30 MB to 60 MB behind. The C library returns single pages. Both settings are read when an
interpreter starts, so the process starts once more, under the same number.
"""

import os
import sys

#: One heap for all threads: with one each, what is alive in each keeps its pages.
SETTINGS = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"}


def restart_on_c_allocator() -> None:
    """Returns where the settings are made already, with any value, and with another C library
    than that of GNU."""
    missing = {name: value for name, value in SETTINGS.items() if name not in os.environ}
    if missing and sys.executable and _is_gnu():
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **missing})


def _is_gnu() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, ValueError, OSError):
        return False
