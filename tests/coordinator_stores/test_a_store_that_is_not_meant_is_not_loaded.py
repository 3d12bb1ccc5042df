"""A coordinator with a file of its own knows nothing of etcd: not its client, not its messages."""

import subprocess
import sys
from pathlib import Path

import pytest

OPENED = """
import sys
import bigfleet.coordinator.driving.process
from bigfleet.coordinator.driving.process import store_of
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.stores.contract import Leader
from bigfleet.edge.driver import RealClock

settings = CoordinatorSettings(store=sys.argv[1], data_dir=sys.argv[2], etcd_endpoints=("h:1",))
store_of(settings, Leader("node-1", "127.0.0.1:1"), RealClock())
print(any("etcd" in name for name in sys.modules))
"""


@pytest.mark.parametrize(("store", "loaded"), [("sqlite", "False"), ("etcd", "True")])
def test_only_a_coordinator_over_etcd_loads_its_client(
    tmp_path: Path, store: str, loaded: str
) -> None:
    words = [sys.executable, "-c", OPENED, store, str(tmp_path)]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == (loaded, "")
