"""docs/reference/exit-codes.md: what the exit code of each verb means."""

import re
from collections.abc import Iterator

import click

from bigfleet.cli.main import cli
from bigfleet.cli.request_options import (
    EXIT_CHECK_FAILED,
    EXIT_PARTIAL,
    EXIT_REFUSED,
    EXIT_UNREACHABLE,
)
from bigfleet.cli.terminal import EXIT_BAD_INPUT
from tests.site.markdown import code, page, section, table, text

#: What a person or a script does about a code.
NEXT = {
    0: "go on",
    EXIT_CHECK_FAILED: "read the finding on standard error or in the answer",
    EXIT_BAD_INPUT: "correct the flag, the file or the field that standard error names",
    EXIT_UNREACHABLE: "check address, context and certificates, or the name; then try again",
    EXIT_REFUSED: "read who may do this, or what is in the way; trying again does not help",
    EXIT_PARTIAL: "standard error names what is missing; try again for the rest",
}
_INTRODUCTION = """\
Every verb ends with one of these. Sentences for people go to standard error, the answer to
standard output."""
_SENTENCE = re.compile(r"[^.\n]*\bexit codes?\b[^.]*\.", re.IGNORECASE)
_PROCESSES = """\
A long-running process (shard, coordinator, operator, podwatch, provider) ends with 0 after
SIGTERM or SIGINT, with 1 when a part that it cannot live without has ended (the log says
which), and with 2 when it must not start: a setting is wrong, a file cannot be read, or another
process has its store."""


def exit_codes_page() -> str:
    rows = [(str(each), meaning, NEXT[each]) for each, meaning in meanings().items()]
    own = [(code(verb), text(sentence)) for verb, sentence in sentences()]
    return page(
        "Exit codes",
        _INTRODUCTION + "\n\n" + table(("code", "meaning", "what to do"), rows) + "\n",
        section("Processes", _PROCESSES),
        section("Verbs that say more", table(("verb", "what its help says of its exit code"), own)),
    )


def meanings() -> dict[int, str]:
    """As the help of `bigfleet` says them."""
    said = " ".join((cli.help or "").partition("Exit codes:")[2].split()).rstrip(".")
    found = (part.strip().partition(" ") for part in said.split(";"))
    return {int(number): meaning for number, _, meaning in found}


def sentences() -> Iterator[tuple[str, str]]:
    for name, command in every_verb(cli, "bigfleet"):
        for paragraph in (command.help or "").split("\n\n"):
            for found in _SENTENCE.findall(" ".join(paragraph.split())):
                yield name, found.strip()


def every_verb(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        yield f"{name} {word}", command
        if isinstance(command, click.Group):
            yield from every_verb(command, f"{name} {word}")
