"""Ports for servers that come and go: no other process is given one while its server is away.

A port the kernel chose is free again as soon as its server is gone, and a machine that
runs many tests gives it away within seconds. Here a socket that never listens holds it for as long
as a test lasts. Our servers bind beside it, since both allow that; the kernel takes the port for
used and gives it to no other; a client that dials it while no server is there is refused.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """Of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holding.bind(("127.0.0.1", 0))
        yield int(holding.getsockname()[1])
