"""How a verb asks a server: how long, with which certificates; and how it may end.

Exit 3: the server is unreachable or the object does not exist. Exit 4: the server refuses. Exit 2:
it finds the words wrong. Where only some answer, what they said is shown and it is
exit 5. The sentence says what to do about it.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bigfleet.cli.settings.asking_sections import CliSettings, TlsSettings
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.terminal import EXIT_BAD_INPUT, plain, refuse
from bigfleet.model.durations import short_text
from bigfleet.model.machines import Instant

if TYPE_CHECKING:
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.wire.lines import TlsFiles

EXIT_CHECK_FAILED, EXIT_UNREACHABLE, EXIT_REFUSED, EXIT_PARTIAL = 1, 3, 4, 5
#: A server that ends with another code has given no usable answer.
_REFUSALS = (
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "ABORTED",
    "FAILED_PRECONDITION",
    "ALREADY_EXISTS",
    "RESOURCE_EXHAUSTED",
)
#: Reasons of one that is there, and whose disk takes nothing.
_UNWRITABLE = ("store", "store-down")
#: Of many names, those that are told.
_NAMED = 5
#: gRPC tells a failure from the outside in; the last part is what happened.
_OUTSIDE = re.compile(
    r"failed to connect to all addresses; last error: [^;]*: (?=((?!: )[^;])+(;|$))"
)
#: What it says of a failed handshake has an OK at its end.
_HANDSHAKE = re.compile(r"\w+ handshake failed [^;]*?OPENSSL_internal:(\w+)[^;]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    #: Seconds an answer may take.
    timeout: float
    tls: "TlsFiles | None"
    #: Whether a document is wanted: JSON, or the same as YAML.
    json: bool
    color: str
    now: Instant
    #: The context that names the coordinator; empty: something else does.
    context: str = ""

    def explained(self, role: str, asked: str, rejected: "Rejected") -> str:
        """What went wrong, and what to do about it; `role` is the flag that names whom to ask."""
        match str(rejected.code):
            case "UNAVAILABLE" if rejected.reason:
                return cause_of(rejected)
            case "UNAVAILABLE" if self.context and role == "coordinator":
                return (
                    f"the fleet of context {self.context} no longer answers at {asked}: "
                    f"{cause_of(rejected)}; start it, name another with --context or "
                    f"--coordinator, or forget it: bigfleet context remove {self.context}"
                )
            case "UNAVAILABLE":
                secured = "with certificates" if self.tls else "without certificates"
                return (
                    f"no {role} answers at {asked} ({secured}): {cause_of(rejected)}; "
                    f"start one, or name another with --{role}"
                )
            case "DEADLINE_EXCEEDED":
                waited = short_text(self.timeout)
                return f"{asked} did not answer within {waited}; --timeout gives it longer"
            case "UNIMPLEMENTED":
                return f"{asked} does not know this call; is it a {role}, and of this version?"
            case "PERMISSION_DENIED" | "UNAUTHENTICATED":
                return f"refused: {rejected.text}; name its certificate with --tls-cert"
            case _:
                return rejected.text or str(rejected)


def manner_of(configuration: Configuration) -> RequestOptions:
    """Leaves with 2 where the certificates cannot be used."""
    said, tls = configuration.of(CliSettings), configuration.of(TlsSettings).files()
    if tls is not None and (why := tls.why_unusable()):
        raise refuse([why])
    return RequestOptions(
        timeout=said.timeout,
        tls=tls,
        json=said.output in ("json", "yaml"),
        color=said.color,
        now=time.time_ns(),
        context=context_of(configuration, "cli.coordinator"),
    )


def context_of(configuration: Configuration, name: str) -> str:
    """The context that says this setting; empty: none does."""
    source, _, context = configuration.settings[name].origin.partition(" ")
    return context if source == "context" else ""


def cause_of(rejected: "Rejected") -> str:
    """In few words, for every address that was tried."""
    return cause_in(rejected.text) or str(rejected.code)


def cause_in(text: str) -> str:
    """The same where gRPC is quoted within other words."""
    return _OUTSIDE.sub("", _HANDSHAKE.sub(r"the certificates do not fit (\1)", text))


def named_text(names: Sequence[str]) -> str:
    """The first few of them, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def last_cause(text: str) -> str:
    return text.rpartition(": ")[2]


def leave(sentence: str, rejected: "Rejected") -> "click.exceptions.Exit":
    """The sentence on standard error; the result is to be raised."""
    click.echo(plain(sentence), err=True)
    return click.exceptions.Exit(exit_code_of(rejected))


def exit_code_of(rejected: "Rejected") -> int:
    if rejected.code == "INVALID_ARGUMENT":
        return EXIT_BAD_INPUT
    refused = rejected.code in _REFUSALS or rejected.reason in _UNWRITABLE
    return EXIT_REFUSED if refused else EXIT_UNREACHABLE
