"""The fleet that a page shows: its shards, its coordinator, and how they are asked.

Shards are asked side by side, each with a deadline. A shard that does not answer is named in the
warnings of an answer; where none answers, the request fails and says which.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from http import HTTPStatus
from typing import Generic, Literal, TypeVar

from bigfleet.edge.clock import Clock
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.web.history import History
from bigfleet.web.problems import Problem
from bigfleet.web.scenario import Scenario
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.shard_admin import ShardAdminClient

Face = Literal["up", "shard", "coordinator"]
T = TypeVar("T")
Question = Callable[[ShardAdminClient], Awaitable[T]]
NamedQuestion = Callable[[str, ShardAdminClient], Awaitable[T]]

#: Seconds that an answer of a shard or of the coordinator may take.
DEADLINE_SECONDS = 10.0
#: The same where a cycle of the journal is read and decided again.
PAST_SECONDS = 30.0
#: Shards that are asked at the same time.
_AT_ONCE = 64
_NEAREST = 3
_STATUS = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.OUT_OF_RANGE: HTTPStatus.NOT_FOUND,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.ABORTED: HTTPStatus.CONFLICT,
    Code.ALREADY_EXISTS: HTTPStatus.CONFLICT,
    Code.FAILED_PRECONDITION: HTTPStatus.CONFLICT,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.DEADLINE_EXCEEDED: HTTPStatus.GATEWAY_TIMEOUT,
}


@dataclass(frozen=True, slots=True)
class Answers(Generic[T]):
    """By shard id: what was said, and why the others said nothing."""

    said: dict[str, T]
    failed: dict[str, Rejected]

    @property
    def warnings(self) -> list[str]:
        return [f"{shard} gave no answer: {why.text}" for shard, why in self.failed.items()]

    def head(self) -> dict[str, list[str]]:
        """Of an answer: nothing where all shards are in it."""
        return {"warnings": self.warnings} if self.failed else {}

    def require(self) -> "Answers[T]":
        """Raises Problem where no shard answered."""
        if self.said:
            return self
        if not self.failed:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "no shard is known yet",
                remedy="start one with --coordinator-addr; it reports within seconds",
            )
        shard, why = next(iter(self.failed.items()))
        raise problem_of(why, f"shard {shard}")


def problem_of(why: Rejected, who: str = "") -> Problem:
    """What a shard or the coordinator refused, or that it did not answer."""
    status = _STATUS.get(why.code, HTTPStatus.BAD_GATEWAY)
    if why.code is Code.UNAVAILABLE and why.reason:
        # It answered: it cannot say this now.
        status = HTTPStatus.SERVICE_UNAVAILABLE
    text = f"{who}: {why.text}" if who and status >= HTTPStatus.INTERNAL_SERVER_ERROR else why.text
    return Problem(status, text)


def not_found(kind: str, name: str, known: Iterable[str], more: str = "") -> Problem:
    """404, with the nearest names."""
    near = get_close_matches(name, list(dict.fromkeys(known)), n=_NEAREST)
    remedy = f"nearest are {', '.join(near)}" if near else more
    return Problem(HTTPStatus.NOT_FOUND, f"no {kind} {name[:253]}", remedy=remedy)


@dataclass(frozen=True, slots=True)
class Fleet:
    #: By shard id; of a coordinator's page they come and go.
    shards: Mapping[str, ShardAdminClient]
    #: None: the page is a shard's own.
    coordinator: CoordinatorAdminClient | None
    #: Of every replica of the coordinator.
    coordinator_addresses: Sequence[str]
    clock: Clock
    face: Face
    version: str
    simulated: bool = False
    #: Whether requests that change the fleet are taken at all.
    writes: bool = False
    #: None: the fleet is real, or its page is not that of `up`.
    scenario: Scenario | None = None
    #: None: nothing is kept.
    history: History | None = None

    async def ask(
        self, question: Question[T], only: str = "", seconds: float = DEADLINE_SECONDS
    ) -> Answers[T]:
        """Every shard, or the one that is named; raises Problem for a name that is unknown."""
        return await self.ask_named(lambda _shard, client: question(client), only, seconds)

    async def ask_named(
        self, question: NamedQuestion[T], only: str = "", seconds: float = DEADLINE_SECONDS
    ) -> Answers[T]:
        """The same for a question that depends on the shard."""
        shards = dict(self.shards)
        if only:
            if only not in shards:
                raise not_found("shard", only, shards)
            shards = {only: shards[only]}
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(shard: str, client: ShardAdminClient) -> T | Rejected:
            try:
                async with asyncio.timeout(seconds), room:
                    return await question(shard, client)
            except Rejected as why:
                return why
            except TimeoutError:
                return Rejected(Code.DEADLINE_EXCEEDED, f"no answer within {seconds:g} s")

        told = await asyncio.gather(*(one(*each) for each in shards.items()))
        answers = dict(zip(shards, told, strict=True))
        return Answers(
            {name: each for name, each in answers.items() if not isinstance(each, Rejected)},
            {name: each for name, each in answers.items() if isinstance(each, Rejected)},
        )

    async def ask_one(
        self, shard: str, question: Question[T], seconds: float = DEADLINE_SECONDS
    ) -> T:
        """Raises Problem where it is unknown or does not answer."""
        return (await self.ask(question, shard, seconds)).require().said[shard]

    async def lead(self, question: Callable[[CoordinatorAdminClient], Awaitable[T]]) -> T:
        """The coordinator's answer; raises Problem where there is none."""
        if self.coordinator is None:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "this page is a shard's own and asks no coordinator",
                remedy="open the page of the coordinator: --web-addr there",
            )
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await question(self.coordinator)
        except Rejected as why:
            if why.code is Code.UNAVAILABLE:
                raise Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE, f"the coordinator: {why.text}"
                ) from None
            raise problem_of(why, "the coordinator") from None
        except TimeoutError:
            text = f"the coordinator: no answer within {DEADLINE_SECONDS:g} s"
            raise Problem(HTTPStatus.GATEWAY_TIMEOUT, text) from None
