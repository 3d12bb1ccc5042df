"""Hooks on a host: what a channel is asked to run there, and what the end of it means.

| exit | means |
|---|---|
| 0 | done |
| 75 (EX_TEMPFAIL) | not now; the server tries again |
| 69 (EX_UNAVAILABLE) | the host is gone |
| anything else | failed for good |

A hook is idempotent: after a crash it is run again with the same token. The blob travels on its
standard input and is never part of a command line, where every user of the host could read it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
