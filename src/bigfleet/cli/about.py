"""`bigfleet version` and `bigfleet help`: the command line about itself."""

import platform
import time
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from bigfleet import __version__
from bigfleet.cli.output import current_output, prints_document
from bigfleet.cli.suggestions import no_such_verb


@click.command()
@prints_document("One line for people, a document for programs.")
def version() -> None:
    """The version of this command line; `bigfleet status` shows those of coordinators and shards.

    \b
    Examples:
      bigfleet version
      bigfleet version -o json | jq -r .version
    """
    if not current_output().is_document:
        click.echo(f"bigfleet {__version__}")
        return
    from bigfleet.cli.tables import write_json

    machine = f"{platform.system()}/{platform.machine()}".lower()
    about = {"version": __version__, "python": platform.python_version(), "platform": machine}
    write_json(about, time.time_ns())


def _complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The verbs of the group that is typed already."""
    context, command = command_at(ctx, ctx.params.get("verb") or ())
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    return [CompletionItem(name) for name in names if name.startswith(begun)]


@click.command("help")
@click.argument("verb", nargs=-1, shell_complete=_complete)
@click.pass_context
def show_help(ctx: click.Context, /, verb: tuple[str, ...]) -> None:
    """What a verb does, its flags and examples; without a verb: the list of them.

    \b
    Examples:
      bigfleet help
      bigfleet help machines
      bigfleet help machines story
    """
    context, command = command_at(ctx, verb)
    click.echo(command.get_help(context))


def command_at(ctx: click.Context, words: Sequence[str]) -> tuple[click.Context, click.Command]:
    """The command that the words name; raises UsageError where there is none."""
    context = ctx.find_root()
    command = context.command
    for word in words:
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            names = command.list_commands(context) if isinstance(command, click.Group) else []
            raise no_such_verb(word, names, context)
        context = click.Context(found, info_name=word, parent=context)
        command = found
    return context, command
