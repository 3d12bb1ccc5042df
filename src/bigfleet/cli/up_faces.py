"""What `up` prints: the banner, a line per changed cycle and transfer, or an object for each."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import click

from bigfleet import __version__
from bigfleet.cli.output import Output
from bigfleet.cli.tables import document_bytes
from bigfleet.cli.terminal import plain
from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.model.pauses import Pause
from bigfleet.model.shard_views import NeedCounts
from bigfleet.up.lines import (
    document_of,
    line_of,
    pause_text,
    transfer_document_of,
    transfer_line_of,
)
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.plans import COORDINATOR_PORT, FleetPlan, why_no_tour
from bigfleet.up.reports import CycleReport

#: Between two lines of a shard, in real seconds.
LINE_SECONDS = 1.0
_SHOWN_CLUSTERS = 6


class Face(Protocol):
    def open(self, banner: str) -> None: ...

    def show(self, report: CycleReport) -> None: ...

    def show_move(self, transfer: Transfer) -> None:
        """The transfer has come into its state."""
        ...

    def close(self) -> None: ...


def banner(
    plan: FleetPlan, fleet: LocalFleet, ready_seconds: float, how_to_ask: str, page: str = ""
) -> str:
    """`how_to_ask`: the verb that asks this fleet in another shell; `page`: empty if none is
    served."""
    where = "simulated fleet" if plan.simulated else f"machines of {plan.provider_addr}"
    if plan.file is not None:
        where = "simulated fleet of a file"
    pace = "" if plan.speed == 1 else f", speed {plan.speed:g}"
    return "\n".join(
        (
            f"BigFleet {__version__}   one process, {where}, seed {plan.seed}{pace}",
            *([f"  web          {page}"] if page else []),
            *_addresses(fleet),
            f"  fleet        {fleet.machines:,} machines, clusters {_named(plan.clusters)}; "
            "rails on, journal on",
            f"  ask it       {how_to_ask}",
            *_hints(plan),
            *_moved(fleet),
            f"ready in {ready_seconds:.1f} s",
        )
    )


def _named(clusters: tuple[str, ...]) -> str:
    """A line's worth of them; names come from a file."""
    shown = plain(", ".join(clusters[:_SHOWN_CLUSTERS]))
    more = len(clusters) - _SHOWN_CLUSTERS
    return f"{shown} and {more} more" if more > 0 else shown


def _hints(plan: FleetPlan) -> list[str]:
    if why_no_tour(plan):
        return ["  try          bigfleet needs | bigfleet whatif --zone-loss b"]
    return [
        "  try          bigfleet needs | bigfleet why machine/bm-0031",
        "               bigfleet whatif --zone-loss b",
        "  tour         twelve beats: on the page, or bigfleet up --headless --tour",
    ]


def _addresses(fleet: LocalFleet) -> list[str]:
    found, metrics = fleet.addresses, fleet.metrics
    several = len(fleet.shards) > 1
    lines = [
        f"  {name:<12} {found[name]}   metrics {metrics[name]}"
        + (f"   {_belongings(fleet, name)}" if several else "")
        for name in fleet.shards
    ]
    return [
        *lines,
        f"  coordinator  {found['coordinator']}   metrics {metrics['coordinator']}",
        f"  provider     {found['provider']}",
    ]


def _moved(fleet: LocalFleet) -> list[str]:
    """The line that another shell needs where the coordinator is not at its default address."""
    address = fleet.addresses["coordinator"]
    if address == f"127.0.0.1:{COORDINATOR_PORT}":
        return []
    return [
        "  ports        not the defaults; where contexts are not used, export:",
        f"export BIGFLEET_CLI_COORDINATOR={address}",
    ]


def _belongings(fleet: LocalFleet, shard: str) -> str:
    """`zone b; cluster ml`."""
    zones = [zone for zone, owner in fleet.shard_of_zone.items() if owner == shard]
    clusters = [name for name, owner in fleet.shard_of_cluster.items() if owner == shard]
    return f"{_counted('zone', zones)}; {_counted('cluster', clusters)}"


def _counted(word: str, names: list[str]) -> str:
    return f"{word if len(names) == 1 else word + 's'} {', '.join(names) or 'none'}"


class DocumentFace:
    """For programs: JSON, one object a line, or YAML documents."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def open(self, banner: str) -> None:
        """Programs read cycles and transfers only."""

    def show(self, report: CycleReport) -> None:
        self._write(document_of(report))

    def show_move(self, transfer: Transfer) -> None:
        self._write(transfer_document_of(transfer))

    def close(self) -> None:
        """Nothing is open."""

    def _write(self, document: dict[str, Any]) -> None:
        click.echo(document_bytes(document, self._output), nl=False)


class LineFace:
    def __init__(
        self,
        time_of_day: Callable[[], str],
        stopwatch: Callable[[], float],
        *,
        names_shards: bool = False,
    ) -> None:
        self._time_of_day = time_of_day
        self._stopwatch = stopwatch
        self._names_shards = names_shards
        self._columns: dict[str, _ShardLines] = {}
        #: Pauses in force by id, of each shard.
        self._pauses: dict[str, dict[str, Pause]] = {}

    def open(self, banner: str) -> None:
        click.echo(banner)

    def show(self, report: CycleReport) -> None:
        name = report.shard
        self._tell_pauses(report)
        lines = self._columns.setdefault(name, _ShardLines(name if self._names_shards else ""))
        text = lines.line(report, self._time_of_day(), self._stopwatch())
        if text:
            click.echo(plain(text))

    def _tell_pauses(self, report: CycleReport) -> None:
        """Each once when it begins and once when it has ended everywhere."""
        before = {i: pause for known in self._pauses.values() for i, pause in known.items()}
        self._pauses[report.shard] = {pause.pause_id: pause for pause in report.pauses}
        after = {i: pause for known in self._pauses.values() for i, pause in known.items()}
        said = [f"PAUSED {pause_text(after[i])}" for i in after if i not in before]
        said += [f"pause {i} is over" for i in before if i not in after]
        for text in said:
            click.echo(plain(f"{self._time_of_day()}  {text}"))

    def show_move(self, transfer: Transfer) -> None:
        """Who owns what has changed, or was not to change after all; steps between are no news."""
        if transfer.state in (TransferState.GRANTED, TransferState.CANCELLED):
            click.echo(plain(transfer_line_of(self._time_of_day(), transfer)))

    def close(self) -> None:
        """Lines end by themselves."""


class _ShardLines:
    """What has not been told of one shard yet."""

    def __init__(self, shown_name: str) -> None:
        self._shown_name = shown_name
        self._printed_at = float("-inf")
        self._started: Counter[ActionKind] = Counter()
        self._pods: dict[str, int] = {}
        #: Pods that run and pods that are stuck, by cluster.
        self._placed: dict[str, tuple[int, int]] = {}
        self._needs = NeedCounts()

    def line(self, report: CycleReport, clock: str, seconds: float) -> str:
        """Empty: nothing is new, or the last line is too fresh."""
        self._started += report.started
        pods = {cluster.name: cluster.pods for cluster in report.clusters}
        changes = {name: count - self._pods.get(name, 0) for name, count in pods.items()}
        placed = {each.name: (each.running, each.stuck) for each in report.clusters}
        same = not self._started and not any(changes.values()) and self._needs == report.need_states
        if (same and placed == self._placed) or seconds - self._printed_at < LINE_SECONDS:
            return ""
        text = line_of(clock, report, self._started, changes, self._shown_name)
        self._printed_at = seconds
        self._started, self._pods, self._needs = Counter(), pods, report.need_states
        self._placed = placed
        return text
