"""One line per event, readable by machines or by people; repeated warnings keep quiet."""

import io

import orjson
import pytest

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.log_lines import QUIET, REMEMBERED, open_log
from bigfleet.edge.logs import Log
from bigfleet.model.options import SECOND

START = 1_700_000_000 * SECOND


class JsonLogRig:
    """A log with its clock and what it has written."""

    def __init__(self, *, text: bool = False, level: str = "info") -> None:
        self.clock = ManualClock(START)
        self.stream = io.StringIO()
        self.log: Log = open_log(self.stream, "shard", self.clock.now, text=text, level=level)

    def lines(self) -> list[dict[str, object]]:
        return [orjson.loads(line) for line in self.stream.getvalue().splitlines()]

    def events(self) -> list[object]:
        return [line["event"] for line in self.lines()]


def test_a_line_begins_with_when_how_bad_who_and_what() -> None:
    desk = JsonLogRig()
    desk.log.info("session_opened", msg="cluster shop is connected", cluster="shop", session=7)
    assert list(desk.lines()[0].items()) == [
        ("time", "2023-11-14T22:13:20Z"),
        ("level", "info"),
        ("component", "shard"),
        ("event", "session_opened"),
        ("msg", "cluster shop is connected"),
        ("cluster", "shop"),
        ("session", 7),
    ]


def test_a_fact_cannot_pose_as_the_head_of_its_line() -> None:
    desk = JsonLogRig()
    desk.log.error("failed", level="fine", time="never")
    (line,) = desk.lines()
    assert (line["level"], line["level_"], line["time_"]) == ("error", "fine", "never")


def test_what_is_not_json_is_written_as_text() -> None:
    desk = JsonLogRig()
    desk.log.info("odd", problem=ValueError("no"), raw={1: "x"})
    assert desk.lines()[0]["problem"] == "no"


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_lines_below_the_level_are_left_out(level: str, heard: list[str]) -> None:
    desk = JsonLogRig(level=level)
    for word in ("debug", "info", "warning", "error"):
        getattr(desk.log, word)(word)
    assert desk.events() == heard


def test_a_line_for_people_is_one_line_that_cannot_drive_the_terminal() -> None:
    desk = JsonLogRig(text=True)
    desk.log.warning("breaker_opened", msg="acme does not\nanswer", provider="acme", why="\x1b[2J")
    assert desk.stream.getvalue() == (
        "22:13:20 warning shard breaker_opened: acme does not\\nanswer"
        " (provider=acme why=\\x1b[2J)\n"
    )


async def test_a_repeated_warning_is_written_once_a_minute_with_how_often_it_came() -> None:
    desk = JsonLogRig()
    for _ in range(3):
        desk.log.warning("list_failed", provider="acme", attempt=1)
    await desk.clock.advance(QUIET / SECOND)
    desk.log.warning("list_failed", provider="acme", attempt=2)
    assert [line.get("repeated") for line in desk.lines()] == [None, 2]


def test_another_subject_another_event_and_other_levels_are_not_held_back() -> None:
    desk = JsonLogRig()
    desk.log.warning("list_failed", provider="acme")
    desk.log.warning("list_failed", provider="other")
    desk.log.warning("breaker_opened", provider="acme")
    for _ in range(2):
        desk.log.info("listed", provider="acme")
        desk.log.error("cycle_failed")
    assert len(desk.lines()) == 7


def test_the_memory_of_warnings_is_bounded() -> None:
    desk = JsonLogRig()
    desk.log.warning("odd", subject="first")
    for number in range(REMEMBERED):
        desk.log.warning("odd", subject=number)
    desk.log.warning("odd", subject="first")
    assert sum(line["subject"] == "first" for line in desk.lines()) == 2
