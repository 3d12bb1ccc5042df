"""How a verb reaches a running provider: its flags, its certificates, and how the call may end."""

from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bigfleet.cli.output import DocumentForm, answer, list_form, reading_options, shows
from bigfleet.cli.request_options import last_cause, leave

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles

T = TypeVar("T")
NO_ADMIN_SERVICE = (
    "this provider has no admin service (bigfleet.admin.v1alpha1.ProviderAdmin); only providers "
    "made with the Python SDK have one. Ask a shard for its machines: bigfleet machines"
)
_PATH = click.Path(path_type=Path)
_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--addr",), {"default": "127.0.0.1:9000", "show_default": True}),
    (("--tls-cert",), {"type": _PATH}),
    (("--tls-key",), {"type": _PATH}),
    (("--tls-ca",), {"type": _PATH}),
    (("-o", "--output"), {"type": DocumentForm(), "default": "table"}),
)


def provider_verb(command: Callable[..., None]) -> Callable[..., None]:
    for names, meaning in _OPTIONS:
        command = click.option(*names, **meaning)(command)
    return command


def provider_list(columns: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A provider_verb that answers with a list: all forms of -o, --sort-by and --watch."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*given: Any, **flags: Any) -> None:
            answer(flags["output"], flags, lambda: command(*given, **flags))

        made = reading_options(shows(lambda: columns)(run))
        for names, meaning in _OPTIONS[:-1]:
            made = click.option(*names, **meaning)(made)
        listed: Callable[..., None] = list_form()(made)
        return listed

    return decorate


def line_params() -> list[click.Parameter]:
    """The same flags, for commands that are made at run time."""
    return [click.Option(names, **meaning) for names, meaning in _OPTIONS]


def tls_in(flags: dict[str, Any]) -> "TlsFiles | None":
    from bigfleet.wire.lines import TlsFiles

    files = [flags[name] for name in ("tls_cert", "tls_key", "tls_ca")]
    if any(files) and not all(files):
        raise click.UsageError("--tls-cert, --tls-key and --tls-ca go together: all or none")
    return TlsFiles(*files) if all(files) else None


def answer_to(talk: Coroutine[Any, Any, T]) -> T:
    """Exit 2: the words were wrong; 3: no provider answers; 4: it refuses."""
    import asyncio

    from bigfleet.model.provider_calls import Code, Rejected

    try:
        return asyncio.run(talk)
    except Rejected as rejected:
        if rejected.code is Code.UNAVAILABLE and not rejected.reason:
            what = "start one, or name another with --addr"
            text = f"no provider answers: {last_cause(rejected.text)}; {what}"
            raise leave(text, rejected) from None
        if rejected.code is Code.UNIMPLEMENTED:
            raise leave(NO_ADMIN_SERVICE, rejected) from None
        bad_words = rejected.code is Code.INVALID_ARGUMENT
        raise leave(rejected.text if bad_words else str(rejected), rejected) from None
