"""Pauses said to a whole fleet: to its coordinator, and to every shard that is meant, directly.

Directly, because it must hold now and not with the next report; to the coordinator, because a shard
that cannot be reached, or starts later, must hear of it too. Without a coordinator, the shards that
are named are all there is.
"""

from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from bigfleet.cli.connections import Connection, Question, is_address, side_by_side
from bigfleet.cli.request_options import leave
from bigfleet.cli.whole_fleet import shards_meant

if TYPE_CHECKING:
    from bigfleet.cli.coordinator_verbs.connection import Led
    from bigfleet.model.pauses import Pause
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_admin import PauseCall, Paused, PauseList, ResumeCall, Resumed
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PauseAnswers(Generic[T]):
    """What each of them said, or what went wrong there."""

    #: By id; by address where no coordinator was asked.
    shards: "dict[str, T | Rejected]"
    #: None: there is none.
    coordinator: "T | Rejected | None" = None
    #: Where shards were asked.
    addresses: dict[str, str] = field(default_factory=dict)


def paused(connection: Connection, call: "PauseCall") -> "PauseAnswers[Paused]":
    import asyncio

    async def everywhere(coordinator: "CoordinatorAdminClient") -> "PauseAnswers[Paused]":
        meant = await _meant(connection, coordinator)
        if not isinstance(meant, dict):
            return await _only_directly(connection, meant, lambda shard: shard.admin.pause(call))
        narrow = replace(call.scope, shard_ids=tuple(meant) if connection.narrows else ())
        told = replace(call, scope=narrow)
        shards, lead = await asyncio.gather(
            side_by_side(connection, meant, lambda shard: shard.admin.pause(told)),
            _caught(coordinator.pause(told)),
        )
        return PauseAnswers(shards, lead, meant)

    if not connection.is_led():
        return PauseAnswers(connection.ask_each(lambda shard: shard.admin.pause(call)))
    return _led(connection, everywhere)


def resumed(connection: Connection, call: "ResumeCall") -> "PauseAnswers[Resumed]":
    async def everywhere(coordinator: "CoordinatorAdminClient") -> "PauseAnswers[Resumed]":
        meant = await _meant(connection, coordinator)
        if not isinstance(meant, dict):
            return await _only_directly(connection, meant, lambda shard: shard.admin.resume(call))
        # First, so that no shard hears of the pause again after it was lifted there.
        lead = await _caught(_lifted(connection, coordinator, call, meant))
        shards = await side_by_side(connection, meant, lambda shard: shard.admin.resume(call))
        return PauseAnswers(
            {name: _as_led(said, lead) for name, said in shards.items()}, lead, meant
        )

    if not connection.is_led():
        return PauseAnswers(connection.ask_each(lambda shard: shard.admin.resume(call)))
    return _led(connection, everywhere)


def pauses_of_all(connection: Connection, include_expired: bool) -> "PauseAnswers[PauseList]":
    """Only for a fleet that has a coordinator."""

    async def everywhere(coordinator: "CoordinatorAdminClient") -> "PauseAnswers[PauseList]":
        meant = await shards_meant(connection, coordinator)
        lead = await coordinator.pauses(include_expired=include_expired)
        shards = await side_by_side(
            connection, meant, lambda shard: shard.admin.pauses(include_expired=include_expired)
        )
        return PauseAnswers(shards, lead, meant)

    return connection.coordinator.ask(everywhere)


def _led(connection: Connection, everywhere: "Led[PauseAnswers[T]]") -> "PauseAnswers[T]":
    import asyncio

    from bigfleet.model.provider_calls import Code, Rejected

    try:
        return asyncio.run(connection.coordinator.asked(everywhere))
    except Rejected as rejected:
        said = connection.coordinator.told(rejected)
        if rejected.code in (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED):
            said = f"{said}; without a coordinator, name shards by address: --shard HOST:PORT"
        raise leave(said, rejected) from None


async def _meant(
    connection: Connection, coordinator: "CoordinatorAdminClient"
) -> "dict[str, str] | Rejected":
    """Rejected if the coordinator does not answer, unless every shard is named by its address."""
    from bigfleet.model.provider_calls import Rejected

    try:
        return await shards_meant(connection, coordinator)
    except Rejected as rejected:
        if connection.narrows and all(map(is_address, connection.shards)):
            return rejected
        raise


async def _only_directly(
    connection: Connection, rejected: "Rejected", question: "Question[T]"
) -> "PauseAnswers[T]":
    """The kill switch must work where the coordinator does not."""
    addresses = {address: address for address in connection.shards}
    return PauseAnswers(await side_by_side(connection, addresses, question), rejected, addresses)


async def _caught(answer: "Awaitable[T]") -> "T | Rejected":
    from bigfleet.model.provider_calls import Rejected

    try:
        return await answer
    except Rejected as rejected:
        return rejected


async def _lifted(
    connection: Connection,
    coordinator: "CoordinatorAdminClient",
    call: "ResumeCall",
    meant: dict[str, str],
) -> "Resumed":
    """All of some shards are all that name only them: others' stay in force."""
    from bigfleet.model.shard_admin import Resumed

    if not (call.everything and connection.narrows):
        return await coordinator.resume(call)
    removed: list[Pause] = []
    for pause in (await coordinator.pauses()).pauses:
        if pause.scope.shard_ids and set(pause.scope.shard_ids) <= meant.keys():
            one = replace(call, pause_id=pause.pause_id, everything=False)
            removed += (await coordinator.resume(one)).removed
    return Resumed(tuple(removed), (await coordinator.pauses()).pauses)


def _as_led(said: "Resumed | Rejected", lead: "Resumed | Rejected") -> "Resumed | Rejected":
    """A shard does not lift what the coordinator told it; that ends with its next report."""
    from bigfleet.model.pauses import PauseSource
    from bigfleet.model.provider_calls import Code, Rejected
    from bigfleet.model.shard_admin import Resumed

    lifted = () if isinstance(lead, Rejected) else lead.removed
    if isinstance(said, Rejected) and said.code is Code.ABORTED and lifted:
        return Resumed((), tuple(replace(p, source=PauseSource.COORDINATOR) for p in lifted))
    return said
