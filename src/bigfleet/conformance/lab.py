"""Where providers under test come from: what a boot asks for, and what a running one allows.

Implementations: a process started from a command line (`processes`), a fixed address (`processes`),
the reference provider inside this process (`selftest`).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bigfleet.model.provider_calls import MachineRecord

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles
    from bigfleet.wire.provider_client import ProviderClient


class Unreachable(Exception):
    """The target does not answer."""


class CannotBoot(Exception):
    """The process did not come up; the message ends with its last words."""


@dataclass(frozen=True, slots=True)
class Boot:
    lane: str
    seed_count: int = 256
    state: Path | None = None
    #: Seconds; None: the provider's own.
    transition_timeout: float | None = None
    faults: bool = False
    tls: "TlsFiles | None" = None
    #: Flags for single rows, such as --failed-hold.
    more: tuple[str, ...] = field(default=())


class Running(Protocol):
    address: str
    #: Whether the flags of the fault lane were taken.
    takes_faults: bool

    async def kill(self) -> None:
        """At once, without a chance to write anything."""

    async def terminate(self) -> None:
        """Ask to stop, as SIGTERM does; returns at once."""

    async def exit_code(self, within: float) -> int | None:
        """None: still running after `within` seconds."""

    def resident_bytes(self) -> int | None: ...


class Lab(Protocol):
    def why_no_boot(self) -> str | None:
        """Why rows that boot and kill cannot run here; None if they can."""

    async def boot(self, boot: Boot) -> Running: ...

    def connect(self, running: Running, tls: "TlsFiles | None" = None) -> "ProviderClient": ...

    async def hook(self, running: Running, name: str, record: MachineRecord) -> None:
        """Act on the substrate behind the provider's back; NotServed where that is impossible."""

    async def close(self) -> None: ...
