"""`bigfleet provider new`: a project that certifies before any edit."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.cli.provider import run
from bigfleet.model.errors import BadInput
from bigfleet.provider import Offerings
from bigfleet.provider.scaffold.project_writer import PROFILES, written

NEEDED = (
    "README.md",
    "Dockerfile",
    "pyproject.toml",
    "offerings.json",
    "tests/test_backend.py",
    "src/acme_x_provider/backend.py",
    "src/acme_x_provider/fake.py",
    "chart/Chart.yaml",
    "chart/values.yaml",
    "chart/templates/provider.yaml",
)
FLAG_ROW = re.compile(r"^\| (?P<flags>`--.*?`) \| (?:`(?P<default>.*?)`)? ?\|", re.MULTILINE)


def new_project(template: str, folder: Path) -> dict[str, str]:
    """The files `bigfleet provider new` writes, by name."""
    words = ["provider", "new", "acme-x", "--template", template, "--into", str(folder)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


@pytest.mark.parametrize("template", PROFILES)
def test_a_project_is_whole(tmp_path: Path, template: str) -> None:
    files = new_project(template, tmp_path / "acme")
    assert set(NEEDED) <= set(files)
    assert [name for name, text in files.items() if re.search("@[A-Z_]+@", text)] == []
    code = [text for name, text in files.items() if name.endswith(".py")]
    assert all(ast.get_docstring(ast.parse(text)) for text in code)
    assert "TODO" in files["src/acme_x_provider/backend.py"]


@pytest.mark.parametrize("template", PROFILES)
def test_the_offerings_of_a_project_are_those_of_its_chart(tmp_path: Path, template: str) -> None:
    files = new_project(template, tmp_path / "acme")
    values = yaml.safe_load(files["chart/values.yaml"])
    assert values["image"] == "acme-x-provider:0.1.0"
    offerings = json.loads(files["offerings.json"])
    assert json.loads(values["offerings"]) == offerings
    assert len(Offerings.of(offerings)) == 1


@pytest.mark.parametrize("template", PROFILES)
def test_the_readme_of_a_project_names_real_files_and_flags(tmp_path: Path, template: str) -> None:
    readme = new_project(template, tmp_path / "acme")["README.md"]
    options = {name: option for option in run.params for name in option.opts}
    shown = [
        (flag.strip(" `"), match["default"])
        for match in FLAG_ROW.finditer(readme)
        for flag in match["flags"].split(",")
    ]
    assert len(shown) > 10
    for flag, default in shown:
        option = options[flag]
        assert isinstance(option, click.Option)
        told = f"{option.default} {option.help}"
        assert default is None or default in told, flag


def test_nothing_is_overwritten_and_names_are_checked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="exists"):
        written("acme", "cloud", tmp_path)
    with pytest.raises(BadInput, match="lower case"):
        written("Acme!", "cloud", tmp_path / "x")


@pytest.mark.certification
@pytest.mark.parametrize("template", PROFILES)
def test_a_project_certifies_unedited(tmp_path: Path, template: str) -> None:
    written("acme", template, tmp_path / "acme")
    scripts = Path(sys.executable).parent
    # A busy machine boots slowly, and the timeout that B1006 waits out need not be half a minute.
    tempo = ["--conformance-cut-off=10", "--conformance-boot-timeout=90"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-W", "ignore", "-p", "no:cacheprovider", *tempo],
        cwd=tmp_path / "acme",
        env={**os.environ, "PYTHONPATH": "src", "PATH": f"{scripts}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "conformance[verdict] PASSED" in done.stdout
