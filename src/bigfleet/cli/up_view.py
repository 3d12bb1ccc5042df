"""The live view of `up`: machines by state, dollars, needs met, pauses, and the last decisions.

Where there are several shards it shows them together, each of them in a row, and what moves between
them. It is as high as the terminal allows and no higher than it needs to be, and its height is the
same from beginning to end; a reason has a row of its own, so that 80 columns are enough to read it.
"""

from collections import deque
from collections.abc import Callable, Iterable

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bigfleet.cli.live_screen import LiveScreen
from bigfleet.cli.terminal import plain
from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import Transfer, TransferState
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.pauses import Pause
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.up.lines import met_text, moved_text, pause_text
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
#: Decisions that are remembered: more than the highest page shows.
_DECISIONS = 24
_TRANSFERS = 3
_PAUSES = 2
#: Rows of a page at most: with its banner it fits forty rows, the usual height of a large terminal.
_MOST_ROWS, _MOST_ROWS_OF_MANY = 30, 38
#: Rows of the border.
_BORDER = 2
#: Columns of the border, and blanks beside it.
_BESIDE = 4
#: Rows that a reason may take.
_REASON_ROWS = 2
#: Between two drawings, in real seconds.
DRAW_SECONDS = 0.25
_INDENT = "   "
#: Kinds of actions that take a machine from a cluster.
_TAKEN = (ActionKind.RECLAIM, ActionKind.PREEMPT)


