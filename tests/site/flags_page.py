"""docs/reference/flags.md: every flag and argument of every verb."""

from collections import Counter
from collections.abc import Iterator

import click

from bigfleet.cli.main import cli
from bigfleet.cli.settings.asking_sections import CLI, TLS
from tests.site.exit_codes_page import every_verb
from tests.site.markdown import code, page, section, table, text
from tests.site.settings_page import PROCESSES

#: A flag that so many verbs have, with the same words, is told once.
COMMON = 10
#: Their flags are settings: see that page.
_LONG_RUNNING = {*(f"bigfleet {name}" for name in PROCESSES), "bigfleet operator run"}
_LONG_RUNNING |= {"bigfleet provider run", "bigfleet provider doctor"}
_INTRODUCTION = """\
Every verb also has `--help`. The flags of a process that goes on running (`shard`, `coordinator`,
`operator run`, `podwatch`, `provider run`) are its [settings](settings.md)."""

Record = tuple[str, str]


def flags_page() -> str:
    verbs = {name: list(records_of(command)) for name, command in every_verb(cli, "bigfleet")}
    seen = Counter(record for records in verbs.values() for record in records)
    common = [
        (flag, words)
        for (flag, words), times in seen.items()
        if times >= COMMON and words and not words.startswith("[")
    ]
    own = {
        name: [record for record in records if record not in common]
        for name, records in verbs.items()
        if name not in _LONG_RUNNING
    }
    asking = ", ".join(code(key.flag) for each in (CLI, TLS) for key in each.all_keys())
    return page(
        "Flags of every verb",
        _INTRODUCTION,
        section(
            "Flags that many verbs have",
            f"Verbs that ask a live fleet also have {asking}: see [settings](settings.md).",
            _table(common),
        ),
        *(section(name, _table(records)) for name, records in sorted(own.items()) if records),
    )


def _table(records: list[Record]) -> str:
    return table(("flag", "meaning"), [(code(flag), text(words)) for flag, words in records])


def records_of(command: click.Command) -> Iterator[Record]:
    """Without the settings of verbs that ask, which have a table of their own."""
    asking = {key.parameter for each in (CLI, TLS) for key in each.all_keys()}
    context = click.Context(command)
    for each in command.params:
        if each.name in asking:
            continue
        if isinstance(each, click.Argument):
            yield each.make_metavar(context), "argument"
        elif record := each.get_help_record(context):
            yield record
