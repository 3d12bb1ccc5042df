"""The live view on a terminal: nothing stale, nothing cut that people need, pauses told."""

import sys
from dataclasses import replace
from random import Random

import pytest
from rich.console import Console

from bigfleet.cli.up import _log
from bigfleet.cli.up_view import LiveFace
from bigfleet.model.actions import ActionKind
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.shard_views import ActionView, Disposition, NeedCounts
from bigfleet.up.reports import UnmetNeed
from tests.up.shown import MOVE
from tests.up.small_terminal import SmallTerminal
from tests.up.test_faces import QUIET, SHARDS, Watches

WHY = (
    "idle match at $0.00/h: one of the 31 cheapest of 158 free; next od-0002 at $0.58 effective, "
    "to be bought"
)
PAUSE = Pause(
    *("21e3c627a4", PauseSource.RPC, PauseScope(cluster_ids=("shop",)), "ada"),
    *("strange reclaims, looking", 0, 1_800_000_000 * SECOND),
)
BLOCKED = UnmetNeed(
    NeedKey("shop", "p=1", ""),
    *("rail.paused", 0, 0, NeedState.BLOCKED),
    *("paused by ada: strange reclaims, looking", "bigfleet resume 21e3c627a4 --reason WHY"),
)


class Shown:
    """A face on a terminal that can be looked at."""

    def __init__(self, columns: int = 80, rows: int = 24, shards: int = 1) -> None:
        self.terminal = SmallTerminal(columns, rows)
        self.watches = Watches()
        self.console = Console(
            file=self.terminal, force_terminal=True, width=columns, height=rows, no_color=True
        )
        self.face = LiveFace(shards, self.watches, self.console)

    def show(self, cycle: int, **changes: object) -> None:
        self.watches.seconds += 1.0
        report = replace(QUIET, cycle=cycle, **changes)  # type: ignore[arg-type]
        self.face.show(report)

    def resize(self, columns: int) -> None:
        self.terminal.resize(columns)
        self.console.width = columns

    @property
    def page(self) -> list[str]:
        """From the top of the page to its end; there is one page, and nothing beside it."""
        rows = self.terminal.rows
        tops = [n for n, row in enumerate(rows) if "╭" in row]
        ends = [n for n, row in enumerate(rows) if "╰" in row]
        assert (len(tops), len(ends)) == (1, 1), "\n".join(rows)
        assert not any(rows[ends[0] + 1 :]), "\n".join(rows)
        return rows[tops[0] : ends[0] + 1]


def decided(cycle: int, machine: str = "rs-0034", number: int = 32) -> tuple[ActionView, ...]:
    return tuple(
        ActionView(
            *(cycle, n, ActionKind.BOOTSTRAP, f"{machine}{n:02}", "batch"),
            disposition=Disposition.ENQUEUED,
            reason=WHY,
        )
        for n in range(number)
    )


def test_a_warning_between_two_drawings_leaves_no_stale_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Shown(rows=40)
    monkeypatch.setattr(sys, "stderr", shown.terminal)
    log = _log()
    shown.face.open("BigFleet")
    for cycle in range(1, 6):
        shown.show(cycle, actions=decided(cycle))
        log.warning(
            "admin", msg=f"ada: pause {cycle} (looking) " + "a long story " * 10, shard=cycle
        )
        assert len(shown.page) > 10
    shown.show(6)
    assert "cycle 6" in shown.page[0]
    above = "\n".join(shown.terminal.rows[: shown.terminal.rows.index(shown.page[0])])
    assert "ada: pause 5 (looking)" in above
    shown.face.close()
    assert shown.terminal.cursor_shown
    assert sys.stderr is shown.terminal


@pytest.mark.parametrize("rows", [12, 24, 40, 60])
@pytest.mark.parametrize("columns", [60, 80, 132])
def test_there_is_always_one_page_and_nothing_stale(columns: int, rows: int) -> None:
    chance = Random(f"{columns}x{rows}")
    shown = Shown(columns, rows)
    shown.face.open("BigFleet\n  shard  127.0.0.1:7780\nready in 1.4 s")
    for cycle in range(1, 40):
        shown.show(
            cycle,
            actions=decided(cycle, number=chance.choice((0, 1, 7))),
            unmet=chance.choice(((), (BLOCKED,))),
            need_states=NeedCounts(met=chance.randrange(9), blocked=chance.randrange(2)),
            pauses=chance.choice(((), (PAUSE,))),
        )
        if chance.random() < 0.2:
            shown.resize(chance.randrange(50, columns + 1))
            shown.show(cycle)
        page = shown.page
        assert f"cycle {cycle} " in page[0]
        assert len(page) < rows


def test_in_eighty_columns_the_reason_of_a_decision_can_be_read() -> None:
    shown = Shown()
    shown.face.open("")
    shown.show(31, actions=decided(31))
    told = " ".join(" ".join(row.strip("│ ").split()) for row in shown.page)
    assert f"32 Bootstrap for batch: rs-003400 and 31 more {WHY}" in told
    assert max(map(len, shown.page)) == 80


def test_what_is_paused_by_whom_and_until_when_is_said_once() -> None:
    shown = Shown(rows=40, shards=3)
    shown.face.open("")
    # Of a whole fleet it comes from the command line and from the coordinator, at every shard.
    both = (PAUSE, replace(PAUSE, source=PauseSource.COORDINATOR))
    for shard in SHARDS:
        shown.show(9, shard=shard, pauses=both)
    [row] = [row for row in shown.page if "PAUSED" in row]
    assert "PAUSED every action of cluster shop by ada until 2027-01-15T08:00:00Z" in row
    told = " ".join(row.strip("│ ") for row in shown.page)
    assert "strange reclaims, looking" in told
    assert "bigfleet resume 21e3c627a4 --reason WHY" in told
    for shard in SHARDS:
        shown.show(10, shard=shard)
    assert not any("PAUSED" in row for row in shown.page)


def test_a_page_of_several_shards_fits_a_small_terminal_too() -> None:
    shown = Shown(shards=3)
    shown.face.open("")
    for cycle in range(1, 9):
        for shard in SHARDS:
            shown.show(cycle, shard=shard, actions=decided(cycle))
        shown.watches.seconds += 1.0
        shown.face.show_move(replace(MOVE, id=f"1-{cycle}"))
    told = "\n".join(shown.page)
    assert len(shown.page) <= 23
    assert "1-8" in told
    assert "shard-2 is short of cpu 15" in told
    assert "32 Bootstrap for batch" in told
