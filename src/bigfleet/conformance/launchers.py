"""Starts providers under test: what a boot asks for, and what a running provider allows.

Implementations: a process started from a command line (`processes`), a fixed address (`processes`),
the reference provider inside this process (`embedded`).

Rows of durability look at one restart from different sides, and a boot for each would take minutes:
a provider may be kept for the next row. A row that does not pass keeps nothing.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bigfleet.edge.certificates import Pair, authority, leaf
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.wire.lines import TlsFiles

if TYPE_CHECKING:
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


class RunningProvider(Protocol):
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


class Launcher(Protocol):
    def why_no_boot(self) -> str | None:
        """Why rows that boot and kill cannot run here; None if they can."""

    async def boot(self, boot: Boot) -> RunningProvider: ...

    def connect(
        self, running: RunningProvider, tls: "TlsFiles | None" = None
    ) -> "ProviderClient": ...

    async def hook(self, running: RunningProvider, name: str, record: MachineRecord) -> None:
        """Act on the substrate behind the provider's back; NotServed where that is impossible."""

    async def close(self) -> None: ...


class KeptProvider:
    def __init__(self) -> None:
        #: What the row knew about it; None while there is none.
        self.left: object | None = None
        self._clients: list[ProviderClient] = []
        self._booted: list[RunningProvider] = []

    def adopt(
        self, left: object, clients: "list[ProviderClient]", booted: "list[RunningProvider]"
    ) -> None:
        self.left = left
        self._clients += clients
        self._booted += booted

    async def close(self) -> None:
        self.left = None
        for client in self._clients:
            await client.close()
        for running in self._booted:
            await running.kill()
        self._clients.clear()
        self._booted.clear()


DAYS = 2


@dataclass(frozen=True, slots=True)
class Certificates:
    folder: Path
    signer: Pair
    now: Instant

    @classmethod
    def made(cls, folder: Path, now: Instant) -> "Certificates":
        signer = authority("conformance CA", now, DAYS)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ca.crt").write_bytes(signer.certificate)
        return cls(folder, signer, now)

    def issue(self, name: str, uri: str) -> TlsFiles:
        """A leaf for loopback that carries one URI name."""
        pair = leaf(self.signer, name, uri, self.now, DAYS)
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        return TlsFiles(certificate, key, self.folder / "ca.crt")
