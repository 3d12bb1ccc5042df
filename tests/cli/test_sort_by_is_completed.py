"""A shell completes --sort-by with the columns of the list, for every verb that has the flag."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from bigfleet.cli.main import cli
from tests.cli.coordinator_commands.rig import two_shards
from tests.cli.shard_commands.rig import FIRST
from tests.cli.test_a_verb_loads_what_it_uses import FRAME, loaded_by


def lists(group: click.Command, context: click.Context, name: str) -> Iterator[str]:
    if any("--sort-by" in param.opts for param in group.params):
        yield name
    if isinstance(group, click.Group):
        for word in group.list_commands(context):
            found = group.get_command(context, word)
            assert found is not None
            yield from lists(found, context, f"{name} {word}".strip())


VERBS = list(lists(cli, click.Context(cli), ""))


def completed(*words: str) -> list[str]:
    shell = ShellComplete(cli, {}, "bigfleet", "_BIGFLEET_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize("verb", VERBS)
def test_the_columns_of_a_list_are_completed(verb: str) -> None:
    columns = completed(*verb.split(), "--sort-by", "")
    assert columns
    assert all(column == column.upper() for column in columns)
    first = columns[0]
    assert first in completed(*verb.split(), "--sort-by", first[:1].lower())


def test_columns_that_one_flag_adds_are_completed_too() -> None:
    assert "REMEDY" in completed("machines", "--failed", "--sort-by", "R")
    assert "HOST" in completed("machines", "--sort-by", "H")


LIVE = (
    *("status", "needs", "clusters list", f"machines story {FIRST}"),
    *("machines list", "machines list --failed", "machines reservations", "top clusters"),
    *("top shards", "quarantines list", "pause list", "reports offerings", "reports shards"),
    *("reports thrash", "reports verifier", "reports invoices", "reports invoices --statements"),
    *("shards instructions", "shards list", "shards transfers", "domains list", "quotas list"),
    "shards shortfalls",
    *("providers list", "describe cluster shop"),
)


async def test_what_is_completed_is_what_is_shown(tmp_path: Path) -> None:
    async with two_shards(tmp_path) as fleet:
        for shard in fleet.shards:
            await fleet.sync(shard)
        for verb in LIVE:
            said = await fleet.shown(*verb.split(), "-o", "csv")
            columns = said.partition("\n")[0].split(",")
            words = [word for word in verb.split() if word not in ("shop", FIRST)]
            missing = set(columns) - set(completed(*words, "--sort-by", ""))
            assert (columns != [""], missing) == (True, set()), verb


READING = [v for v in VERBS if not v.startswith(("bench", "provider bench"))]


def test_completing_a_column_loads_the_frame_only() -> None:
    found = loaded_by(["complete:", *verb.split(), "--sort-by", ""] for verb in READING)
    more = {verb: each - FRAME for verb, each in zip(READING, found, strict=True)}
    assert {verb: sorted(each) for verb, each in more.items() if each} == {}
