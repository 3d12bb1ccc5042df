"""The live view of `up`: machines by state, dollars, needs met, and the last decisions.

Where there are several shards it shows them together, each of them in a row, and what moves between
them. Its height is the same from beginning to end.
"""

from collections import deque
from collections.abc import Callable, Iterable

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bigfleet.cli.terminal import plain
from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.up.lines import met_text, moved_text
from bigfleet.up.reports import CycleReport, whole_of

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
#: Of several shards, whose rows take place as well.
_DECISIONS_OF_MANY = 8
_TRANSFERS = 3
#: Between two drawings, in real seconds.
DRAW_SECONDS = 0.25


class LiveFace:
    def __init__(
        self, shards: int, stopwatch: Callable[[], float], console: Console | None = None
    ) -> None:
        self._many = shards > 1
        self._stopwatch = stopwatch
        self._drawn_at = float("-inf")
        self._console = console or Console()
        self._live: Live | None = None
        #: The newest of each shard.
        self._reports: dict[str, CycleReport] = {}
        #: The shard, the first of each wave and how many there were; newest last.
        self._decisions: deque[tuple[str, ActionView, int]] = deque(
            maxlen=_DECISIONS_OF_MANY if self._many else _DECISIONS
        )
        #: By id, in the order in which they began.
        self._transfers: dict[str, Transfer] = {}

    def open(self, banner: str) -> None:
        self._console.print(banner, highlight=False)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=False, redirect_stderr=True
        )
        self._live.start()

    def show(self, report: CycleReport) -> None:
        self._remember(report)
        self._reports[report.shard] = report
        self._refresh()

    def show_move(self, transfer: Transfer) -> None:
        self._transfers[transfer.id] = transfer
        while len(self._transfers) > _TRANSFERS:
            del self._transfers[next(iter(self._transfers))]
        self._refresh()

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _remember(self, report: CycleReport) -> None:
        """One row for all of a kind and cluster in a cycle: a wave must not hide the rest."""
        waves: dict[tuple[ActionKind, str], list[ActionView]] = {}
        for action in report.actions:
            if action.disposition is Disposition.ENQUEUED:
                waves.setdefault((action.kind, action.cluster), []).append(action)
        self._decisions.extend((report.shard, wave[0], len(wave)) for wave in waves.values())

    def _refresh(self) -> None:
        """Drawing costs more than deciding; the next cycle is soon enough."""
        now = self._stopwatch()
        if self._live is None or not self._reports or now - self._drawn_at < DRAW_SECONDS:
            return
        self._drawn_at = now
        self._live.update(self.page(), refresh=True)

    def page(self) -> Panel:
        """As it is now; there is a report at least."""
        report = whole_of(self._reports.values())
        who = f"{len(self._reports)} shards" if self._many else f"cycle {report.cycle}"
        title = (
            f"{who}   {met_text(report)}   ${report.dollars_per_hour:,.2f}/h   "
            f"decided in {report.seconds * 1000:.0f} ms"
        )
        clusters = _clusters(report)
        parts: list[Text | Table | Group] = [
            _states(report),
            Group(clusters, _trouble(report)),
            self._decided(),
        ]
        if self._many:
            parts.insert(1, _shards(sorted(self._reports.items())))
            parts.append(self._moved())
        spaced = [each for part in parts for each in (part, Text(""))]
        page = Group(*spaced[:-1])
        return Panel(page, title=title, subtitle="Ctrl-C ends everything", title_align="left")

    def _decided(self) -> Table:
        table = Table(box=None, pad_edge=False, expand=True)
        where = ("SHARD",) if self._many else ()
        for heading in (*where, "CYCLE", "LAST DECISIONS", "MACHINE", "CLUSTER"):
            table.add_column(heading, no_wrap=True)
        table.add_column("WHY", no_wrap=True, overflow="ellipsis", ratio=1)
        for shard, action, count in reversed(self._decisions):
            others = f" and {count - 1} more" if count > 1 else ""
            table.add_row(
                *((shard,) if self._many else ()),
                str(action.cycle),
                f"{count} {action.kind.label}",
                plain(action.machine) + others,
                plain(action.cluster),
                plain(action.reason),
            )
        return table

    def _moved(self) -> Table:
        table = Table(box=None, pad_edge=False, expand=True)
        for heading in ("LAST TRANSFERS", "FROM", "TO", "WHAT", "STATE"):
            table.add_column(heading, no_wrap=True)
        table.add_column("WHY", no_wrap=True, overflow="ellipsis", ratio=1)
        for each in reversed(self._transfers.values()):
            colour = "yellow" if each.state.open else "red" if each.state is _CANCELLED else ""
            words = (each.id, each.from_shard, each.to_shard, moved_text(each))
            state = Text(each.state.label, style=colour)
            table.add_row(*map(plain, words), state, plain(each.reason))
        return table


_CANCELLED = TransferState.CANCELLED


def _shards(reports: Iterable[tuple[str, CycleReport]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("SHARD")
    for heading in ("CYCLE", "MACHINES", "IDLE", "NEEDS MET", "$/H"):
        table.add_column(heading, justify="right")
    for name, report in reports:
        table.add_row(
            name,
            f"{report.cycle:,}",
            f"{sum(report.machines.values()):,}",
            f"{report.machines.get(MachineState.IDLE, 0):,}",
            f"{report.need_states.met} of {report.need_states.total}",
            f"{report.dollars_per_hour:,.2f}",
        )
    return table


def _trouble(report: CycleReport) -> Text:
    """What holds the first Need back, and what lifts it; one line, whatever it says."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for need in report.unmet[:1]:
        lift = f" (to lift it: {need.remedy})" if need.remedy else ""
        said = f"{need.key.cluster} {need.key.need_id} {need.state.label}: {need.text}{lift}"
        text.append(plain(said), style="yellow" if need.state is NeedState.BLOCKED else "red")
    return text


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
    for heading in ("CLUSTER", "SESSION", "NEEDS MET", "NODES", "PODS RUNNING", "WAITING", "STUCK"):
        table.add_column(heading, justify="left" if heading in ("CLUSTER", "SESSION") else "right")
    for cluster in report.clusters:
        table.add_row(
            cluster.name,
            "open" if cluster.connected else "closed",
            f"{cluster.needs_met} of {cluster.needs}",
            f"{cluster.nodes:,}",
            f"{cluster.running:,} of {cluster.pods:,}",
            f"{cluster.waiting:,}",
            Text(f"{cluster.stuck:,}", style="yellow" if cluster.stuck else ""),
        )
    return table
