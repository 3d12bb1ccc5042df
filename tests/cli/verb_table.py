"""The table of verbs on docs/cli.md: `python -m tests.cli.verb_table` writes it from the code."""

import re
from pathlib import Path

import click

from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.main import VERBS, cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BEGIN = "<!-- verbs: made by `python -m tests.cli.verb_table`; do not edit -->\n"
END = "<!-- end of verbs -->\n"
_TABLE = re.compile(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", re.DOTALL)


def verb_table() -> str:
    rows = ["| verb | answers | its own verbs |", "|---|---|---|"]
    for name, verb in VERBS.items():
        summary = verb.summary.replace("|", "\\|")
        rows.append(f"| [`{name}`](#{name}) | {summary} | {_own_verbs(name)} |")
    return "\n".join(rows) + "\n"


def _own_verbs(name: str) -> str:
    context = click.Context(cli, info_name="bigfleet")
    command = cli.get_command(context, name)
    if not isinstance(command, click.Group):
        return ""
    default = command.default if isinstance(command, DefaultVerb) else ""
    names = command.list_commands(context)
    return ", ".join(f"`{each}` (default)" if each == default else f"`{each}`" for each in names)


def table_on_page(text: str) -> str:
    found = _TABLE.search(text)
    assert found, f"{PAGE.name} has lost the marks around its table of verbs"
    return found[1]


def main() -> None:
    text = PAGE.read_text()
    PAGE.write_text(_TABLE.sub(lambda _: BEGIN + verb_table() + END, text))


if __name__ == "__main__":
    main()
