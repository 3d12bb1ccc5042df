"""Running hook commands: what they are told, how long they may take, and what their exit means.

| exit | means |
|---|---|
| 0 | done |
| 75 (EX_TEMPFAIL), or killed at its timeout | not now; the server tries again |
| 69 (EX_UNAVAILABLE) | the host is gone |
| 255 of ssh | no connection; the server tries again |
| anything else | failed for good |

A hook must be idempotent: after a crash it is run again with the same BIGFLEET_OPERATION. A secret
may be on its standard input, so the input is never logged and only the hook's own words are.
"""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from bigfleet.provider import HostGone, Permanent, Retryable
from bigfleet_bare_metal.racks import Hook, Hooks

TRY_AGAIN = 75
HOST_GONE = 69
SSH_FAILED = 255

#: What is kept of a hook's output: enough for its last words, or for a survey of a large hall.
LAST_WORDS = 2_000
LONGEST_SURVEY = 64 * 1024 * 1024
#: A daemon the hook left behind may hold its output open; so long we listen after the exit.
LISTEN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Ended:
    exit_code: int
    output: str
    words: str


@dataclass(frozen=True, slots=True)
class Commands:
    hooks: Hooks

    async def on_host(
        self, hook: Hook, address: str, told: Mapping[str, str], blob: bytes = b""
    ) -> str:
        """Runs a hook for one host, here or on the host; returns what it printed."""
        if self.hooks.via == "local":
            return await self.here(hook, told, blob)
        assert self.hooks.ssh is not None
        settings = [f"{name}={value}" for name, value in told.items()]
        remote = shlex.join(["env", *settings, *hook.command])
        words = (*self.hooks.ssh.words(address), remote)
        return _judged(await _ended(words, None, blob, hook.timeout_seconds), ssh=True)

    async def here(self, hook: Hook, told: Mapping[str, str], blob: bytes = b"") -> str:
        environment = {**os.environ, **told}
        return _judged(await _ended(hook.command, environment, blob, hook.timeout_seconds))


def _judged(ended: Ended, *, ssh: bool = False) -> str:
    text = ended.words or f"the hook ended with {ended.exit_code} and said nothing"
    if ended.exit_code == 0:
        return ended.output
    if ended.exit_code == TRY_AGAIN or (ssh and ended.exit_code == SSH_FAILED):
        raise Retryable(text)
    if ended.exit_code == HOST_GONE:
        raise HostGone(text)
    raise Permanent(text)


async def _ended(
    words: tuple[str, ...], environment: Mapping[str, str] | None, blob: bytes, seconds: float
) -> Ended:
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            # Its own group, so that everything it started ends with it.
            start_new_session=True,
        )
    except OSError as error:
        raise Permanent(f"{words[0]}: {error.strerror}") from None
    try:
        async with asyncio.timeout(seconds):
            return await _listened(process, blob)
    except TimeoutError:
        raise Retryable(f"{words[0]} was not done after {seconds:g} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        # What the hook left running may hold the pipes for ever; asyncio has no other word for it.
        cast(Any, process)._transport.close()


async def _listened(process: asyncio.subprocess.Process, blob: bytes) -> Ended:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output, words = bytearray(), bytearray()
    listening = [
        asyncio.create_task(_keep(process.stdout, output, LONGEST_SURVEY)),
        asyncio.create_task(_keep(process.stderr, words, LAST_WORDS)),
        asyncio.create_task(_feed(process.stdin, blob)),
    ]
    try:
        exit_code = await process.wait()
        await asyncio.wait(listening, timeout=LISTEN_SECONDS)
    finally:
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    return Ended(exit_code, output.decode(errors="replace"), _last_line(words or output))


async def _keep(stream: asyncio.StreamReader, kept: bytearray, most: int) -> None:
    while chunk := await stream.read(65_536):
        kept += chunk
        del kept[:-most]


async def _feed(stream: asyncio.StreamWriter, blob: bytes) -> None:
    # A hook need not read what it does not want.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(blob)
        await stream.drain()
        stream.close()
        await stream.wait_closed()


def _last_line(words: bytearray) -> str:
    lines = words.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:LAST_WORDS]
