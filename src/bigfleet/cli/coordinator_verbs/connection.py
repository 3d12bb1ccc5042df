"""How a verb reaches the leading coordinator: the shared flags, the connection, and how it may end.

Ends like the verbs of a shard. Verbs that ask only the coordinator have no flag --shard for where
to ask: where some have it, it says what they are to do.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from bigfleet.cli.output import answer, reading_options
from bigfleet.cli.request_options import RequestOptions, leave, manner_of
from bigfleet.cli.settings.asking_sections import CLI, TLS, CliSettings
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.options import configured
from bigfleet.cli.terminal import refuse

if TYPE_CHECKING:
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

    Led = Callable[[CoordinatorAdminClient], Awaitable["T"]]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorConnection(RequestOptions):
    addresses: tuple[str, ...]

    def ask(self, question: "Led[T]") -> T:
        """Asks the leader; leaves with 2, 3 or 4 where that fails."""
        import asyncio

        from bigfleet.model.provider_calls import Rejected

        try:
            return asyncio.run(self.asked(question))
        except Rejected as rejected:
            raise leave(self.told(rejected), rejected) from None

    def told(self, rejected: "Rejected") -> str:
        """What went wrong with the coordinator, and what to do about it."""
        return self.explained("coordinator", " or ".join(self.addresses), rejected)

    async def asked(self, question: "Led[T]") -> T:
        # The library's own lines on standard error say less than ours.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from bigfleet.wire.light_imports import load_python_messages_late

        load_python_messages_late()
        from bigfleet.wire.coordinator_admin import CoordinatorAdminClient

        async with CoordinatorAdminClient(
            self.addresses, self.tls, deadline=self.timeout
        ) as coordinator:
            return await question(coordinator)


def coordinator_verb(command: Callable[..., None]) -> Callable[..., None]:
    """The command gets its CoordinatorConnection first, and the flags it is made of."""

    @wraps(command)
    def run(configuration: Configuration, **given: Any) -> None:
        def ask() -> None:
            command(coordinator_connection(configuration, manner_of(configuration)), **given)

        answer(configuration.of(CliSettings).output, given, ask)

    return configured(CLI, TLS, without=("cli.shard",))(reading_options(run))


def coordinator_connection(
    configuration: Configuration, request_options: RequestOptions
) -> CoordinatorConnection:
    """Leaves with 2 where no coordinator is named."""
    addresses = configuration.of(CliSettings).coordinators()
    if not addresses:
        raise refuse(["cli.coordinator is empty: name an address with --coordinator"])
    return CoordinatorConnection(
        addresses=addresses,
        timeout=request_options.timeout,
        tls=request_options.tls,
        json=request_options.json,
        color=request_options.color,
        now=request_options.now,
        context=request_options.context,
    )
