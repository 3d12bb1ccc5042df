"""Whom a verb asks, and how it reaches a live shard: the flags and the connection they share.

A shard is named by its address, or by the id under which the coordinator knows it. A verb that is
about one shard asks that one. A verb that can be about a whole fleet asks the coordinator where one
is named; else only the shards that are named by address; and where none is named, the coordinator
at its default address, or if none answers there, the default shard. Shards narrow what
such a verb is about where a flag names them, or a stronger source than the coordinator's.
"""

import getpass
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_connection
from bigfleet.cli.output import answer, reading_options
from bigfleet.cli.request_options import RequestOptions, leave, manner_of, named_text
from bigfleet.cli.settings.asking_sections import CLI, TLS, CliSettings
from bigfleet.cli.settings.configuration import DEFAULT, Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.terminal import plain, refuse

if TYPE_CHECKING:
    from bigfleet.model.coordination import ShardEntry
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_admin import Audit
    from bigfleet.wire.shard_admin import ShardAdminClient
    from bigfleet.wire.shard_read import ShardReadClient

#: How long a coordinator that was not named may take to answer.
_GLANCE_SECONDS = 3.0
#: Shards asked at the same time.
_AT_ONCE = 64
#: Where a setting may come from, the strongest last.
_SOURCES = (DEFAULT, "context", "file", "environment", "flag")
_UNREACHABLE_CODES = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clients:
    """The two services of one shard, on open lines."""

    admin: "ShardAdminClient"
    read: "ShardReadClient"
    #: Seconds an answer may take, also a long one.
    timeout: float


