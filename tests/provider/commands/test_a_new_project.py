"""`bigfleet provider new`: a project that certifies before any edit."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.model.errors import BadInput
from bigfleet.provider.scaffold.writing import PROFILES, written


@pytest.mark.parametrize("template", PROFILES)
def test_a_project_is_whole(tmp_path: Path, template: str) -> None:
    folder = tmp_path / "acme"
    result = CliRunner().invoke(
        cli, ["provider", "new", "acme-x", "--template", template, "--into", str(folder)]
    )
    assert result.exit_code == 0, result.output
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.*")}
    assert {"README.md", "pyproject.toml", "src/acme_x_provider/backend.py"} <= set(files)
    assert (folder / "Dockerfile").exists()
    assert not [name for name, text in files.items() if "@NAME@" in text or "@CLASS@" in text]
    for name, text in files.items():
        if name.endswith(".py"):
            assert ast.get_docstring(ast.parse(text))
    assert yaml.safe_load(files["chart/values.yaml"])["image"] == "acme-x-provider:0.1.0"


def test_nothing_is_overwritten_and_names_are_checked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="exists"):
        written("acme", "cloud", tmp_path)
    with pytest.raises(BadInput, match="lower case"):
        written("Acme!", "cloud", tmp_path / "x")


@pytest.mark.nightly
@pytest.mark.skipif(os.environ.get("BIGFLEET_NIGHTLY") != "1", reason="a minute per template")
@pytest.mark.parametrize("template", PROFILES)
def test_a_project_certifies_unedited(tmp_path: Path, template: str) -> None:
    written("acme", template, tmp_path / "acme")
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider"],
        cwd=tmp_path / "acme",
        env={**os.environ, "PYTHONPATH": "src", "PATH": f"{scripts}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
