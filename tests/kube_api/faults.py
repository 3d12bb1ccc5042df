"""What a test makes an API server do wrong: answer with an error, break the line, or wait."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.kube_api.refusals import Refusal

#: As in RBAC, and `evict`.
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "evict", "discover")


@dataclass(frozen=True, slots=True)
class ApiCall:
    verb: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_write(self) -> bool:
        return self.verb in ("create", "update", "patch", "delete", "evict")


Matches = Callable[[ApiCall], bool]


def matching(verb: str, plural: str, when: Matches | None) -> Matches:
    """Of that verb and kind, where they are named, and as `when` says, where it is given."""
    assert verb in ("", *VERBS), verb
    return lambda call: (
        (not verb or call.verb == verb)
        and (not plural or call.plural == plural)
        and (when is None or when(call))
    )


@dataclass(slots=True)
class Fault:
    matches: Matches
    times: int
    #: None: the line breaks without an answer.
    refusal: Refusal | None
    #: The call does its work before it goes wrong: the outcome is unknown to the client.
    done_anyway: bool


class Hold:
    """Calls that match wait, from now until `release`."""

    def __init__(self, matches: Matches, dropped: Callable[["Hold"], None]) -> None:
        self.matches = matches
        self._dropped = dropped
        self._open = asyncio.Event()
        self._reached = asyncio.Event()
        #: Calls that arrived here so far.
        self.waiting: list[ApiCall] = []

    def release(self) -> None:
        self._dropped(self)
        self._open.set()

    async def reached(self, seconds: float = 60) -> None:
        """Until the first call waits here."""
        async with asyncio.timeout(seconds):
            await self._reached.wait()

    async def wait(self, call: ApiCall) -> None:
        self.waiting.append(call)
        self._reached.set()
        await self._open.wait()
