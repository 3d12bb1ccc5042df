"""The clusters of `up`, steered from outside: a file says which pods they have and which Nodes
they lose.

It takes the place of the script of `up`, in its process. The file is read once per simulated
second, and what it says is done then. The fleet is a twentieth of the small one: 14 machines of
bare metal and 10 reserved ones, 24 on-demand and 12 spot slots.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bigfleet.up.local_fleet as local_fleet
from bigfleet.sim.script import Change, NodeLoss, WorkloadScale
from bigfleet.sim.workloads import MEMBER, job
from bigfleet.up.sizes import SIZES

MACHINES = 60
OWNED = 24
#: Each pod fills a node, any machine will do, and losing it costs nothing.
ETL = job("etl", MEMBER)
_NEVER = job("never", MEMBER)


def install(file: str) -> None:
    """Before `up` begins, in its process."""

    def script(*_args: Any, **_named: Any) -> Iterator[Change]:
        return changes_in(Path(file))

    vars(local_fleet)["living_script"] = script
    SIZES["small"] = MACHINES


def write(file: Path, pods: dict[str, int], lost_nodes: dict[str, int]) -> None:
    """Pods of ETL by cluster, and Nodes that have gone since the start."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"pods": pods, "lostNodes": lost_nodes}))
    new.replace(file)


def changes_in(file: Path) -> Iterator[Change]:
    lost: Counter[str] = Counter()
    at_seconds = 0.0
    while True:
        # Changes nothing, and is waited for: the file is read when this second has come.
        yield WorkloadScale(at_seconds, "batch", _NEVER, 0)
        wanted = json.loads(file.read_text())
        for cluster, pods in wanted["pods"].items():
            yield WorkloadScale(at_seconds, cluster, ETL, pods)
        for cluster, nodes in wanted["lostNodes"].items():
            for number in range(lost[cluster], nodes):
                lost[cluster] += 1
                yield NodeLoss(at_seconds, cluster, (number % 10) / 10)
        at_seconds += 1.0
