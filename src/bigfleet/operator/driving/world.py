"""What an operator is given by the code that starts it."""

from collections.abc import Callable
from dataclasses import dataclass

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.wire.lines import TlsFiles


@dataclass(frozen=True, slots=True)
class World:
    clock: Clock
    #: Seconds, for measuring only.
    stopwatch: Callable[[], float]
    #: In [0, 1).
    draw: Callable[[], float]
    #: For secrets.
    random_bytes: Callable[[int], bytes]
    log: Log
    #: This replica's name in the lease.
    identity: str
    tls: TlsFiles | None = None
    version: str = ""
