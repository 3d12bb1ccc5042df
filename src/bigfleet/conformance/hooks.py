"""Acting on the substrate behind a provider's back: by a given command or the sim's control."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bigfleet.conformance.claims import NotServed
from bigfleet.model.provider_calls import MachineRecord, Rejected
from bigfleet.wire.sim_control import SimControlClient

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles

#: Enough to be published: changes under one per cent may be held back.
DEARER = "x1.5"


async def act(
    name: str,
    record: MachineRecord,
    commands: Mapping[str, Sequence[str]],
    address: str,
    tls: "TlsFiles | None",
) -> None:
    """Change the machine's price, or take its host away."""
    if words := commands.get(name):
        await _call(name, [*words, record.id, record.host.ref if record.host else ""])
        return
    async with SimControlClient(address, tls) as control:
        try:
            if name == "price":
                pool = f"type={record.instance_type} zone={record.zone}"
                await control.do("price", [pool, DEARER])
            else:
                await control.do("vanish", [record.id])
        except Rejected as rejected:
            why = f"--hook-{name} is not given, and SimControl answers {rejected.code}"
            raise NotServed(why) from rejected


async def _call(name: str, words: Sequence[str]) -> None:
    process = await asyncio.create_subprocess_exec(*words)
    if code := await process.wait():
        raise NotServed(f"--hook-{name} ended with {code}")
