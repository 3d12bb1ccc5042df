"""`bigfleet context`: fleets by name, and which of them verbs ask."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bigfleet.cli.contexts import (
    Contexts,
    FleetContext,
    change_contexts,
    context_file,
    is_alive,
    read_contexts,
    why_not_a_name,
)
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.output import current_output, prints_document, prints_list
from bigfleet.cli.terminal import plain, refuse
from bigfleet.model.errors import BadInput
from bigfleet.model.syntax import is_address

_COLUMNS = ("USED", "NAME", "COORDINATOR", "CERTIFICATE", "MADE_BY")
_document_form = prints_document()
_file = click.Path(path_type=Path, dir_okay=False, exists=True)


class _ShowByDefault(DefaultVerb):
    default = "show"


@click.group(cls=_ShowByDefault)
def context() -> None:
    """Fleets by name: which one verbs ask where no flag says it.

    A flag is stronger than a variable, a variable than a config file, a config file than a context,
    and a context than the defaults. `bigfleet up` writes a context `up` and takes it away at its
    end; it is used where you have chosen none.

    \b
    Examples:
      bigfleet context                                     which one is used, and why
      bigfleet context list
      bigfleet context set prod --coordinator coord-1:7790,coord-2:7790 --use
      bigfleet context use prod
      bigfleet status --context up
      bigfleet context remove prod
    """


@context.command(short_help="The context that verbs use now.")
@click.argument("name", required=False, default="")
@_document_form
def show(name: str) -> None:
    """The context that verbs use now, or the one that is NAMED."""
    contexts = _read()
    try:
        found = contexts.named(name) if name else contexts.in_force()
    except BadInput as problem:
        raise refuse(map(str, problem.problems)) from None
    if current_output().is_document:
        _write_json(_document(contexts, found) if found else {"name": ""})
        return
    if found is None:
        click.echo("No context is used: verbs ask the default addresses.")
        return
    for line in _lines(contexts, found):
        click.echo(plain(line))


@context.command("list", short_help="Every context.")
@prints_list(lambda: _COLUMNS)
def list_contexts() -> None:
    """Every context; the one that verbs use is marked with a star."""
    contexts = _read()
    every = [each for _name, each in sorted(contexts.by_name.items())]
    from bigfleet.cli.tables import Page, cell, table_of, write_items

    if current_output().is_document:
        items = [_document(contexts, each) for each in every]
        write_items(items, time.time_ns(), file=str(_path()))
        return
    page = Page.on_stdout("auto")
    table = table_of(*_COLUMNS)
    for each in every:
        used = _is_used(contexts, each)
        table.add_row(
            cell("*" if used else ""),
            cell(each.name),
            cell(",".join(each.coordinator)),
            cell(each.cert),
            cell(_made_by(each), "red" if each.up_pid and not is_alive(each.up_pid) else ""),
            name=f"context/{each.name}",
        )
    page.show_or_say(
        table, "There is no context: bigfleet context set NAME makes one, bigfleet up another."
    )
    page.write()


@context.command(short_help="Choose the context that verbs use.")
@click.argument("name", required=False, default="")
@click.option("--none", "nothing", is_flag=True, help="Choose none.")
@_document_form
def use(name: str, nothing: bool) -> None:
    """Choose the context that verbs use from now on, in every shell."""
    if bool(name) == nothing:
        raise click.UsageError("name a context, or give --none")

    def chosen(contexts: Contexts) -> Contexts:
        if name:
            contexts.named(name)
        return replace(contexts, chosen=name)

    contexts = _change(chosen)
    said = f"verbs use context {name}" if name else _after_choosing_none(contexts)
    _confirm(contexts, contexts.by_name.get(name), said)


@context.command("set", short_help="Make a context, or change one.")
@click.argument("name")
@click.option("--coordinator", multiple=True, help="Address of its coordinator; may be repeated.")
@click.option("--tls-cert", type=_file, default=None, help="Your certificate, PEM.")
@click.option("--tls-key", type=_file, default=None, help="Its private key, PEM.")
@click.option("--tls-ca", type=_file, default=None, help="Trusted authorities, PEM.")
@click.option("--use", "choose", is_flag=True, help="Choose it as well.")
@_document_form
def set_context(
    name: str,
    coordinator: tuple[str, ...],
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    choose: bool,
) -> None:
    """Make a context, or change what the flags say of one.

    \b
    Example:
      bigfleet context set prod --coordinator coord-1:7790 --tls-cert admin/tls.crt \\
        --tls-key admin/tls.key --tls-ca admin/ca.crt --use
    """
    if why := why_not_a_name(name):
        raise refuse([why])
    addresses = tuple(w for part in coordinator for each in part.split(",") if (w := each.strip()))
    wrong = [f"--coordinator {word}: write HOST:PORT" for word in addresses if not is_address(word)]
    if wrong:
        raise refuse(wrong)
    if not any((addresses, choose, tls_cert, tls_key, tls_ca)):
        raise click.UsageError("say what it is: --coordinator, or --tls-cert, -key and -ca")

    def changed(contexts: Contexts) -> Contexts:
        known = contexts.by_name.get(name) or FleetContext(name)
        fresh = replace(
            known,
            coordinator=addresses or known.coordinator,
            cert=_absolute(tls_cert, known.cert),
            key=_absolute(tls_key, known.key),
            ca=_absolute(tls_ca, known.ca),
        )
        if any((fresh.cert, fresh.key, fresh.ca)) and not all((fresh.cert, fresh.key, fresh.ca)):
            raise click.UsageError("--tls-cert, --tls-key and --tls-ca go together: give all three")
        # From now on it is a person's, and no `up` takes it away.
        after = contexts.with_context(replace(fresh, up_pid=0))
        return replace(after, chosen=name) if choose else after

    contexts = _change(changed)
    used = _is_used(contexts, contexts.by_name[name])
    hint = "verbs use it" if used else f"to use it: bigfleet context use {name}"
    _confirm(contexts, contexts.by_name[name], f"context {name} is set; {hint}")


@context.command(short_help="Forget a context.")
@click.argument("name")
@_document_form
def remove(name: str) -> None:
    """Forget a context; what it names stays as it is."""

    def removed(contexts: Contexts) -> Contexts:
        contexts.named(name)
        return contexts.without(name)

    contexts = _change(removed)
    _confirm(contexts, None, f"context {name} is removed")


def _absolute(path: Path | None, known: str) -> str:
    """A verb is not always run in the same folder."""
    return str(path.absolute()) if path else known


def _after_choosing_none(contexts: Contexts) -> str:
    found = contexts.in_force()
    return f"none is chosen; verbs use {found.name}, of bigfleet up" if found else "none is chosen"


def _path() -> Path:
    return context_file(os.environ)


def _read() -> Contexts:
    try:
        return read_contexts(_path())
    except BadInput as problem:
        raise refuse(map(str, problem.problems)) from None


def _change(change: Any) -> Contexts:
    try:
        return change_contexts(_path(), change)
    except BadInput as problem:
        raise refuse(map(str, problem.problems)) from None


def _is_used(contexts: Contexts, found: FleetContext) -> bool:
    try:
        return contexts.in_force() == found
    except BadInput:
        return False


def _made_by(found: FleetContext) -> str:
    if not found.up_pid:
        return "you"
    gone = "" if is_alive(found.up_pid) else ", which is gone"
    return f"bigfleet up, process {found.up_pid}{gone}"


def _lines(contexts: Contexts, found: FleetContext) -> list[str]:
    used = "used" if _is_used(contexts, found) else "not used"
    why = "chosen" if contexts.chosen == found.name else "none is chosen, and it is of bigfleet up"
    lines = [
        f"context      {found.name} ({used}{f': {why}' if used == 'used' else ''})",
        f"coordinator  {', '.join(found.coordinator) or 'the default address'}",
        f"certificate  {found.cert or 'none'}",
    ]
    if found.data_dir:
        lines.append(f"data dir     {found.data_dir}")
    return [*lines, f"made by      {_made_by(found)}"]


def _document(contexts: Contexts, found: FleetContext) -> dict[str, Any]:
    state = {"name": found.name, "used": _is_used(contexts, found)}
    alive = {"upAlive": is_alive(found.up_pid)} if found.up_pid else {}
    return {**state, "chosen": contexts.chosen == found.name, **found.document(), **alive}


def _confirm(contexts: Contexts, found: FleetContext | None, said: str) -> None:
    if current_output().is_document:
        shown = {"context": _document(contexts, found)} if found else {}
        _write_json({**shown, "text": said})
    else:
        click.echo(plain(said))


def _write_json(document: dict[str, Any]) -> None:
    from bigfleet.cli.tables import write_json

    write_json(document, time.time_ns())
