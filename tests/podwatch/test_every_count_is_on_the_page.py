"""A series that is documented and never moves misleads its readers."""

import ast

from bigfleet.podwatch.metrics import COUNTERS, GAUGES, PREFIX, RECONCILES
from tests.architecture.tree import PACKAGE, python_files


def test_every_name_of_the_catalogue_is_counted_somewhere() -> None:
    told = {
        node.value
        for path in python_files(PACKAGE / "podwatch")
        if path != PACKAGE / "podwatch" / "metrics.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    }
    # Counted by a name of its own, and by the line to the API server.
    elsewhere = {RECONCILES, "podwatch_api_requests_total"}
    assert {*COUNTERS, *GAUGES} - elsewhere - told == set()


def test_dashboards_find_the_names_they_know() -> None:
    names = {PREFIX + name for name in (*COUNTERS, *GAUGES)}
    assert names >= {
        "bigfleet_unschedulable_pod_controller_reconciles_total",
        "bigfleet_podwatch_queue_depth",
    }