class LiveFace:
    def __init__(
        self, shards: int, stopwatch: Callable[[], float], console: Console | None = None
    ) -> None:
        self._many = shards > 1
        self._stopwatch = stopwatch
        self._drawn_at = float("-inf")
        self._console = console or Console()
        self._screen: LiveScreen | None = None
        #: The newest of each shard.
        self._reports: dict[str, CycleReport] = {}
        #: The shard, the first of each wave and how many there were; newest last.
        self._decisions: deque[tuple[str, ActionView, int]] = deque(maxlen=_DECISIONS)
        #: By id, in the order in which they began.
        self._transfers: dict[str, Transfer] = {}

    def open(self, banner: str) -> None:
        self._screen = LiveScreen(self._console)
        self._screen.open(banner)

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
        if self._screen is not None:
            self._screen.close()

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
        if self._screen is None or not self._reports or now - self._drawn_at < DRAW_SECONDS:
            return
        self._drawn_at = now
        self._screen.draw(self.page())

    def page(self) -> Panel:
        """As it is now; there is a report at least."""
        report = whole_of(self._reports.values())
        who = f"{len(self._reports)} shards" if self._many else f"cycle {report.cycle}"
        title = (
            f"{who}   {met_text(report)}   ${report.dollars_per_hour:,.2f}/h   "
            f"decided in {report.seconds * 1000:.0f} ms"
        )
        most = _MOST_ROWS_OF_MANY if self._many else _MOST_ROWS
        room = min(self._console.height - 1, most) - _BORDER
        rows = self._standing(report)
        rows += self._happened(room - len(rows))
        page = Group(*(rows + [Text("")] * (room - len(rows)))[: max(0, room)])
        return Panel(page, title=title, subtitle="Ctrl-C ends everything", title_align="left")

    @property
    def _width(self) -> int:
        return max(1, self._console.width - _BESIDE)

    def _standing(self, report: CycleReport) -> list[Text]:
        """How things are: rows of the page."""
        rows = [*self._folded(_states(report, self._width), 3), *self._paused(report.pauses)]
        if self._many:
            rows += [Text(""), *self._drawn(_shards(sorted(self._reports.items())))]
        rows += [Text(""), *self._drawn(_clusters(report)), *self._folded(_trouble(report), 2)]
        return rows

    def _happened(self, room: int) -> list[Text]:
        """The last transfers and decisions, as many as there is room for; rows of the page."""
        moves: list[Text] = []
        if self._many:
            # There are more decisions than moves: they get at least half of the room.
            moves = self._listed("LAST TRANSFERS", self._moved(), max(4, room // 2))
        return moves + self._listed("LAST DECISIONS", self._decided(), room - len(moves))

    def _listed(self, heading: str, blocks: Iterable[list[Text]], room: int) -> list[Text]:
        """Whole blocks only, the newest first."""
        rows = [Text(""), Text(heading, "bold")]
        for block in blocks:
            if len(rows) + len(block) > room:
                break
            rows += block
        return rows

    def _decided(self) -> Iterable[list[Text]]:
        for shard, action, count in reversed(self._decisions):
            others = f" and {count - 1} more" if count > 1 else ""
            way = "from" if action.kind in _TAKEN else "for"
            target = f" {way} {action.cluster}" if action.cluster else ""
            where = f"{shard}  " if self._many else ""
            what = f"{count} {action.kind.label}{target}: {action.machine}{others}"
            yield self._block(Text(plain(f"{where}cycle {action.cycle}  {what}")), action.reason)

    def _moved(self) -> Iterable[list[Text]]:
        for each in reversed(self._transfers.values()):
            colour = "yellow" if each.state.open else "red" if each.state is _CANCELLED else ""
            head = f"{each.id}  {each.from_shard} -> {each.to_shard}  {moved_text(each)}  "
            yield self._block(Text(plain(head)).append(each.state.label, colour), each.reason)

    def _block(self, head: Text, reason: str) -> list[Text]:
        head.truncate(self._width, overflow="ellipsis")
        indented = self._width - len(_INDENT)
        reasons = self._folded(Text(plain(reason), "dim"), _REASON_ROWS, indented)
        return [head, *(Text(_INDENT).append_text(row) for row in reasons)]

    def _paused(self, pauses: tuple[Pause, ...]) -> list[Text]:
        rows: list[Text] = []
        for pause in pauses[:_PAUSES]:
            lift = f"to lift it: bigfleet resume {pause.pause_id} --reason WHY"
            rows += self._folded(Text(f"PAUSED {plain(pause_text(pause))}", "bold red"), 2)
            rows += self._folded(Text(f"{_INDENT}{plain(lift)}", "red"), 1)
        if len(pauses) > _PAUSES:
            rows.append(Text(f"and {len(pauses) - _PAUSES} more: bigfleet pause list", "red"))
        return rows

    def _folded(self, text: Text, most: int, width: int | None = None) -> list[Text]:
        """At most so many rows; what does not fit ends in an ellipsis. Nothing has no row."""
        if not text:
            return []
        width = max(1, width or self._width)
        rows = list(text.wrap(self._console, width))
        if len(rows) > most:
            for row in rows:
                row.rstrip()
            rest = Text(" ").join(rows[most - 1 :])
            rest.truncate(width, overflow="ellipsis")
            rows = [*rows[: most - 1], rest]
        return rows

    def _drawn(self, table: Table) -> list[Text]:
        """A row of it is a row of the page, however narrow that is."""
        lines = self._console.render_lines(table, self._console.options.update(width=self._width))
        return [Text.assemble(*((part.text, part.style or "") for part in line)) for line in lines]


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
    """What holds the first Need back, and what lifts it."""
    text = Text()
    for need in report.unmet[:1]:
        lift = f" (to lift it: {need.remedy})" if need.remedy else ""
        said = f"{need.key.cluster} {need.key.need_id} {need.state.label}: {need.text}{lift}"
        text.append(plain(said), style="yellow" if need.state is NeedState.BLOCKED else "red")
    return text


def _states(report: CycleReport, columns: int) -> Text:
    """A bar of the fleet, and its legend: states in which machines are."""
    total, width = max(1, sum(report.machines.values())), min(72, columns - len(_COLOURS))
    bar, legend = Text(), Text()
    for state, colour in _COLOURS.items():
        count = report.machines.get(state, 0)
        if not count:
            continue
        bar.append("█" * (round(count * width / total) or 1), style=colour)
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