Question = Callable[[Clients], Awaitable[T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection(RequestOptions):
    """Where to ask, how long to wait, and how to show what comes back."""

    #: Addresses, and ids where some were named.
    shards: tuple[str, ...]
    coordinator: CoordinatorConnection
    #: How strongly they are named: by a flag 4, a variable 3, a file 2, a context 1.
    shard_said: int = 0
    coordinator_said: int = 0

    @property
    def narrows(self) -> bool:
        """Whether a verb about a fleet is to be about these shards alone."""
        by_flag = self.shard_said == len(_SOURCES) - 1
        return by_flag or self.shard_said > self.coordinator_said

    def only(self, address: str) -> "Connection":
        """About the shard at this address alone, and no coordinator."""
        return replace(self, shards=(address,), shard_said=len(_SOURCES) - 1, coordinator_said=0)

    def ask(self, question: Question[T]) -> T:
        """Of the one shard that is named; leaves with 2, 3 or 4 where that fails."""
        import asyncio

        from bigfleet.model.provider_calls import Rejected

        address = self._one_address()
        try:
            return asyncio.run(asked(self, address, question))
        except Rejected as rejected:
            raise leave(self.explained("shard", address, rejected), rejected) from None

    def ask_each(self, question: Question[T]) -> "dict[str, T | Rejected]":
        """Every shard that is named, all by address; what went wrong is told, not raised."""
        import asyncio

        addresses = {address: address for address in self.shards}
        return asyncio.run(side_by_side(self, addresses, question))

    def is_led(self) -> bool:
        """Whether the coordinator is asked, for verbs that can do with and without."""
        if self.coordinator_said:
            return True
        if self.shard_said:
            return not all(map(is_address, self.shards))
        return self._answers_unasked()

    def _answers_unasked(self) -> bool:
        import asyncio

        from bigfleet.model.provider_calls import Rejected

        at = self.coordinator.addresses[0]
        line = replace(self.coordinator, timeout=min(self.timeout, _GLANCE_SECONDS))
        try:
            asyncio.run(line.asked(lambda coordinator: coordinator.status(at)))
        except Rejected as rejected:
            if rejected.code not in _UNREACHABLE_CODES:
                raise leave(line.told(rejected), rejected) from None
            alone = " and ".join(self.shards)
            said = f"no coordinator answers at {at}: asking the shard at {alone} alone"
            click.echo(plain(f"{said}; --coordinator or --shard says whom to ask"), err=True)
            return False
        return True

    def _one_address(self) -> str:
        # A coordinator named by a flag comes before a shard named by a file.
        if self.coordinator_said > self.shard_said:
            return self.coordinator.ask(lambda c: _only_one(c.shards()))
        if len(self.shards) != 1:
            raise click.UsageError("this verb asks one shard: name one with --shard")
        (word,) = self.shards
        if is_address(word):
            return word
        return self.coordinator.ask(lambda c: _address_of(word, c.shards()))


def is_address(word: str) -> bool:
    """Ids of shards have no colon."""
    return ":" in word


async def _address_of(shard_id: str, known: "Awaitable[tuple[ShardEntry, ...]]") -> str:
    entries = {entry.shard_id: entry for entry in await known}
    if shard_id not in entries:
        raise no_such_shard(shard_id, entries)
    return entries[shard_id].address


async def _only_one(known: "Awaitable[tuple[ShardEntry, ...]]") -> str:
    entries = await known
    if len(entries) == 1:
        return entries[0].address
    if not entries:
        from bigfleet.model.provider_calls import Code, Rejected

        text = "the coordinator knows no shard yet; start one with --coordinator-addr"
        raise Rejected(Code.NOT_FOUND, text)
    names = named_text([entry.shard_id for entry in entries])
    raise click.UsageError(f"this verb asks one shard: name one with --shard; {names}")


def no_such_shard(shard_id: str, known: Mapping[str, object]) -> "Rejected":
    """Answered with the one that was probably meant; the result is to be raised."""
    from difflib import get_close_matches

    from bigfleet.model.provider_calls import Code, Rejected

    near = get_close_matches(shard_id, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "bigfleet shards shows those it knows"
    return Rejected(Code.NOT_FOUND, f"the coordinator knows no shard {shard_id}; {hint}")


async def side_by_side(
    request_options: RequestOptions,
    addresses: Mapping[str, str],
    question: Question[T],
    whole: float | None = None,
) -> "dict[str, T | Rejected]":
    """Shards by their name, asked at the same time; all of an answer has one deadline.

    `whole`: in seconds, for questions that keep --timeout themselves, piece by piece.
    """
    import asyncio

    from bigfleet.model.provider_calls import Code, Rejected

    room = asyncio.Semaphore(_AT_ONCE)

    async def one(address: str) -> "T | Rejected":
        try:
            # Waiting for a turn counts too: the answer as a whole is due at one moment.
            async with asyncio.timeout(whole or request_options.timeout), room:
                return await asked(request_options, address, question)
        except Rejected as rejected:
            return rejected
        except TimeoutError:
            return Rejected(Code.DEADLINE_EXCEEDED, f"{address} took too long")

    answers = await asyncio.gather(*map(one, addresses.values()))
    return dict(zip(addresses, answers, strict=True))


async def asked(request_options: RequestOptions, address: str, question: Question[T]) -> T:
    """One shard; raises Rejected."""
    # The library's own lines on standard error say less than ours.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from bigfleet.wire.light_imports import load_python_messages_late

    load_python_messages_late()
    from bigfleet.wire.shard_admin import ShardAdminClient
    from bigfleet.wire.shard_read import ShardReadClient

    tls, timeout = request_options.tls, request_options.timeout
    async with (
        ShardAdminClient(address, tls, deadline=timeout) as admin,
        ShardReadClient(address, tls, deadline=timeout) as read,
    ):
        return await question(Clients(admin, read, timeout))


def shard_verb(command: Callable[..., None]) -> Callable[..., None]:
    """The command gets its Connection first, and the flags it is made of."""

    @wraps(command)
    def run(configuration: Configuration, **given: Any) -> None:
        output = configuration.of(CliSettings).output
        answer(output, given, lambda: command(_connection(configuration), **given))

    return configured(CLI, TLS)(reading_options(run))


def _connection(configuration: Configuration) -> Connection:
    said, request_options = configuration.of(CliSettings), manner_of(configuration)
    if not said.shards():
        raise refuse(["cli.shard is empty: name a shard with --shard"])
    # Shards that are named by their addresses need not be of the context's fleet.
    named = _strength(configuration, "shard") and all(map(is_address, said.shards()))
    elsewhere = named and request_options.context and not said.context
    return Connection(
        timeout=request_options.timeout,
        tls=request_options.tls,
        json=request_options.json,
        color=request_options.color,
        now=request_options.now,
        context=request_options.context,
        shards=said.shards(),
        coordinator=coordinator_connection(configuration, request_options),
        shard_said=_strength(configuration, "shard"),
        coordinator_said=0 if elsewhere else _strength(configuration, "coordinator"),
    )


def _strength(configuration: Configuration, name: str) -> int:
    return _SOURCES.index(configuration.settings[f"cli.{name}"].origin.partition(" ")[0])


def audited(command: Callable[..., None]) -> Callable[..., None]:
    """The flags of every verb that changes something."""
    reason = click.option("--reason", required=True, help="Why; it is logged and shown.")
    return _owner(reason(command))


_owner = click.option("--owner", default=None, help="Who asks for it.  [default: your login name]")


def audit_of(owner: str | None, reason: str) -> "Audit":
    from bigfleet.model.shard_admin import Audit

    return Audit(owner or login_name(), reason)


def login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        return str(os.getuid())
