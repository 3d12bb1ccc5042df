"""Verbs about a whole fleet: every shard the coordinator knows is asked, side by side.

Shards that do not answer are named. Where no coordinator is asked (connections.py says when) the
shards that are named by address answer alone. A verb about one machine, Need or cluster asks all
of them too: a person need not know where it is. A shard that does not know it is left out; where
none knows it, the nearest names are told and it is exit 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from bigfleet.cli.connections import (
    Clients,
    Connection,
    Question,
    asked,
    is_address,
    no_such_shard,
    side_by_side,
)
from bigfleet.cli.request_options import (
    EXIT_PARTIAL,
    EXIT_UNREACHABLE,
    RequestOptions,
    cause_of,
    leave,
    named_text,
)
from bigfleet.cli.terminal import plain
from bigfleet.model.durations import short_text

if TYPE_CHECKING:
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

#: How long shards may take that are asked for something beside the point.
_GLANCE_SECONDS = 5.0
#: Names that are told where none is the one that was meant.
_NEAREST = 3
T = TypeVar("T")
M = TypeVar("M", bound=RequestOptions)


@dataclass(frozen=True, slots=True)
class FleetAnswers(Generic[T]):
    """By shard id: what was said, and why the others said nothing."""

    said: "dict[str, T]"
    failed: "dict[str, Rejected]"
    addresses: "dict[str, str]"

    def document(self) -> dict[str, Any]:
        """For the head of a JSON answer: shards whose part is missing."""
        silent = [
            {"shardId": shard, "address": self.addresses[shard], "error": failure_document(why)}
            for shard, why in self.failed.items()
        ]
        return {"unreachable": silent}

    def leave_partial(self, connection: Connection) -> None:
        """Leaves with 5 where shards are missing in what was shown."""
        leave_partial(connection, self.addresses, self.failed)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A shard's answer about something it does not know."""

    #: What it has that is named alike.
    near: tuple[str, ...] = ()


def ask_fleet(
    connection: Connection, question: "Question[T]", whole: float | None = None
) -> "FleetAnswers[T]":
    """Every shard that is meant; leaves with 2, 3 or 4 where none of them answers.

    `whole`: seconds for the answer where it may take longer than --timeout.
    """
    if connection.is_led():
        addresses, answers = connection.coordinator.ask(
            lambda c: _led(connection, c, question, whole)
        )
        said, failed = told_apart(answers)
    elif len(connection.shards) == 1:
        shard_id, answer = connection.ask(_with_id(question))
        return FleetAnswers({shard_id: answer}, {}, {shard_id: connection.shards[0]})
    else:
        pairs, failed = told_apart(connection.ask_each(_with_id(question)))
        said = dict(pairs.values())
        addresses = {shard_id: at for at, (shard_id, _) in pairs.items()}
        addresses |= {at: at for at in failed}
    if not said:
        shard, why = next(iter(failed.items()))
        raise leave(connection.explained("shard", f"{shard} at {addresses[shard]}", why), why)
    return FleetAnswers(said, failed, addresses)


async def _led(
    connection: Connection,
    coordinator: "CoordinatorAdminClient",
    question: "Question[T]",
    whole: float | None,
) -> "tuple[dict[str, str], dict[str, T | Rejected]]":
    from bigfleet.model.provider_calls import Code, Rejected

    addresses = await shards_meant(connection, coordinator)
    if not addresses:
        text = "the coordinator knows no shard yet; start one with --coordinator-addr"
        raise Rejected(Code.NOT_FOUND, text)
    return addresses, await side_by_side(connection, addresses, question, whole)


def _with_id(question: "Question[T]") -> "Question[tuple[str, T]]":
    async def ask(shard: Clients) -> "tuple[str, T]":
        return (await shard.admin.status()).shard_id, await question(shard)

    return ask


def ask_owner(
    connection: Connection,
    look: "Question[object | Unknown]",
    act: "Question[T | Unknown]",
    thing: "SoughtObject",
) -> T:
    """Change something at the one shard that has it; leaves with 2, 3 or 4 where that fails.

    Where one shard is named and no coordinator, that shard is told at once.
    """
    import asyncio

    from bigfleet.model.provider_calls import Rejected

    if len(connection.shards) == 1 and not connection.is_led():
        answers = FleetAnswers({connection.shards[0]: connection.ask(act)}, {}, {})
        return next(iter(known_in(connection, answers, thing).said.values()))
    owners = known_in(connection, ask_fleet(connection, look), thing)
    if len(owners.said) > 1:
        names = named_text(sorted(owners.said))
        raise click.UsageError(f"several shards have it ({names}): name one with --shard")
    (shard_id,) = owners.said
    address = owners.addresses[shard_id]
    try:
        answer = asyncio.run(asked(connection, address, act))
    except Rejected as rejected:
        said = connection.explained("shard", f"{shard_id} at {address}", rejected)
        raise leave(said, rejected) from None
    found = FleetAnswers({shard_id: answer}, {}, {})
    return known_in(connection, found, thing).said[shard_id]


