"""The faces of `up`: what each prints of cycles and transfers, and how much room it takes."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from bigfleet.cli.up_faces import LineFace
from bigfleet.cli.up_view import LiveFace
from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import TransferState
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.pauses import Pause, PauseSource
from bigfleet.model.shard_views import ActionView, Disposition, NeedCounts
from bigfleet.up.reports import ClusterReport, CycleReport, UnmetNeed
from tests.up.shown import MOVE

SHARDS = ("shard-0", "shard-1", "shard-2")
QUIET = CycleReport(
    cycle=20,
    at=0,
    seconds=0.004,
    actions=(),
    machines={MachineState.CONFIGURED: 96, MachineState.IDLE: 4},
    dollars_per_hour=3.12,
    clusters=(ClusterReport("shop", True, 60, 60, 12, 1, 1),),
    unmet=(),
    shard="shard-0",
)
BOOTSTRAP = ActionView(
    20, 0, ActionKind.BOOTSTRAP, "bm-1", "shop", disposition=Disposition.ENQUEUED, reason="idle"
)
BUSY = replace(QUIET, actions=(BOOTSTRAP,))


class Watches:
    """Seconds that go by as a test wants."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def stopwatch() -> Watches:
    return Watches()


Lines = tuple[LineFace, pytest.CaptureFixture[str]]


@pytest.fixture
def lines(stopwatch: Watches, capsys: pytest.CaptureFixture[str]) -> Lines:
    return LineFace(lambda: "14:00:21", stopwatch, names_shards=True), capsys


def test_each_shard_has_a_line_a_second(lines: Lines, stopwatch: Watches) -> None:
    face, printed = lines
    for _ in range(3):
        face.show(BUSY)
        face.show(replace(BUSY, shard="shard-1"))
    assert [line.split()[1] for line in printed.readouterr().out.splitlines()] == [
        "shard-0",
        "shard-1",
    ]
    stopwatch.seconds = 1.0
    face.show(QUIET)
    assert "+2 Bootstrap" in printed.readouterr().out


def test_a_shard_where_nothing_is_new_is_silent(lines: Lines, stopwatch: Watches) -> None:
    face, printed = lines
    face.show(QUIET)
    printed.readouterr()
    stopwatch.seconds = 5.0
    face.show(QUIET)
    assert printed.readouterr().out == ""


def test_a_pod_that_found_a_place_is_news(lines: Lines, stopwatch: Watches) -> None:
    face, printed = lines
    shop = QUIET.clusters[0]
    face.show(replace(QUIET, clusters=(replace(shop, running=50),)))
    assert printed.readouterr().out.endswith("pods: shop 50/60\n")
    stopwatch.seconds = 1.0
    face.show(QUIET)
    assert printed.readouterr().out.endswith("pods: shop 60\n")


def test_the_live_view_shows_pods_that_run_wait_and_are_stuck() -> None:
    console = Console(record=True, file=io.StringIO(), width=120, height=60)
    face = LiveFace(1, Watches(), console)
    shop = replace(QUIET.clusters[0], pods=1_060, running=1_050, stuck=4)
    face.show(replace(QUIET, clusters=(shop,)))
    console.print(face.page())
    shown = console.export_text().splitlines()
    heading = next(line for line in shown if "CLUSTER" in line)
    row = next(line for line in shown if " shop " in line)
    assert heading.split()[-4:-1] == ["RUNNING", "WAITING", "STUCK"]
    assert row.split()[-6:-1] == ["1,050", "of", "1,060", "10", "4"]


