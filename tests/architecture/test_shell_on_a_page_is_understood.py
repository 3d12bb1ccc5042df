"""Commands in shell blocks and in running text: every verb and flag that a page names exists.

Blocks of the language `sh` are not run here. Those of docs/kubernetes.md are, by `make e2e`.
"""

import re
import shlex
from pathlib import Path

import click
import pytest

from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.main import cli
from tests.architecture.pages import blocks_of
from tests.architecture.tree import PACKAGE, ROOT, name_of, pages

KUBERNETES = ROOT / "docs" / "kubernetes.md"
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(bigfleet [^`]+)`")
#: Events, counts and reasons as the troubleshooting table writes them.
NAMES = re.compile(r"`([a-z]+(?:[._][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)`")


def in_shell(page: Path) -> list[str]:
    text = "\n".join(block.text for block in blocks_of(page) if block.language == "sh")
    parts = re.split(r"[\n|;&]|\$\(|\d?> ?\S+", text.replace("\\\n", " "))
    return [part.strip() for part in parts if part.strip().startswith("bigfleet ")]


def in_text(page: Path) -> list[str]:
    spans: list[str] = INLINE.findall(FENCED.sub("", page.read_text()))
    return [" ".join(span.split()) for span in spans]


COMMANDS = [(name_of(page), text) for page in pages() for text in in_shell(page) + in_text(page)]


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The verb that these words reach, and what is left of them."""
    found: click.Command = cli
    context = click.Context(cli)
    while isinstance(found, click.Group):
        verb = found.get_command(context, words[0]) if words else None
        if verb is not None:
            found, words = verb, words[1:]
        elif isinstance(found, DefaultVerb):
            default = found.get_command(context, found.default)
            assert default is not None
            return default, words
        else:
            break
    return found, words


def flags_of(command: click.Command) -> set[str]:
    options = (each for each in command.params if isinstance(each, click.Option))
    return {"--help", "-h"} | {name for o in options for name in (*o.opts, *o.secondary_opts)}


def passes_on(command: click.Command) -> bool:
    return command.name == "bench" or bool(command.context_settings.get("ignore_unknown_options"))


def test_pages_name_commands() -> None:
    assert len({page for page, _ in COMMANDS}) > 5


@pytest.mark.parametrize(("page", "text"), COMMANDS, ids=[" ".join(each) for each in COMMANDS])
def test_every_verb_and_flag_on_a_page_exists(page: str, text: str) -> None:
    command, rest = command_of(shlex.split(text, comments=True)[1:])
    unknown = rest[0] if isinstance(command, click.Group) and rest else ""
    assert not unknown.isalpha() or not unknown.islower(), f"{page}: no verb {unknown!r}"
    flags = {word.partition("=")[0] for word in rest if re.fullmatch(r"--?[a-z].*", word)}
    # Some pass on what they do not know, to what they run or measure.
    assert passes_on(command) or flags <= flags_of(command), f"{page}: {text}"


def test_every_event_count_and_reason_that_helps_with_trouble_exists() -> None:
    _, _, trouble = KUBERNETES.read_text().partition("## When it does not work")
    named = set(NAMES.findall(trouble.partition("\n## ")[0]))
    assert len(named) > 15
    source = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    known = {name: name.removeprefix("bigfleet_operator_") for name in named}
    assert [name for name, bare in known.items() if f'"{bare}"' not in source] == []
