"""What the operator and its line to the API server count stands in the catalogue, and back."""

import ast
from pathlib import Path

import pytest

from bigfleet.operator.metrics import COUNTERS, GAUGES, HISTOGRAMS
from tests.architecture.tree import PACKAGE, python_files
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import JumpingClock, operating
from tests.shard_system.test_every_count_is_on_the_page import counted_in

CATALOGUE = {"add": COUNTERS, "set": GAUGES, "observe": HISTOGRAMS}
#: Stays 0 by design: an answer is never dropped.
_NEVER = {"outbox_dropped_total"}


def test_every_name_that_is_counted_stands_in_the_catalogue() -> None:
    found = {
        each
        for ring in ("operator", "kube")
        for path in python_files(PACKAGE / ring)
        for each in counted_in(path.read_text())
    }
    assert ("add", "acknowledged_total") in found
    assert ("add", "api_requests_total") in found
    strays = {(verb, name) for verb, name in found if name not in CATALOGUE.get(verb, {name})}
    assert strays == set()


def test_every_name_of_the_catalogue_is_counted_somewhere() -> None:
    """A series that is documented and never moves misleads its readers."""
    told = {
        constant.value
        for ring in ("operator", "kube")
        for path in python_files(PACKAGE / ring)
        if path != PACKAGE / "operator" / "metrics.py"
        for constant in ast.walk(ast.parse(path.read_text()))
        if isinstance(constant, ast.Constant)
    }
    assert {*COUNTERS, *GAUGES, *HISTOGRAMS} - told == _NEVER


@pytest.mark.parametrize("phase", ["list", "build", "enqueue"])
async def test_every_phase_of_a_roll_up_is_measured(tmp_path: Path, phase: str) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock) as rig:
        await rig.until(lambda: rig.shard.rollups)
        name = "bigfleet_operator_rollup_phase_duration_seconds_count"
        counted = [line for line in (await rig.metrics()).splitlines() if line.startswith(name)]
        assert [line for line in counted if f'phase="{phase}"' in line] != []
