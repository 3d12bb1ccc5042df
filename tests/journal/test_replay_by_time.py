"""`replay --from --to --at` by cycle and by time: the same cycles."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from tests.questions.recorded_night import NIGHT


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["replay", str(NIGHT), *arguments])


@pytest.mark.parametrize(
    ("first", "last", "cycles"),
    [
        ("2026-03-14T03:00:10Z", "2026-03-14T03:00:20Z", ("1:242", "1:244")),
        ("2026-03-14T03:00:06Z", "2026-03-14T03:00:24.9Z", ("1:242", "1:244")),
        ("242", "2026-03-14T03:00:20Z", ("1:242", "1:244")),
        ("2020-01-01T00:00:00Z", "3", ("1:1", "1:3")),
        ("2026-03-14T03:11:58Z", "2030-01-01T00:00:00Z", ("1:384", "1:384")),
    ],
    ids=["on the cycles", "between cycles", "a cycle and a time", "before all", "after all"],
)
def test_a_time_names_the_cycles_from_it_on_and_until_it(
    first: str, last: str, cycles: tuple[str, str]
) -> None:
    result = run("--from", first, "--to", last, "-o", "json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["first"], told["last"]) == cycles
    assert told["different"] == 0


def test_a_time_before_the_journal_has_no_cycle_to_end_with() -> None:
    result = run("--to", "2020-01-01T00:00:00Z")
    assert result.exit_code == 3
    assert "no cycle is recorded at 2020-01-01T00:00:00Z or before; there are" in result.stderr


def test_a_time_after_the_journal_has_no_cycle_to_begin_with() -> None:
    result = run("--from", "2030-01-01T00:00:00Z")
    assert result.exit_code == 3
    assert "has no cycle there" in result.stderr


def test_what_is_neither_is_refused_with_both_forms() -> None:
    for text in ("yesterday", "2026-3-14"):
        result = run("--from", text)
        assert result.exit_code == 2
        assert repr(text) in result.stderr


def test_the_fleet_of_a_time_is_that_of_its_cycle(tmp_path: Path) -> None:
    by_time, by_cycle = tmp_path / "a.yaml", tmp_path / "b.yaml"
    assert run("--dump", str(by_time), "--at", "2026-03-14T03:00:12Z").exit_code == 0
    assert run("--dump", str(by_cycle), "--at", "1:242").exit_code == 0
    assert by_time.read_bytes() == by_cycle.read_bytes()


def test_a_diff_takes_times_too() -> None:
    result = run("--diff", "--from", "2026-03-14T03:00:10Z", "--to", "2026-03-14T03:00:20Z")
    assert result.exit_code == 0, result.output
    assert "IDENTICAL: 0 of 3 cycles changed" in result.stdout
