"""`bigfleet bench` prints what its page says and refuses what it cannot run."""

import json
import pstats
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.bench.engine.shapes import SHAPES, shapes_named
from bigfleet.cli.bench import bench

KEYS = [
    "shape",
    "mode",
    "workers",
    "cores",
    "machines",
    "needs",
    "cycles",
    "p50_ms",
    "p99_ms",
    "max_ms",
    "phases",
    "actions",
    "conflict_fraction",
    "rss_mb",
    "bytes_per_machine",
    "warmup_s",
    "unit_ms",
]


@pytest.fixture(autouse=True)
def quick_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine-speed unit alone would take most of a test's time."""
    monkeypatch.setattr("bigfleet.bench.timing.INDICES", 5_000)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(bench, arguments)


def test_json_has_exactly_the_keys_of_the_page() -> None:
    result = _run("uber-5k", "--scale", "0.05", "--cycles", "2", "-o", "json")
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    printed = json.loads(line)
    assert list(printed) == KEYS
    assert (printed["shape"], printed["mode"], printed["cycles"]) == ("uber-5k", "full", 2)
    assert 0 < printed["p50_ms"] <= printed["p99_ms"] <= printed["max_ms"]
    assert {"inventory", "needs", "fold", "phase2", "phase3"} <= set(printed["phases"])


@pytest.mark.parametrize(
    ("shape", "parts"),
    [("B12", {"cold", "after-1", "after-100"}), ("B13", {"rebuild", "clean"})],
)
def test_a_snapshot_shape_reports_its_kinds_of_snapshot(shape: str, parts: set[str]) -> None:
    result = _run(shape, "--scale", "0.01", "--cycles", "2", "-o", "json")
    assert set(json.loads(result.stdout)["phases"]) == parts


def test_the_table_says_what_is_not_included() -> None:
    result = _run("B2", "--scale", "0.05", "--cycles", "1")
    assert result.exit_code == 0, result.output
    assert "B2" in result.stdout
    assert "machine-speed unit" in result.stdout
    assert "reconcile and execution are not included" in result.stdout


def test_an_unknown_shape_is_refused_with_the_list_of_shapes() -> None:
    result = _run("uber-6k")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert all(name in result.stderr.replace("\n", " ") for name in ("uber-6k", *SHAPES))


@pytest.mark.parametrize("arguments", [["--scale", "0"], ["--cycles", "0"], ["--workers", "0"]])
def test_a_size_of_nothing_is_a_usage_error(arguments: list[str]) -> None:
    assert _run("B6", *arguments).exit_code == 2


def test_shapes_are_found_in_any_case_and_listed() -> None:
    listed = _run("--list").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(SHAPES)
    assert json.loads(_run("b6", "--cycles", "1", "-o", "json").stdout)["shape"] == "B6"


def test_a_profile_is_written_for_one_shape_and_refused_for_two(tmp_path: Path) -> None:
    written = tmp_path / "cycles.pstats"
    result = _run("B6", "--cycles", "1", "--profile", str(written))
    assert result.exit_code == 0, result.output
    assert pstats.Stats(str(written)).total_calls > 0  # type: ignore[attr-defined]
    assert _run("B6", "B2", "--profile", str(written)).exit_code == 2


def test_check_finds_the_same_actions_for_any_workers_and_order() -> None:
    result = _run("uber-5k", "--check")
    assert result.exit_code == 0, result.output
    assert "the same" in result.stdout
    assert "shuffled machines and clusters" in result.stdout


def test_check_fails_when_the_outcome_depends_on_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def telltale(_: object, workers: int) -> list[str]:
        return [f"decided by {workers}"]

    monkeypatch.setattr("bigfleet.bench.engine.agreement._actions_of", telltale)
    result = _run("B6", "--check")
    assert result.exit_code == 1
    assert "actions differ with 2 workers, 8 workers" in result.stdout


def test_a_family_name_stands_for_all_its_sizes() -> None:
    sizes = shapes_named("b11")
    assert sizes == ["B11-1K", "B11-10K", "B11-50K", "B11-100K", "B11-500K"]
    assert shapes_named("B1") == ["B1"]
