"""The examples are projects of their own: of BigFleet they know the SDK and nothing else."""

import ast
from pathlib import Path

import pytest

from tests.architecture.test_documentation_is_true import LINK
from tests.architecture.tree import ROOT, name_of, python_files

PROJECTS = sorted((ROOT / "examples" / "providers").iterdir())
FILES = python_files(*PROJECTS)


def imported_from_bigfleet(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name for name in names if name.split(".")[0] == "bigfleet"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_of_an_example_imports_nothing_of_ours_but_the_sdk(path: Path) -> None:
    assert imported_from_bigfleet(path) <= {"bigfleet.provider", "bigfleet.provider.testing"}


@pytest.mark.parametrize("project", PROJECTS, ids=name_of)
def test_an_example_is_a_project_of_its_own(project: Path) -> None:
    assert (project / "pyproject.toml").exists()
    assert (project / "README.md").exists()


@pytest.mark.parametrize("project", PROJECTS, ids=name_of)
def test_every_link_of_a_readme_leads_somewhere(project: Path) -> None:
    targets = [match["target"] for match in LINK.finditer((project / "README.md").read_text())]
    assert [target for target in targets if not (project / target).exists()] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_of_an_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
