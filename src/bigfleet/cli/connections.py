"""How a verb reaches a live shard: the flags all such verbs share, the line, and how it may end.

A shard that cannot be reached, or that knows no such object, is exit 3; one that refuses is exit 4;
what it finds wrong with the words is exit 2. The sentence says what to do about it.
"""

import asyncio
import getpass
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bigfleet.cli.settings.loading import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import CLI, TLS, CliSettings, TlsSettings
from bigfleet.cli.terminal import EXIT_BAD_INPUT, plain, refuse
from bigfleet.model.durations import short_text
from bigfleet.model.machines import Instant

if TYPE_CHECKING:
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_admin import Audit
    from bigfleet.wire.lines import TlsFiles
    from bigfleet.wire.shard_admin_client import ShardAdminClient
    from bigfleet.wire.shard_read import ShardReadClient

EXIT_CHECK_FAILED, EXIT_UNREACHABLE, EXIT_REFUSED = 1, 3, 4
#: Whoever else ends with a code has given no usable answer.
_REFUSALS = (
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "ABORTED",
    "FAILED_PRECONDITION",
    "ALREADY_EXISTS",
    "RESOURCE_EXHAUSTED",
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clients:
    """The two services of one shard, on open lines."""

    admin: "ShardAdminClient"
    read: "ShardReadClient"
    #: Seconds an answer may take, also a long one.
    timeout: float


Question = Callable[[Clients], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class Line:
    """Where to ask, how long to wait, and how to show what comes back."""

    addresses: tuple[str, ...]
    timeout: float
    tls: "TlsFiles | None"
    json: bool
    color: str
    now: Instant

    def ask(self, question: Question[T]) -> T:
        """Of the one shard that is named; leaves with 2, 3 or 4 where that fails."""
        from bigfleet.model.provider_calls import Rejected

        if len(self.addresses) != 1:
            raise click.UsageError("this verb asks one shard: name one with --shard")
        try:
            return asyncio.run(self._asked(self.addresses[0], question))
        except Rejected as rejected:
            raise leave(self.explained(self.addresses[0], rejected), rejected) from None

    def ask_each(self, question: Question[T]) -> "dict[str, T | Rejected]":
        """Every shard that is named, at once; what went wrong is told, not raised."""
        from bigfleet.model.provider_calls import Rejected

        async def asked(address: str) -> "T | Rejected":
            try:
                return await self._asked(address, question)
            except Rejected as rejected:
                return rejected

        async def all_asked() -> "list[T | Rejected]":
            return await asyncio.gather(*map(asked, self.addresses))

        return dict(zip(self.addresses, asyncio.run(all_asked()), strict=True))

    def explained(self, address: str, rejected: "Rejected") -> str:
        """What went wrong, and what to do about it."""
        match str(rejected.code):
            case "UNAVAILABLE":
                secured = "with certificates" if self.tls else "without certificates"
                return (
                    f"no shard answers at {address} ({secured}): {last_cause(rejected.text)}; "
                    "start one, or name another with --shard"
                )
            case "DEADLINE_EXCEEDED":
                waited = short_text(self.timeout)
                return f"{address} did not answer within {waited}; --timeout gives it longer"
            case "UNIMPLEMENTED":
                return f"{address} does not know this call; is it a shard, and of this version?"
            case "PERMISSION_DENIED" | "UNAUTHENTICATED":
                return f"refused: {rejected.text}; name its certificate with --tls-cert"
            case _:
                return rejected.text or str(rejected)

    async def _asked(self, address: str, question: Question[T]) -> T:
        # The library's own lines on standard error say less than ours.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from bigfleet.wire.shard_admin_client import ShardAdminClient
        from bigfleet.wire.shard_read import ShardReadClient

        async with (
            ShardAdminClient(address, self.tls, deadline=self.timeout) as admin,
            ShardReadClient(address, self.tls) as read,
        ):
            return await question(Clients(admin, read, self.timeout))


def last_cause(text: str) -> str:
    """gRPC tells a failure from the outside in; the last part is what happened."""
    return text.rpartition(": ")[2]


def shard_verb(command: Callable[..., None]) -> Callable[..., None]:
    """The command gets its Line first, and the flags it is made of."""

    @wraps(command)
    def run(configuration: Configuration, **given: Any) -> None:
        command(_line(configuration), **given)

    return configured(CLI, TLS)(run)


def _line(configuration: Configuration) -> Line:
    said, tls = configuration.of(CliSettings), configuration.of(TlsSettings).files()
    if tls is not None and (why := tls.why_unusable()):
        raise refuse([why])
    output = said.output == "json"
    return Line(said.shard, said.timeout, tls, output, said.color, time.time_ns())


def audited(command: Callable[..., None]) -> Callable[..., None]:
    """The flags of every verb that changes something."""
    reason = click.option("--reason", required=True, help="Why; it is logged and shown.")
    return _owner(reason(command))


_owner = click.option("--owner", default=None, help="Who wants it.  [default: your login name]")


def audit_of(owner: str | None, reason: str) -> "Audit":
    from bigfleet.model.shard_admin import Audit

    return Audit(owner or login_name(), reason)


def login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        return str(os.getuid())


def leave(sentence: str, rejected: "Rejected") -> "click.exceptions.Exit":
    """The sentence on standard error; the result is to be raised."""
    click.echo(plain(sentence), err=True)
    return click.exceptions.Exit(exit_code_of(rejected))


def exit_code_of(rejected: "Rejected") -> int:
    if rejected.code == "INVALID_ARGUMENT":
        return EXIT_BAD_INPUT
    return EXIT_REFUSED if rejected.code in _REFUSALS else EXIT_UNREACHABLE
