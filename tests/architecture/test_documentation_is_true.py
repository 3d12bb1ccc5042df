"""Every command, fleet and piece of Python on a page is run; every link leads somewhere."""

import ast
import re
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.fleetfile import load_fleet
from tests.architecture.pages import Block, Command, blocks, blocks_of, commands, normalised, walks
from tests.architecture.tree import ROOT, name_of, pages
from tests.architecture.walking import PageWalk

FLEETS = [block for block in blocks("yaml") if "kind: Fleet" in block.text]
COMMANDS = commands("bigfleet")
#: Benches take minutes and their figures belong to one machine: their command lines are checked.
BENCHES = [command for command in COMMANDS if command.words[1] == "bench"]
QUICK = [command for command in COMMANDS if command not in BENCHES]
LINK = re.compile(r"\]\((?!https?:|#)(?P<target>[^)#\s]+)")


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_on_a_page_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(block.text, str(block), "exec"), {"__name__": str(block)})


@pytest.mark.timeout(480)  # one of them certifies a provider
@pytest.mark.parametrize("page", walks(), ids=name_of)
def test_a_page_that_builds_something_works_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    with PageWalk(tmp_path) as walk:
        for block in blocks_of(page):
            walk.step(block)
        walk.check_types()


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_on_a_page_is_yaml(block: Block) -> None:
    assert yaml.safe_load(block.text) is not None


@pytest.mark.parametrize("block", FLEETS, ids=str)
def test_a_fleet_on_a_page_loads(block: Block) -> None:
    assert load_fleet(block.text.encode(), "page.yaml").machines


@pytest.mark.parametrize("command", QUICK, ids=str)
def test_a_command_on_a_page_prints_what_the_page_shows(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner(env={"COLUMNS": "100"}).invoke(cli, command.words[1:])
    assert result.exit_code == 0, result.output
    shown = normalised("\n".join(command.output))
    assert shown in ("", normalised(result.output))


@pytest.mark.parametrize("command", BENCHES, ids=str)
def test_a_bench_command_on_a_page_is_understood(command: Command) -> None:
    bench = cli.get_command(click.Context(cli), "bench")
    assert bench is not None
    assert bench.make_context("bench", list(command.words[2:])).params


def test_every_make_command_on_a_page_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {word for command in commands("make") for word in command.words[1:]} <= targets


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(page.read_text())]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_example_fleet_loads() -> None:
    examples = sorted((ROOT / "examples" / "fleets").glob("*.*"))
    assert examples
    assert all(load_fleet(path.read_bytes(), path.name).machines for path in examples)


PAGES = ("docs/follow-a-rollup.md", "CONTRIBUTING.md")
#: `shard/state.py` `ShardState.handle`
NAMED = re.compile(r"`([a-z_0-9/]+\.py)` `([A-Za-z_.0-9]+)`")


def named_on(page: str) -> list[tuple[str, str]]:
    return NAMED.findall((ROOT / page).read_text())


def names_in(file: Path) -> set[str]:
    """Functions, classes, and methods as `Class.method`."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    named = named_on(page)
    assert len(named) > 4
    missing = [
        f"{file} {name}"
        for file, name in named
        if not (ROOT / "src/bigfleet" / file).is_file()
        or name not in names_in(ROOT / "src/bigfleet" / file)
    ]
    assert missing == []
