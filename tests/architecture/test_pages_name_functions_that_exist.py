"""Pages that lead a newcomer through the code name files and functions that are there."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

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
