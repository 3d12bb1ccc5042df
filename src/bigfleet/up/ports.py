"""Ports: the wanted one, or the next that is free."""

import errno
import socket
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
#: How far a search goes; that many fleets side by side are not a laptop's business.
_MOST_TRIES = 200


def free_from(port: int) -> int:
    """The first free port of the loopback from this one on; 0: any."""
    if not port:
        return _any()
    for candidate in range(port, port + _MOST_TRIES):
        if is_free(candidate):
            return candidate
    raise OSError(f"no port from {port} to {port + _MOST_TRIES - 1} is free; stop something there")


async def started_on(start: Callable[[], Awaitable[T]]) -> T:
    """What `start` gives; tries again if the port was taken between looking and binding."""
    for _ in range(_MOST_TRIES):
        try:
            return await start()
        except OSError as problem:
            if not _means_taken(problem):
                raise
    raise OSError("every port that was free a moment ago was taken; try again")


def _any() -> int:
    """By its number: who listens there tells others."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose last owner has just gone is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
        return True


def _means_taken(problem: OSError) -> bool:
    return problem.errno == errno.EADDRINUSE or "cannot listen on" in str(problem)
