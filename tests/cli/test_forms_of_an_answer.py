"""One description of columns serves every form of -o, sorting, watching and headings."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click
import orjson
import pytest
import yaml
from click.testing import CliRunner, Result

from bigfleet.cli.listings import Column, Listing, write_listing
from bigfleet.cli.output import FORMATS, Output, answer, reading_options, with_watch_interval
from bigfleet.cli.request_options import RequestOptions
from bigfleet.cli.tables import Page, cell, table_of, write_items
from bigfleet.cli.terminal import json_escaped
from bigfleet.cli.watch import watch

MANNER = RequestOptions(timeout=1.0, tls=None, json=False, color="never", now=0)


class Host(NamedTuple):
    name: str
    age: int
    note: str = ""
    rack: str = "r1"


HOSTS = [Host("b", 7200, "slow, old"), Host("a", 45), Host("c\x1b[31m", 90_000, "new")]
COLUMNS: list[Column[Host]] = [
    Column("NAME", lambda host: host.name),
    Column("AGE", lambda host: f"{host.age // 3600}h", number=True, sort=lambda host: host.age),
    Column("RACK", lambda host: host.rack, wide=True),
    Column("NOTE", lambda host: host.note, sentence=True),
]


def listing(rows: Sequence[Host], **more: Any) -> Listing[Host]:
    return Listing(
        columns=COLUMNS,
        rows=rows,
        document=lambda host: {"name": host.name, "facts": {"seconds": host.age}},
        name=lambda host: f"host/{host.name}",
        head={"total": len(rows)},
        **more,
    )


def verb(ask: Callable[[], None], *words: str) -> Result:
    @click.command()
    @click.option("-o", "form", type=click.Choice(FORMATS), default="table")
    @reading_options
    def command(form: str, **given: Any) -> None:
        answer(form, given, ask)

    return CliRunner().invoke(command, list(words))


def shown(*words: str, rows: Sequence[Host] = HOSTS, **more: Any) -> str:
    result = verb(lambda: write_listing(MANNER, listing(rows, **more)), *words)
    assert result.exit_code == 0, result.output
    return result.stdout


TABLE = """\
NAME       AGE  NOTE
b           2h  slow, old
a           0h  -
c\\x1b[31m  25h  new
"""
WIDE = """\
NAME       AGE  RACK  NOTE
b           2h  r1    slow, old
a           0h  r1    -
c\\x1b[31m  25h  r1    new
"""
CSV = """\
NAME,AGE,RACK,NOTE
b,2h,r1,"slow, old"
a,0h,r1,
c\\x1b[31m,25h,r1,new
"""


def test_every_form_comes_from_the_same_columns() -> None:
    assert shown() == TABLE
    assert shown("-o", "wide") == WIDE
    assert shown("-o", "csv") == CSV
    assert shown("-o", "name") == "host/b\nhost/a\nhost/c\\x1b[31m\n"


def test_yaml_says_what_json_says() -> None:
    as_json, as_yaml = shown("-o", "json"), shown("-o", "yaml")
    assert json.loads(as_json) == yaml.safe_load(as_yaml)
    assert json.loads(as_json)["total"] == 3
    assert "\x1b" not in as_yaml


def test_headings_can_be_left_out() -> None:
    assert shown("--no-headers") == "".join(TABLE.splitlines(keepends=True)[1:])
    assert shown("-o", "csv", "--no-headers") == "".join(CSV.splitlines(keepends=True)[1:])


ORDERS = {
    "by a column": ("name", ["a", "b", "c\x1b[31m"]),
    "by what an age means": ("AGE", ["a", "b", "c\x1b[31m"]),
    "the other way round": ("-age", ["c\x1b[31m", "b", "a"]),
    "what is empty comes last": ("NOTE", ["c\x1b[31m", "b", "a"]),
    "last in both directions": ("-NOTE", ["b", "c\x1b[31m", "a"]),
    "by a field of the document": ("facts.seconds", ["a", "b", "c\x1b[31m"]),
}


@pytest.mark.parametrize(("by", "order"), ORDERS.values(), ids=ORDERS)
def test_rows_are_sorted(by: str, order: list[str]) -> None:
    items = json.loads(shown("--sort-by", by, "-o", "json"))["items"]
    assert [each["name"] for each in items] == order


def test_a_column_that_does_not_exist_is_told_with_the_one_that_was_meant() -> None:
    result = verb(lambda: write_listing(MANNER, listing(HOSTS)), "--sort-by", "NAMES")
    assert result.exit_code == 2
    assert "--sort-by NAMES: there is no such column; did you mean NAME?" in result.stderr


def test_an_empty_list_is_a_sentence_for_people_and_headings_for_programs() -> None:
    assert shown(rows=[], empty="No host.") == "No host.\n"
    assert shown("-o", "csv", rows=[], empty="No host.") == "NAME,AGE,RACK,NOTE\n"
    assert shown("-o", "name", rows=[], empty="No host.") == ""


def test_sentences_around_a_table_are_for_people_only() -> None:
    around: dict[str, Any] = {"headline": "3 hosts", "notes": ["as of cycle 7"]}
    assert shown(**around) == f"3 hosts\n\n{TABLE}\nas of cycle 7\n"
    assert shown("-o", "csv", **around) == CSV


def page_of_tables() -> None:
    page = Page.on_stdout("never")
    page.say("headline")
    beside = table_of("REPLICA")
    beside.add_row(cell("c-0"))
    page.show(beside, aside=True)
    table = table_of("SHARD", "CYCLE", "HOST", numbers=["CYCLE"], wide=["HOST"])
    table.add_row(cell("shard-1"), cell("1,000"), cell("h1"))
    table.add_row(cell("shard-0"), cell("7"), cell(""))
    page.show(table)
    page.write()


def test_of_a_page_with_several_tables_the_main_one_is_listed() -> None:
    assert verb(page_of_tables, "-o", "name").stdout == "shard/shard-1\nshard/shard-0\n"
    said = verb(page_of_tables, "-o", "csv", "--sort-by", "cycle").stdout
    assert said == 'SHARD,CYCLE,HOST\nshard-0,7,\nshard-1,"1,000",h1\n'
    assert "HOST" not in verb(page_of_tables).stdout


def test_rows_are_named_by_their_kind() -> None:
    table = table_of("ID", kind="pause")
    table.add_row(cell("7f3a\x1b"))
    assert table.names == ["pause/7f3a\\x1b"]


def test_documents_are_sorted_by_their_fields() -> None:
    def ask() -> None:
        write_items([{"id": "b"}, {"id": "a"}], 0)

    items = json.loads(verb(ask, "-o", "json", "--sort-by", "id").stdout)["items"]
    assert items == [{"id": "a"}, {"id": "b"}]
    refused = verb(ask, "-o", "json", "--sort-by", "idd")
    assert (refused.exit_code, "did you mean id?" in refused.stderr) == (2, True)


def test_a_verb_that_changes_something_has_no_watch() -> None:
    @reading_options
    @click.option("--reason", required=True)
    def changing() -> None: ...

    assert [param.name for param in changing.__click_params__] == ["reason"]


# -- --watch ---------------------------------------------------------------------------------------


class CountingAnswers:
    """Answers with a number, and is interrupted after some."""

    def __init__(self, turns: int) -> None:
        self.turns, self.asked = turns, 0
        self.paused: list[float] = []

    def ask(self) -> None:
        self.asked += 1
        write_items([self.asked], 0)
        if self.asked == 2:
            raise click.exceptions.Exit(3)

    def pause(self, seconds: float) -> None:
        self.paused.append(seconds)
        if self.asked == self.turns:
            raise KeyboardInterrupt


@pytest.fixture
def in_context() -> Any:
    with click.Context(click.Command("verb")) as context:
        context.meta["bigfleet.output"] = Output("json", one_line=True)
        yield context


@pytest.mark.usefixtures("in_context")
def test_watching_a_pipe_appends_one_document_a_line(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    turns = CountingAnswers(3)
    watch(turns.ask, 5.0, turns.pause)
    lines = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line)["items"] for line in lines] == [[1], [2], [3]]
    assert turns.paused == [5.0] * 3


@pytest.mark.usefixtures("in_context")
def test_watching_on_a_terminal_redraws_in_place(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    turns = CountingAnswers(2)
    watch(turns.ask, 1.0, turns.pause)
    drawn = capfdbinary.readouterr().out
    assert drawn.count(b"\x1b[2J") == 1
    assert drawn.count(b"\x1b[H") == drawn.count(b"\x1b[J") == 2
    assert b"}\x1b[K\n" in drawn


@pytest.mark.usefixtures("in_context")
def test_what_does_not_fit_on_the_screen_is_counted(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("LINES", "5")
    turns = CountingAnswers(1)

    def ask() -> None:
        turns.ask()
        click.echo("\n".join("abcdefgh"))

    watch(ask, 1.0, turns.pause)
    lines = capfdbinary.readouterr().out.splitlines()
    assert len(lines) == 5
    assert b"... and 6 more lines" in lines[3]


def test_a_first_answer_that_fails_ends_the_verb() -> None:
    def ask() -> None:
        click.echo("no shard answers", err=True)
        raise click.exceptions.Exit(3)

    result = verb(ask, "--watch")
    assert (result.exit_code, result.stderr) == (3, "no shard answers\n")


WORDS = {
    "an interval": (["m", "--watch", "5s"], ["m", "--watch", "5s"]),
    "a selector": (["m", "--watch", "state=idle"], ["m", "--watch=2s", "state=idle"]),
    "at the end": (["m", "-w"], ["m", "-w"]),
    "after two dashes": (["--", "-w", "x"], ["--", "-w", "x"]),
}


@pytest.mark.parametrize(("typed", "read"), WORDS.values(), ids=WORDS)
def test_what_follows_watch_is_an_interval_only_if_it_looks_like_one(
    typed: list[str], read: list[str]
) -> None:
    assert with_watch_interval(typed) == read


def test_a_json_document_says_the_same_and_drives_no_terminal() -> None:
    hostile = {"owner": "\x7f\x9b31m\u202e\u2066\ufeff caf\u00e9 \U0001f680 \\"}
    content = json_escaped(orjson.dumps(hostile))
    assert json.loads(content) == hostile
    assert not set(content.decode()) & set("\x7f\x9b\u202e\u2066\ufeff")
    assert "caf\u00e9 \U0001f680" in content.decode(), "what is printable is left as it is"
