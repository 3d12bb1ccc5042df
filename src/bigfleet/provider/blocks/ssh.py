"""Ssh: hooks over the system's own ssh, to hosts whose key is known beforehand.

A host key is never learnt on first sight: any host that answers there would get the blob.
"""

import asyncio
import os
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bigfleet.provider.backend import Retryable
from bigfleet.provider.blocks.hooks import HOOK, Ended, HookChannel

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
