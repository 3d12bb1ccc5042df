"""Channels of the substrate itself: its command service, or the agent of its hypervisor.

Both start a command by one call and are asked for its end by another. `RunCommand` is for services
that keep commands by a token (Run Command, SSM): a repeat finds the first one. `GuestAgent` is for
agents that know processes only (QEMU): there a repeat starts the idempotent hook again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bigfleet.edge.clock import Clock
from bigfleet.provider.blocks.hooks import HOOK, Ended, HookChannel, polled


@dataclass(frozen=True, slots=True)
class RunCommand(HookChannel):
    """One host of a command service."""

    clock: Clock
    #: (words, blob, token) -> what the service calls the command; equal tokens, equal commands.
    send: Callable[[tuple[str, ...], bytes, str], Awaitable[str]]
    #: How the command ended, None while it runs.
    ended: Callable[[str], Awaitable[Ended | None]]
    hook: str = HOOK

    async def run(self, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        command = await self.send((self.hook, *words), blob, token)
        return await polled(lambda: self.ended(command), self.clock)


@dataclass(frozen=True, slots=True)
class GuestAgent(HookChannel):
    """One guest of a hypervisor."""

    clock: Clock
    #: (words, standard input) -> the process.
    execute: Callable[[tuple[str, ...], bytes], Awaitable[int]]
    #: How the process ended, None while it runs.
    status: Callable[[int], Awaitable[Ended | None]]
    hook: str = HOOK

    async def run(self, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        process = await self.execute((self.hook, *words), blob)
        return await polled(lambda: self.status(process), self.clock)
