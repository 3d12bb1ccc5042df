"""The suite as a pytest plugin: one item per row, ended as its row ended."""

import shlex
import subprocess
import sys
from pathlib import Path

REFERENCE = shlex.join([sys.executable, "-m", "bigfleet.conformance.reference"])


def items(tmp_path: Path, command: str, *more: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-v", "-p", "bigfleet.conformance.pytest_plugin"]
    words += ["-p", "no:cacheprovider", "--conformance-exec", command, *more]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)


def test_every_row_is_an_item(tmp_path: Path) -> None:
    result = items(tmp_path, REFERENCE, "--conformance-only=B20[78]")
    assert result.returncode == 0, result.stdout
    assert "conformance[B207] PASSED" in result.stdout
    assert "2 passed" in result.stdout


def test_a_broken_row_fails_its_item_alone(tmp_path: Path) -> None:
    broken = f"""{REFERENCE} --mutant 'unknown id auto-created'"""
    result = items(tmp_path, broken, "--conformance-only=B20[78]")
    assert result.returncode == 1
    assert "conformance[B208] PASSED" in result.stdout
    assert "Create must answer NOT_FOUND" in result.stdout


def test_green_items_are_no_certificate_where_a_claim_is_not_met(tmp_path: Path) -> None:
    pool = f"{REFERENCE} --no-delete --idle"
    result = items(tmp_path, pool, "--conformance-profile=cloud")
    assert result.returncode == 1, result.stdout
    assert "conformance[verdict] FAILED" in result.stdout
    assert "INCOMPLETE" in result.stdout
    assert "cloud is claimed, but there is no Delete" in result.stdout
    assert "1 failed" in result.stdout


def test_only_the_rows_pytest_asks_for_are_run(tmp_path: Path) -> None:
    result = items(tmp_path, REFERENCE, "-k", "B207 or verdict")
    assert result.returncode == 0, result.stdout
    assert "conformance[B207] PASSED" in result.stdout
    assert "conformance[verdict] SKIPPED" in result.stdout
    assert "1 passed, 1 skipped" in result.stdout
