"""The suite as a pytest plugin: one item per row, ended as its row ended."""

import shlex
import subprocess
import sys
from pathlib import Path

REFERENCE = shlex.join([sys.executable, "-m", "bigfleet.conformance.reference"])


def items(tmp_path: Path, command: str, only: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-v", "-p", "bigfleet.conformance.pytest_plugin"]
    words += ["-p", "no:cacheprovider", "--conformance-exec", command, "--conformance-only", only]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)


def test_every_row_is_an_item(tmp_path: Path) -> None:
    result = items(tmp_path, REFERENCE, "B20[78]")
    assert result.returncode == 0, result.stdout
    assert "conformance[B207] PASSED" in result.stdout
    assert "2 passed" in result.stdout


def test_a_broken_row_fails_its_item_alone(tmp_path: Path) -> None:
    result = items(tmp_path, f"""{REFERENCE} --mutant 'unknown id auto-created'""", "B20[78]")
    assert result.returncode == 1
    assert "conformance[B208] PASSED" in result.stdout
    assert "Create must answer NOT_FOUND" in result.stdout
