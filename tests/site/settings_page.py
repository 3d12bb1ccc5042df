"""docs/reference/settings.md: every flag and setting of every process."""

import click

from bigfleet.cli.main import VERBS, cli
from bigfleet.cli.settings.asking_sections import CLI
from bigfleet.cli.settings.keys import Key, Section
from bigfleet.cli.settings.sections import COORDINATOR, LOG, OPERATOR, PODWATCH, SHARD, TLS
from bigfleet.cli.settings.values import text_of
from bigfleet.cli.settings.web_section import WEB
from tests.site.markdown import anchor, code, page, section, table, text

#: The processes, with the sections each of them reads.
PROCESSES: dict[str, tuple[Section, ...]] = {
    "shard": (SHARD, TLS, LOG, WEB),
    "coordinator": (COORDINATOR, TLS, LOG, WEB),
    "operator": (OPERATOR, TLS, LOG),
    "podwatch": (PODWATCH, LOG),
}
SHARED = (TLS, LOG, WEB, CLI)
_OF_SHARED = {
    "tls": "Certificates of a process, and of a verb that asks one.",
    "log": "Log lines of every process.",
    "web": "The page that a shard or a coordinator serves.",
    "cli": "Whom verbs ask, and how they print.",
}
_INTRODUCTION = """\
A setting of a process is said by a flag, by an environment variable or in a file (`--config`,
YAML or TOML); a flag is stronger than a variable, a variable stronger than the file. The key is
the place in the file: `shard.report.interval` is `interval` under `report` under `shard`. The
variable is the key in capitals: `BIGFLEET_SHARD_REPORT_INTERVAL`. `--print-config` prints every
setting of a process with its value and where it was said. A setting with "yes" under SIGHUP is
read again while the process runs."""


def settings_page() -> str:
    return page(
        "Settings and flags",
        _INTRODUCTION,
        *(_process(name, sections) for name, sections in PROCESSES.items()),
        *(section(f"{each.name}: {_OF_SHARED[each.name]}", _keys(each)) for each in SHARED),
        _provider(),
    )


def _process(name: str, sections: tuple[Section, ...]) -> str:
    own, *shared = sections
    also = ", ".join(f"[`{each.name}`](#{_heading(each)})" for each in shared)
    words = f"{VERBS[name].summary} It also reads {also}."
    aliases = [
        [code(each.flag), code(f"{own.name}.{each.key}"), _values(each.value_of)]
        for each in own.aliases
    ]
    parts = [words, _keys(own)]
    if aliases:
        parts += [
            "Flags of the existing binaries that mean the same:",
            table(("flag", "key", "values"), aliases),
        ]
    return section(f"bigfleet {name}", *parts)


def _heading(shared: Section) -> str:
    words = f"{shared.name} {_OF_SHARED[shared.name]}".lower()
    return "-".join("".join(c for c in words if c.isalnum() or c == " ").split())


def _values(value_of: object) -> str:
    pairs = value_of.items() if isinstance(value_of, dict) else ()
    return ", ".join(f"{code(said)} is {code(meant)}" for said, meant in pairs)


def _keys(of: Section) -> str:
    return table(
        ("key", "flag", "default", "SIGHUP", "meaning"), [_key(key) for key in of.all_keys()]
    )


def _key(key: Key) -> tuple[str, ...]:
    default = text_of(key, key.default)
    choices = f" (one of {', '.join(code(each) for each in key.choices)})" if key.choices else ""
    return (
        f"{anchor(key.name)}`{key.name}`",
        code(key.flag),
        code(default) or "none",
        "yes" if key.reloadable else "",
        f"{text(key.help)}{choices}",
    )


def _provider() -> str:
    run = _command("provider", "run")
    words = """Runs a Backend. Its keys in the file of `--config` are the names of its flags."""
    return section("bigfleet provider run", words, _flags(run))


def _flags(command: click.Command) -> str:
    context = click.Context(command)
    rows = []
    for each in command.params:
        record = each.get_help_record(context) if isinstance(each, click.Option) else None
        if record:
            rows.append((code(record[0]), text(record[1])))
    return table(("flag", "meaning"), rows)


def _command(*words: str) -> click.Command:
    found: click.Command = cli
    for word in words:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, word
        found = inner
    return found
