"""The live view of `up`: machines by state, dollars, needs met, and the last decisions."""

from collections import deque

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bigfleet.cli.terminal import plain
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.up.lines import met_text
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.reports import CycleReport

_COLOURS = {
    MachineState.SPECULATIVE: "bright_black",
    MachineState.CREATING: "bright_cyan",
    MachineState.IDLE: "blue",
    MachineState.CONFIGURING: "yellow",
    MachineState.CONFIGURED: "green",
    MachineState.DRAINING: "orange3",
    MachineState.DELETING: "orange4",
    MachineState.FAILED: "red",
}
_DECISIONS = 12


class LiveFace:
    def __init__(self, fleet: LocalFleet, console: Console | None = None) -> None:
        self._fleet = fleet
        self._console = console or Console()
        self._live: Live | None = None
        #: The first of each wave and how many there were; newest last.
        self._decisions: deque[tuple[ActionView, int]] = deque(maxlen=_DECISIONS)

    def open(self, banner: str) -> None:
        self._console.print(banner, highlight=False)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=False, redirect_stderr=True
        )
        self._live.start()

    def show(self, report: CycleReport) -> None:
        self._remember(report)
        if self._live is not None:
            self._live.update(self._page(report), refresh=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _remember(self, report: CycleReport) -> None:
        """One row for all of a kind and cluster in a cycle: a wave must not hide the rest."""
        waves: dict[tuple[ActionKind, str], list[ActionView]] = {}
        for action in report.actions:
            if action.disposition is Disposition.ENQUEUED:
                waves.setdefault((action.kind, action.cluster), []).append(action)
        self._decisions.extend((wave[0], len(wave)) for wave in waves.values())

    def _page(self, report: CycleReport) -> Panel:
        title = (
            f"cycle {report.cycle}   {met_text(report)}   ${report.dollars_per_hour:,.2f}/h   "
            f"decided in {report.seconds * 1000:.0f} ms"
        )
        page = Group(_states(report), Text(""), _clusters(report), Text(""), self._decided())
        return Panel(page, title=title, subtitle="Ctrl-C ends everything", title_align="left")

    def _decided(self) -> Table:
        table = Table(box=None, pad_edge=False, expand=True)
        for heading in ("CYCLE", "LAST DECISIONS", "MACHINE", "CLUSTER"):
            table.add_column(heading, no_wrap=True)
        table.add_column("WHY", no_wrap=True, overflow="ellipsis", ratio=1)
        for action, count in reversed(self._decisions):
            others = f" and {count - 1} more" if count > 1 else ""
            table.add_row(
                str(action.cycle),
                f"{count} {action.kind.label}",
                plain(action.machine) + others,
                plain(action.cluster),
                plain(action.reason),
            )
        return table


def _states(report: CycleReport) -> Text:
    """A bar of the fleet, and its legend."""
    total, width = max(1, sum(report.machines.values())), 72
    bar, legend = Text(), Text()
    for state, colour in _COLOURS.items():
        count = report.machines.get(state, 0)
        bar.append("█" * (round(count * width / total) or (count > 0)), style=colour)
        legend.append(f"{state.label} {count:,}   ", style=colour)
    return Text("\n").join((bar, legend))


def _clusters(report: CycleReport) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("CLUSTER", "SESSION", "NEEDS MET", "NODES", "PODS RUNNING"):
        table.add_column(heading, justify="left" if heading in ("CLUSTER", "SESSION") else "right")
    for cluster in report.clusters:
        table.add_row(
            cluster.name,
            "open" if cluster.connected else "closed",
            f"{cluster.needs_met} of {cluster.needs}",
            f"{cluster.nodes:,}",
            f"{cluster.running:,} of {cluster.pods:,}",
        )
    return table
