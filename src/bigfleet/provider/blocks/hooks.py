"""Hooks on a host: what a channel is asked to run there, and what the end of it means.

| exit | means |
|---|---|
| 0 | done |
| 75 (EX_TEMPFAIL) | not now; the server tries again |
| 69 (EX_UNAVAILABLE) | the host is gone |
| anything else | failed for good |

A hook is idempotent: after a crash it is run again with the same token. The blob travels on its
standard input and is never part of a command line, where every user of the host could read it.

Channels of the substrate itself: its command service, or the agent of its hypervisor.

Both start a command by one call and are asked for its end by another. `RunCommand` is for services
that keep commands by a token (Run Command, SSM): a repeat finds the first one. `GuestAgent` is for
agents that know processes only (QEMU): there a repeat starts the idempotent hook again.

Ssh: hooks over the system's own ssh, to hosts whose key is known beforehand.

A host key is never learnt on first sight: any host that answers there would get the blob.

HookExit asks the host's hook whether its node is Ready; the server has the deadline.
"""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bigfleet.edge.clock import Clock
from bigfleet.model.backoffs import Backoff
from bigfleet.provider.backend import HostGone, Permanent, Retryable

TRY_AGAIN, HOST_GONE = 75, 69
#: Of what a hook said, its last words: the reason stands at the end.
LAST_WORDS = 500
HOOK = "/usr/local/lib/bigfleet/hook"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a hook ended."""

    exit_code: int
    words: str = ""

    def judged(self) -> None:
        """Raises what the exit means to the server; nothing where it is 0."""
        said = self.words.strip()[-LAST_WORDS:] or f"exit {self.exit_code}"
        if self.exit_code == TRY_AGAIN:
            raise Retryable(said)
        if self.exit_code == HOST_GONE:
            raise HostGone(said)
        if self.exit_code:
            raise Permanent(f"the hook ended with {self.exit_code}: {said}")


class Channel(Protocol):
    """A way to one host."""

    async def run(self, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        """Runs the host's hook with these words; the same token finds the same run again."""
        ...


class HookChannel:
    """What every channel offers: deliver a blob, stop a node, ask whether it is ready."""

    async def run(self, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        raise NotImplementedError

    async def run_hook(self, blob: bytes, *, token: str) -> None:
        """Binds the host to its cluster; returns when the hook has ended well."""
        (await self.run(("configure", token), blob, token)).judged()

    async def stop_node(self, grace_period_seconds: int, *, token: str = "stop") -> None:
        """Stops the node within the grace and unbinds the host."""
        (await self.run(("drain", str(grace_period_seconds)), b"", token)).judged()


#: How a run ended, None while it runs.
Ask = Callable[[], Awaitable[Ended | None]]


async def polled(ask: Ask, clock: Clock, first: float = 0.5, longest: float = 5.0) -> Ended:
    """Asks, ever more slowly, until the run has ended; the caller has the deadline."""
    pauses, asked = Backoff(first, longest), 0
    while (ended := await ask()) is None:
        asked += 1
        await clock.sleep(pauses.seconds(asked))
    return ended


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


#: What ssh itself says when there is no connection.
_NO_CONNECTION = 255
_KNOWN_HOSTS = "BIGFLEET_SSH_KNOWN_HOSTS"


@dataclass(frozen=True, slots=True)
class Ssh(HookChannel):
    address: str
    #: `ssh-ed25519 AAAA...`; empty: the host stands in the known-hosts file.
    host_key: str = ""
    user: str = "root"
    port: int = 22
    #: The private key; none: the agent's, or ssh's own default.
    identity: Path | None = None
    #: None: that of BIGFLEET_SSH_KNOWN_HOSTS, else the user's.
    known_hosts: Path | None = None
    hook: str = HOOK
    program: tuple[str, ...] = ("ssh",)
    connect_seconds: int = 10

    async def run(self, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        with tempfile.TemporaryDirectory(prefix="bigfleet-ssh-") as folder:
            command = self.words(self._pinned(Path(folder)), words)
            return await _ended(command, blob)

    def words(self, known_hosts: Path | None, words: tuple[str, ...]) -> tuple[str, ...]:
        """The whole command line; the blob is not on it."""
        settings = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "yes",
            "ConnectTimeout": str(self.connect_seconds),
            "ServerAliveInterval": "15",
        }
        if known_hosts is not None:
            settings |= {"UserKnownHostsFile": str(known_hosts), "GlobalKnownHostsFile": "none"}
        options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
        identity = ["-i", str(self.identity)] if self.identity else []
        target = [*options, *identity, "-p", str(self.port), "-l", self.user, "--", self.address]
        return (*self.program, *target, shlex.join((self.hook, *words)))

    def _pinned(self, folder: Path) -> Path | None:
        if not self.host_key:
            named = os.environ.get(_KNOWN_HOSTS)
            return self.known_hosts or (Path(named) if named else None)
        name = self.address if self.port == 22 else f"[{self.address}]:{self.port}"
        pinned = folder / "known_hosts"
        pinned.write_text(f"{name} {self.host_key}\n")
        return pinned


async def _ended(command: tuple[str, ...], blob: bytes) -> Ended:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=asyncio.subprocess.DEVNULL, stderr=pipe
    )
    try:
        _, words = await process.communicate(blob)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = words.decode(errors="replace")
    if process.returncode == _NO_CONNECTION:
        raise Retryable(f"no connection: {said.strip()[-200:]}")
    return Ended(process.returncode or 0, said)


@dataclass(frozen=True, slots=True)
class HookExit:
    """Ready when the hook's `ready` ends with 0; another exit means not yet."""

    clock: Clock

    async def wait(self, channel: Channel, *, token: str) -> None:
        async def asked() -> Ended | None:
            ended = await channel.run(("ready", token), b"", token)
            if ended.exit_code == HOST_GONE:
                raise HostGone(ended.words or "the hook says that the host is gone")
            return ended if ended.exit_code == 0 else None

        await polled(asked, self.clock)
