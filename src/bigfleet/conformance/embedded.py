"""The reference provider inside this process, behind a real port, for the self-test.

A kill drops everything the provider knew; only what its journal held comes back.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bigfleet.conformance.launchers import Boot, CannotBoot
from bigfleet.conformance.pace import Clock
from bigfleet.conformance.reference.provider import ReferenceSettings
from bigfleet.conformance.reference.server import Served, serve
from bigfleet.conformance.reference.statefile import Damaged
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.wire.provider_client import ProviderClient

if TYPE_CHECKING:
    from bigfleet.conformance.launchers import RunningProvider
    from bigfleet.wire.lines import TlsFiles


@dataclass(slots=True)
class EmbeddedProvider:
    served: Served
    address: str
    takes_faults: bool = True
    _stopped: bool = False

    async def kill(self) -> None:
        if not self._stopped:
            self._stopped = True
            self.served.provider.stop()
            await self.served.stop()

    async def terminate(self) -> None:
        await self.served.announce_end()

    async def exit_code(self, within: float) -> int | None:
        await self.kill()
        return 0

    def resident_bytes(self) -> int | None:
        return None


@dataclass(slots=True)
class EmbeddedLauncher:
    clock: Clock
    mutant: str = ""
    settings: ReferenceSettings = field(default_factory=ReferenceSettings)
    served: list[EmbeddedProvider] = field(default_factory=list)

    def why_no_boot(self) -> str | None:
        return None

    async def boot(self, boot: Boot) -> EmbeddedProvider:
        settings = replace(
            self.settings,
            provider="certify",
            seed_count=boot.seed_count,
            faults=boot.faults,
            transition_timeout=boot.transition_timeout or self.settings.transition_timeout,
            failed_hold=_failed_hold(boot),
        )
        try:
            served = await serve(
                "127.0.0.1:0",
                settings,
                self.clock,
                mutant=self.mutant,
                state=boot.state,
                tls=boot.tls,
            )
        except Damaged as damaged:
            raise CannotBoot(str(damaged)) from damaged
        running = EmbeddedProvider(served, f"127.0.0.1:{served.port}")
        self.served.append(running)
        return running

    def connect(self, running: "RunningProvider", tls: "TlsFiles | None" = None) -> ProviderClient:
        return ProviderClient(running.address, tls)

    async def hook(self, running: "RunningProvider", name: str, record: MachineRecord) -> None:
        assert isinstance(running, EmbeddedProvider)
        provider = running.served.provider
        act = provider.price_changed if name == "price" else provider.host_vanished
        act(record.id)

    async def close(self) -> None:
        for running in self.served:
            await running.kill()


def _failed_hold(boot: Boot) -> float | None:
    flag = "--failed-hold="
    given = [text.removeprefix(flag) for text in boot.more if text.startswith(flag)]
    return float(given[0].removesuffix("s")) if given else None
