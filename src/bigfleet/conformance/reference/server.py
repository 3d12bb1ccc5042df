"""The reference provider on a port, in this process or in one of its own.

A way behind the back of a running reference provider: files in a folder it watches.

`python -m bigfleet.conformance.reference.server FOLDER price|vanish ID REF` is a hook command.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bigfleet.conformance.pace import Clock
from bigfleet.conformance.reference.mutants.catalogue import provider_named
from bigfleet.conformance.reference.provider import Reference, ReferenceSettings
from bigfleet.conformance.reference.statefile import Damaged
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_server import ProviderEndpoint


async def watch(provider: Reference, folder: Path, clock: Clock) -> None:
    """Do to the provider what the files say, and take each away when it is done."""
    acts = {"price": provider.price_changed, "vanish": provider.host_vanished}
    while True:
        for path in sorted(folder.glob("*--*")):
            verb, _, machine_id = path.name.partition("--")
            if verb in acts and machine_id in provider.records:
                path.unlink(missing_ok=True)
                acts[verb](machine_id)
        await clock.sleep(provider.settings.refresh)


if __name__ == "__main__":
    folder, verb, machine_id = sys.argv[1:4]
    (Path(folder) / f"{verb}--{machine_id}").touch()


@dataclass(slots=True)
class Served:
    provider: Reference
    endpoint: ProviderEndpoint
    port: int

    async def announce_end(self) -> None:
        if self.provider.shows_end:
            await self.endpoint.set_serving(False)

    async def stop(self, grace: float = 0.0) -> None:
        await self.endpoint.stop(grace)
        self.provider.stop()


async def serve(
    address: str,
    settings: ReferenceSettings,
    clock: Clock,
    *,
    mutant: str = "",
    state: Path | None = None,
    tls: TlsFiles | None = None,
    failed: Callable[[str, Exception], None] | None = None,
) -> Served:
    """Listening and SERVING; statefile.Damaged where the stored fleet cannot be trusted."""
    life = f"{clock.wall():x}"
    kind = provider_named(mutant)
    kept = kind.state_kind(state) if state is not None else None
    try:
        provider = kind(settings, clock, life, kept)
    except Damaged:
        if kept is not None:
            kept.close()
        raise
    endpoint = ProviderEndpoint(provider, address=address, tls=tls, failed=failed)
    provider.dress(endpoint)
    port = await endpoint.start()
    await endpoint.set_serving(kind.shows_start)
    return Served(provider, endpoint, port)
