"""The rings are build rules: who may import whom, and who may know the outside world."""

import subprocess
import sys
import tomllib

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from tests.architecture.tree import PACKAGE, ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {c["name"]: c for c in SETTINGS["tool"]["importlinter"]["contracts"]}


def test_the_import_contracts_hold(capsys: pytest.CaptureFixture[str]) -> None:
    status = lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_every_package_has_its_ring() -> None:
    rings = " ".join(CONTRACTS["Lower rings never import higher ones"]["layers"])
    ringed = set(rings.replace("(", " ").replace(")", " ").split()) - {":", "|"}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= ringed


@pytest.mark.parametrize(
    "module", ["asyncio", "grpc", "time", "random", "logging", "os", "socket", "threading"]
)
def test_decisions_are_kept_from_the_outside_world(module: str) -> None:
    pure = CONTRACTS["The engine and the model know no clock, no chance and no outside world"]
    assert {"bigfleet.engine", "bigfleet.model"} <= set(pure["source_modules"])
    assert module in pure["forbidden_modules"]


def test_the_command_line_starts_without_anything_heavy() -> None:
    heavy = "{'numba', 'llvmlite', 'numpy', 'rich', 'grpc'} & set(sys.modules)"
    code = f"import sys, bigfleet.cli.main; print(sorted({heavy}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (loaded.stdout.strip(), loaded.stderr) == ("[]", "")
