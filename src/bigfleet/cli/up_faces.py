"""What `up` prints: the banner, a line per changed cycle, or an object per cycle."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

import click
import orjson

from bigfleet import __version__
from bigfleet.cli.terminal import plain
from bigfleet.model.actions import ActionKind
from bigfleet.sim.workloads import CLUSTERS
from bigfleet.up.lines import document_of, line_of
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.plans import Plan
from bigfleet.up.reports import CycleReport

#: Between two lines, in real seconds.
LINE_SECONDS = 1.0


class Face(Protocol):
    def open(self, banner: str) -> None: ...

    def show(self, report: CycleReport) -> None: ...

    def close(self) -> None: ...


def banner(plan: Plan, fleet: LocalFleet, ready_seconds: float) -> str:
    found, state = fleet.addresses, fleet.shard.state
    where = "simulated fleet" if plan.simulated else f"machines of {plan.provider_addr}"
    pace = "" if plan.speed == 1 else f", speed {plan.speed:g}"
    provider = found.get("provider", plan.provider_addr)
    return "\n".join(
        (
            f"BigFleet {__version__}   one process, {where}, seed {plan.seed}{pace}",
            f"  shard        {found['shard']}   provider {provider}   metrics {found['metrics']}",
            f"  fleet        {len(state.parts.machines):,} machines, "
            f"clusters {', '.join(CLUSTERS)}; rails on",
            f"ready in {ready_seconds:.1f} s",
        )
    )


class JsonFace:
    def open(self, banner: str) -> None:
        """Programs read cycles only."""

    def show(self, report: CycleReport) -> None:
        click.echo(orjson.dumps(document_of(report)))

    def close(self) -> None:
        """Nothing is open."""


class LineFace:
    def __init__(self, time_of_day: Callable[[], str], stopwatch: Callable[[], float]) -> None:
        self._time_of_day = time_of_day
        self._stopwatch = stopwatch
        self._printed_at = -LINE_SECONDS
        self._started: Counter[ActionKind] = Counter()
        self._pods: dict[str, int] = {}
        self._unmet = 0

    def open(self, banner: str) -> None:
        click.echo(banner)

    def show(self, report: CycleReport) -> None:
        self._started += report.started
        pods = {cluster.name: cluster.pods for cluster in report.clusters}
        changes = {name: count - self._pods.get(name, 0) for name, count in pods.items()}
        same = not self._started and not any(changes.values()) and self._unmet == len(report.unmet)
        if same or self._stopwatch() - self._printed_at < LINE_SECONDS:
            return
        click.echo(plain(line_of(self._time_of_day(), report, self._started, changes)))
        self._printed_at = self._stopwatch()
        self._started, self._pods, self._unmet = Counter(), pods, len(report.unmet)

    def close(self) -> None:
        """Lines end by themselves."""