def test_a_pause_is_told_when_it_begins_and_when_it_is_over(lines: Lines) -> None:
    face, printed = lines
    pause = Pause("p-17", PauseSource.RPC, owner="ada", reason="looking")
    for shard in SHARDS:
        face.show(replace(QUIET, shard=shard, pauses=(pause,)))
    face.show(QUIET)
    told = [line for line in printed.readouterr().out.splitlines() if "cycle" not in line]
    assert told == ["14:00:21  PAUSED everything by ada until it is lifted: looking"]
    for shard in SHARDS:
        face.show(replace(QUIET, shard=shard))
    told = [line for line in printed.readouterr().out.splitlines() if "cycle" not in line]
    assert told == ["14:00:21  pause p-17 is over"]


def test_of_a_transfer_the_grant_and_a_cancellation_are_lines(lines: Lines) -> None:
    face, printed = lines
    for state in TransferState:
        face.show_move(replace(MOVE, state=state))
    told = [line.split("machines  ")[1] for line in printed.readouterr().out.splitlines()]
    assert [text.partition(":")[0] for text in told] == ["granted", "cancelled"]


def height_of(shards: int, cycles: int, moves: int) -> int:
    """Of the live view after so many cycles of each shard and transfers."""
    console = Console(file=io.StringIO(), width=120, height=200)
    face = LiveFace(shards, Watches(), console)
    for cycle in range(1, cycles + 1):
        for shard in SHARDS[:shards]:
            face.show(replace(BUSY, shard=shard, cycle=cycle))
    for number in range(moves):
        face.show_move(replace(MOVE, id=f"1-{number}"))
    return len(console.render_lines(face.page()))


def test_the_live_view_of_several_shards_fits_a_terminal_however_long_it_lives() -> None:
    assert height_of(3, cycles=50, moves=50) == height_of(3, cycles=500, moves=500) <= 40


def test_the_live_view_shows_shards_and_transfers_only_where_there_are_several() -> None:
    console = Console(record=True, file=io.StringIO(), width=140, height=60)
    face = LiveFace(3, Watches(), console)
    for shard in SHARDS:
        face.show(replace(BUSY, shard=shard))
    face.show_move(MOVE)
    console.print(face.page())
    shown = console.export_text()
    assert "LAST TRANSFERS" in shown
    assert "shard-2 is short of cpu 15" in shown
    rows = [line.split()[1] for line in shown.splitlines() if " shard-" in line[:10]]
    # A row for each, and then the decisions, the newest first.
    assert rows == [*SHARDS, *reversed(SHARDS)]
    alone = LiveFace(1, Watches(), console)
    alone.show(BUSY)
    console.print(alone.page())
    shown = console.export_text()
    assert "LAST TRANSFERS" not in shown
    assert "SHARD" not in shown


def test_the_live_view_says_what_holds_a_need_back_in_one_line() -> None:
    console = Console(record=True, file=io.StringIO(), width=120, height=60)
    face = LiveFace(1, Watches(), console)
    face.show(QUIET)
    calm = len(console.render_lines(face.page()))
    blocked = UnmetNeed(
        NeedKey("shop", "p=1", ""),
        *("rail.paused", 0, 0, NeedState.BLOCKED),
        *("paused by ada: " + "release day " * 30, "bigfleet resume p-17 --reason WHY"),
    )
    counts = NeedCounts(met=1, blocked=1)
    face.show(replace(QUIET, unmet=(blocked,), need_states=counts))
    assert len(console.render_lines(face.page())) == calm
    console.print(face.page())
    shown = console.export_text()
    assert "blocked: paused by ada" in shown
    assert "1 blocked of 2 needs" in shown


def test_the_live_view_is_drawn_a_few_times_a_second_at_most(stopwatch: Watches) -> None:
    drawn = io.StringIO()
    face = LiveFace(1, stopwatch, Console(file=drawn, force_terminal=True, width=120, height=60))
    face.open("")
    for cycle in range(1, 9):
        stopwatch.seconds = cycle / 10
        face.show(replace(QUIET, cycle=cycle))
    text = drawn.getvalue()
    face.close()
    assert [cycle for cycle in range(1, 9) if f"cycle {cycle} " in text] == [1, 4, 7]
