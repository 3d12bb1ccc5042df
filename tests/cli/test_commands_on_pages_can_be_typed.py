"""Every command line that a page shows has verbs and options that exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bigfleet.cli.main import cli
from tests.architecture.tree import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What stands for something that the reader writes.
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_:0-9/]*|\.\.\.|<.*>|\[.*")
_ENDS = {"|", "&", "&&", ";", ">", "2>", "||"}


def commands_on(page: Path) -> Iterator[list[str]]:
    for block in _FENCE.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            said = line.strip()
            # Beside prompts, what has none is an answer.
            if "$ bigfleet " in block:
                said = said[2:] if said.startswith("$ ") else ""
            # Shapes of the bench have options of their own.
            if said.startswith("bigfleet ") and not said.startswith("bigfleet bench "):
                yield words_of(said)[1:]


def words_of(line: str) -> list[str]:
    """Up to a pipe or a comment."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    ends = [place for place, word in enumerate(words) if word in _ENDS]
    return words[: ends[0]] if ends else words


def why_unknown(words: list[str]) -> str:
    """The first verb or option that does not exist; empty: all do."""
    command: click.Command = cli
    options: set[str] = {"--help", "-h", "--version"}
    for word in words:
        if word.startswith("-") and len(word) > 1 and not re.fullmatch(r"-\d.*", word):
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            # A provider's own settings are known only to its module.
            lenient = command.context_settings.get("ignore_unknown_options", False)
            if not lenient and name not in options | options_of(command):
                return f"{command.name} has no {name}"
        elif isinstance(command, click.Group):
            inner = command.get_command(click.Context(command), word)
            if inner is not None:
                options |= options_of(command)
                command = inner
            elif command is cli and not _PLACEHOLDER.fullmatch(word):
                return f"there is no verb {word}"
    return ""


def options_of(command: click.Command) -> set[str]:
    found = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    if isinstance(command, click.Group) and (default := getattr(command, "default", "")):
        found |= options_of(command.commands[default])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_it_can_be_typed(page: Path) -> None:
    wrong = {" ".join(words): why for words in commands_on(page) if (why := why_unknown(words))}
    assert wrong == {}


def test_mistakes_are_found() -> None:
    assert why_unknown(["shard", "--shard-id", "a"]) == "shard has no --shard-id"
    assert why_unknown(["stauts"]) == "there is no verb stauts"
    assert why_unknown(["machines", "story", "m-1", "-o", "json"]) == ""