@dataclass(frozen=True, slots=True)
class SoughtObject:
    """What is looked for in all shards."""

    kind: str
    wanted: str
    #: Said where nothing is named alike.
    hint: str


def known_in(
    connection: Connection, answers: "FleetAnswers[T | Unknown]", thing: SoughtObject
) -> "FleetAnswers[T]":
    """Without the shards that do not know it; leaves with 3 where none does, with 5 where one that
    gave no answer might."""
    said = {shard: each for shard, each in answers.said.items() if not isinstance(each, Unknown)}
    if said:
        return FleetAnswers(said, answers.failed, answers.addresses)
    near = [name for each in answers.said.values() for name in _near(each)]
    click.echo(plain(not_found_text(thing, near, shards_text(len(answers.said)))), err=True)
    answers.leave_partial(connection)
    raise click.exceptions.Exit(EXIT_UNREACHABLE)


def _near(answer: object) -> tuple[str, ...]:
    return answer.near if isinstance(answer, Unknown) else ()


def shards_text(shards: int) -> str:
    return "this shard" if shards == 1 else f"these {shards} shards"


def not_found_text(thing: SoughtObject, near: list[str], where: str) -> str:
    """`no machine od-1 in these 2 shards; nearest are od-10, od-11`."""
    hint, close = thing.hint, get_close_matches(thing.wanted, list(dict.fromkeys(near)), n=_NEAREST)
    if len(close) == 1:
        hint = f"did you mean {close[0]}?"
    elif close:
        hint = f"nearest are {', '.join(close)}"
    return f"no {thing.kind} {thing.wanted} in {where}; {hint}"


async def shards_meant(
    connection: Connection, coordinator: "CoordinatorAdminClient"
) -> dict[str, str]:
    """Address by id: of those that are named, else of all; raises Rejected for an unknown one."""
    known = {entry.shard_id: entry.address for entry in await coordinator.shards()}
    if not connection.narrows:
        return known
    id_at = {address: shard_id for shard_id, address in known.items()}
    meant = {}
    for word in connection.shards:
        shard_id = word
        if is_address(word):
            shard_id = id_at.get(word) or await _id_at(connection, word)
        if shard_id not in known:
            raise no_such_shard(shard_id, known)
        meant[shard_id] = word if is_address(word) else known[word]
    return meant


async def _id_at(connection: Connection, address: str) -> str:
    """A shard may be reached where its coordinator does not reach it: through a tunnel."""
    from bigfleet.model.provider_calls import Code, Rejected

    try:
        status = await asked(connection, address, lambda shard: shard.admin.status())
    except Rejected as rejected:
        why = cause_of(rejected)
        text = f"the coordinator knows no shard at {address}, and it does not answer: {why}"
        raise Rejected(Code.NOT_FOUND, text) from None
    return status.shard_id


def at_a_glance(request_options: M) -> M:
    """For what a coordinator knows best: one silent shard must not hold up the answer."""
    return replace(request_options, timeout=min(request_options.timeout, _GLANCE_SECONDS))


def told_apart(answers: "Mapping[str, T | Rejected]") -> "tuple[dict[str, T], dict[str, Rejected]]":
    """What was said, and what went wrong, by shard."""
    from bigfleet.model.provider_calls import Rejected

    said = {name: each for name, each in answers.items() if not isinstance(each, Rejected)}
    failed = {name: each for name, each in answers.items() if isinstance(each, Rejected)}
    return said, failed


def leave_partial(
    request_options: RequestOptions, addresses: Mapping[str, str], failed: "Mapping[str, Rejected]"
) -> None:
    """Leaves with 5 where shards are missing in what was shown."""
    if not failed:
        return
    each = [
        f"{name} at {addresses[name]} ({silence_text(request_options, rejected)})"
        for name, rejected in failed.items()
    ]
    said = f"{len(failed)} of {len(addresses)} shards gave no answer: {named_text(each)}"
    click.echo(plain(f"{said}; what they would say is missing"), err=True)
    raise click.exceptions.Exit(EXIT_PARTIAL)


def silence_text(request_options: RequestOptions, rejected: "Rejected") -> str:
    if rejected.code == "DEADLINE_EXCEEDED":
        return f"not within {short_text(request_options.timeout)}"
    return cause_of(rejected)


def failure_document(rejected: "Rejected") -> dict[str, str]:
    return {"code": str(rejected.code), "text": rejected.text}
