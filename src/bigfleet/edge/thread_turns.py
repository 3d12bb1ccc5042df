"""How soon a thread that waits for the interpreter gets its turn.

Threads encode journals, pages and answers beside the cycle, which gives the interpreter up and
takes it back at every kernel. With CPython's own 5 ms each of these takings may wait that long, and
a cycle has dozens.
"""

import sys

#: A turn costs some 20 microseconds, and only where two threads want it.
_TURN_SECONDS = 0.0005


def take_quick_turns() -> None:
    """For the whole process, from now on."""
    sys.setswitchinterval(_TURN_SECONDS)
