"""`bigfleet conformance` from the outside: a certified provider, a broken one, none at all."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from tests.held_ports import held_port

REFERENCE = shlex.join([sys.executable, "-m", "bigfleet.conformance.reference"])


def conformance(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(cli, ["conformance", *arguments])


@pytest.mark.timeout(300)
def test_the_reference_process_is_certified_and_leaves_its_reports(tmp_path: Path) -> None:
    result = conformance(
        "--exec", REFERENCE, "--profile", "core,cloud,spot", "--out", str(tmp_path)
    )
    assert result.exit_code == 0, result.output
    assert "CERTIFIED for core, cloud, spot; 0 skipped" in result.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["summary"]["passed"] == report["summary"]["total_behaviors"] == 69
    assert report["baseline"] == {"tests": 24, "passed": 24, "failed": 0, "skipped": 0}
    assert report["dialects"]["cursor"] == "continuation"
    for name in ("junit.xml", "badge.json", "report.html"):
        assert (tmp_path / name).stat().st_size > 0
    assert list((tmp_path / "logs").iterdir())


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "flags",
    ["--no-delete", "--no-delete --idle", "--no-delete --hosts=100"],
    ids=["slots", "hosts", "some hosts and some slots"],
)
def test_a_pool_without_delete_is_certified_as_bare_metal(flags: str) -> None:
    result = conformance("--exec", f"{REFERENCE} {flags}", "--profile", "bare-metal")
    assert result.exit_code == 0, result.output
    assert "CERTIFIED for bare-metal" in result.output


def test_a_broken_provider_fails_with_the_row_that_saw_it(tmp_path: Path) -> None:
    broken = f"{REFERENCE} --mutant 'tokens compared as text'"
    result = conformance("--exec", broken, "--only", "B1201", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "--only B1201 --seed 1 --steps" in result.output
    again = result.output.split("--steps ")[1].split()[0]
    replayed = conformance("--exec", broken, "--only", "B1201", "--steps", again)
    assert replayed.exit_code == 1


def test_a_partial_run_certifies_nothing() -> None:
    result = conformance("--exec", REFERENCE, "--only", "B208")
    assert result.exit_code == 5
    assert "INCOMPLETE" in result.output


def test_a_provider_that_does_not_start_is_not_certified() -> None:
    result = conformance("--exec", f"{sys.executable} -c pass", "--only", "B208")
    assert result.exit_code == 2
    assert "exited with 0" in result.output


def test_a_target_that_does_not_answer_is_exit_3() -> None:
    with held_port() as port:
        result = conformance("--target", f"127.0.0.1:{port}", "--only", "B208")
    assert result.exit_code == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("--only", "B208"),
        ("--exec", "a", "--target", "b:1"),
        ("--exec", "a", "--profile", "gold"),
        ("--exec", "a", "--only", "B304"),
        ("--exec", "a", "--tls-cert", "c"),
        ("--exec", "a", "--settle", "soon"),
        ("--exec", "a", "--steps", "one"),
    ],
    ids=["nothing to test", "two targets", "profile", "row", "half of TLS", "duration", "steps"],
)
def test_a_set_up_error_is_exit_2(arguments: tuple[str, ...]) -> None:
    assert conformance(*arguments).exit_code == 2


def test_rows_are_listed_with_their_profiles() -> None:
    listed = json.loads(conformance("--list", "-o", "json").output)
    by_id = {row["id"]: row for row in listed}
    assert by_id["B109"]["profiles"] == ["core", "cloud"]
    assert by_id["B908"]["exclusive"]
    assert "B302" in conformance("--list").output


def test_a_survivor_fails_the_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    from bigfleet.conformance.reference.mutants import MUTANTS
    from bigfleet.conformance.reference.mutants.catalogue import mutant_names
    from bigfleet.conformance.reference.provider import Reference

    assert '"" gives NF' in mutant_names(), "every mutant is defined before one is replaced"
    monkeypatch.setitem(MUTANTS, '"" gives NF', Reference)
    result = conformance("--self-test", "--only", "B207,B208")
    assert result.exit_code == 1
    assert 'SURVIVED B208: "" gives NF' in result.output
    assert "1 of 2 mutants killed" in result.output
