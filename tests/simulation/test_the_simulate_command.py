"""`bigfleet simulate`: tables, documents, exit codes, and the command that repeats a failure."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from tests.simulation.scenarios import SMALL

SHORT = SMALL.replace("duration: 60s", "duration: 12s")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SHORT + "assertions: [{name: few, always: configured <= 9}]\n")
    return path


def simulate(*words: object) -> Result:
    return CliRunner().invoke(cli, ["simulate", *map(str, words)])


def test_a_run_that_holds_is_exit_0_and_a_row(file: Path) -> None:
    done = simulate(file, "--seeds", "1..2")
    assert done.exit_code == 0, done.output
    assert [line.split()[:3] for line in done.output.splitlines()[1:]] == [
        ["small", "1", "yes"],
        ["small", "2", "yes"],
    ]


def test_a_run_that_fails_is_exit_1_and_names_the_command_that_repeats_it(file: Path) -> None:
    file.write_text(SHORT + "assertions: [{name: none, always: configured == 0}]\n")
    done = simulate(file, "--seeds", "4")
    assert done.exit_code == 1
    assert "small, seed 4: none: it did not hold at" in done.output
    assert f"again: bigfleet simulate {file} --seeds 4" in done.output


def test_a_document_has_assertions_violations_and_samples(file: Path) -> None:
    (found,) = json.loads(simulate(file, "-o", "json").output)["runs"]
    assert found["ok"]
    assert found["violations"] == []
    assert found["assertions"][0]["values"].keys() == {"configured"}
    assert found["samples"][-1]["pods"] == 12


def test_a_bad_file_is_exit_2_with_every_problem(file: Path) -> None:
    file.write_text("version: 1\nkind: Scenario\nspeed: 3\n")
    done = simulate(file)
    assert done.exit_code == 2
    assert f"{file}: speed: unknown key" in done.output
    assert f"{file}: clusters: missing" in done.output


def test_a_journal_is_written_for_replay(file: Path, tmp_path: Path) -> None:
    assert simulate(file, "--journal", tmp_path / "night").exit_code == 0
    replayed = CliRunner().invoke(cli, ["replay", str(tmp_path / "night")])
    assert replayed.exit_code == 0, replayed.output
    assert simulate(file, "--journal", tmp_path / "night").exit_code == 2


def test_a_trace_has_a_line_for_what_happened(file: Path, tmp_path: Path) -> None:
    assert simulate(file, "--trace", tmp_path / "lines").exit_code == 0
    assert "Bootstrap bm-0" in (tmp_path / "lines").read_text()


@pytest.mark.parametrize("seeds", ["x", "5..1", "1..2000000", "-3"])
def test_seeds_that_are_not_seeds_are_exit_2(file: Path, seeds: str) -> None:
    assert simulate(file, f"--seeds={seeds}").exit_code == 2


def test_a_journal_of_many_runs_is_refused(file: Path, tmp_path: Path) -> None:
    done = simulate(file, "--seeds", "1..2", "--journal", tmp_path / "night")
    assert done.exit_code == 2
    assert "--journal and --trace are of one run" in done.output
