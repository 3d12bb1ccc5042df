"""What the state counts stands in the catalogue of metrics, and the other way round."""

import ast
from collections.abc import Iterator

import pytest

from bigfleet.edge.counts import Counts
from bigfleet.shard.execution.phases import PHASE_OF_STATE
from bigfleet.shard.metrics import COUNTERS, GAUGES, HISTOGRAMS, ShardMetrics
from tests.architecture.tree import PACKAGE, python_files

CATALOGUE = {"add": COUNTERS, "set": GAUGES, "observe": HISTOGRAMS}


def counted_in(source: str) -> Iterator[tuple[str, str]]:
    """(verb, name) of every `...counts.add("name")` and its likes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, name = ast.unparse(node.func.value), node.args[0]
            if owner.endswith("counts") and isinstance(name, ast.Constant):
                yield node.func.attr, str(name.value)


def test_every_name_that_is_counted_stands_in_the_catalogue() -> None:
    found = {
        each for path in python_files(PACKAGE / "shard") for each in counted_in(path.read_text())
    }
    assert ("add", "cycles_total") in found
    strays = {(verb, name) for verb, name in found if name not in CATALOGUE.get(verb, {name})}
    assert strays == set()


def test_every_name_of_the_catalogue_is_counted_somewhere() -> None:
    """A series that is documented and never moves misleads its readers."""
    told = {
        constant.value
        for path in python_files(PACKAGE / "shard")
        if path != PACKAGE / "shard" / "metrics.py"
        for constant in ast.walk(ast.parse(path.read_text()))
        if isinstance(constant, ast.Constant)
    }
    by_phase = {f"{phase}_phase_seconds" for phase in PHASE_OF_STATE.values()}
    assert {*COUNTERS, *GAUGES, *HISTOGRAMS} - told == by_phase


def test_a_page_shows_counters_gauges_and_histograms() -> None:
    counts = Counts()
    counts.add("cycles_total", 3)
    counts.set("active_sessions", 2)
    counts.observe("cycle_duration_seconds", 0.25)
    page = ShardMetrics(counts, lambda: None, "1.2.3").text().decode()
    assert "bigfleet_shard_cycles_total 3.0" in page
    assert "bigfleet_shard_active_sessions 2.0" in page
    assert 'bigfleet_shard_cycle_duration_seconds_bucket{le="+Inf"} 1.0' in page
    assert 'bigfleet_build_info{version="1.2.3"} 1.0' in page
    assert "process_resident_memory_bytes" in page
    assert "certificate_expiry" not in page


def test_a_page_says_when_the_certificate_ends() -> None:
    page = ShardMetrics(Counts(), lambda: None, "", lambda: 1_900_000_000.0).text().decode()
    assert "bigfleet_tls_certificate_expiry_timestamp_seconds 1.9e+09" in page


def test_a_count_outside_the_catalogue_is_an_error() -> None:
    counts = Counts()
    counts.add("cycles_totle")
    with pytest.raises(KeyError):
        ShardMetrics(counts, lambda: None, "").text()
