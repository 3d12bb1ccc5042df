"""Freeze windows: when one is open, what it covers, and what is said of a text that is not one."""

from datetime import UTC, datetime

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.verifier.freezes import BadFreezeWindow, freeze_window_of
from bigfleet.verifier.policy import problems_of

HOUR = 3600 * 10**9


def at(text: str) -> Instant:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


OPEN = {
    "at its first moment": ("0 22 * * fri for 60h", "2026-11-13T22:00:00", "2026-11-16T10:00:00"),
    "days later": ("0 22 * * fri for 60h", "2026-11-16T09:59:59", "2026-11-16T10:00:00"),
    "every quarter of an hour": ("*/15 * * * * for 5m", "2026-11-16T10:49:00", "2026-11-16T10:50"),
    "on a day of the month": ("0 0 24 12 * for 3d", "2026-12-26T12:00:00", "2026-12-27T00:00:00"),
    "on either day, where both are named": (
        "0 0 1 * mon for 1h",
        "2026-11-16T00:30:00",
        "2026-11-16T01:00:00",
    ),
    "on Sunday, called 7": ("0 0 * * 7 for 1h", "2026-11-15T00:30:00", "2026-11-15T01:00:00"),
    "in a month by its name": ("30 6 * nov-dec * for 1h", "2026-11-01T06:31", "2026-11-01T07:30"),
    "since last month": ("0 0 31 10 * for 720h", "2026-11-20T00:00:00", "2026-11-30T00:00:00"),
}
CLOSED = {
    "before it begins": ("0 22 * * fri for 60h", "2026-11-13T21:59:59"),
    "when it is over": ("0 22 * * fri for 60h", "2026-11-16T10:00:00"),
    "on another day": ("0 0 1 * * for 1h", "2026-11-16T00:30:00"),
    "in another month": ("0 0 * jan * for 1h", "2026-11-16T00:30:00"),
}


@pytest.mark.parametrize(("text", "now", "until"), OPEN.values(), ids=OPEN)
def test_a_window_is_open(text: str, now: str, until: str) -> None:
    assert freeze_window_of(text).ends(at(now)) == at(until)


@pytest.mark.parametrize(("text", "now"), CLOSED.values(), ids=CLOSED)
def test_a_window_is_closed(text: str, now: str) -> None:
    assert freeze_window_of(text).ends(at(now)) is None


def test_of_several_starts_the_newest_counts() -> None:
    window = freeze_window_of("0 * * * * for 90m")
    assert window.ends(at("2026-11-16T10:20:00")) == at("2026-11-16T11:30:00")


def test_a_scope_names_clusters_zones_and_kinds() -> None:
    window = freeze_window_of("0 0 * * * for 1h cluster=shop,ml zone=a kind=reclaim")
    assert window.covers(ActionKind.RECLAIM, "ml", "a")
    assert not window.covers(ActionKind.RECLAIM, "batch", "a")
    assert not window.covers(ActionKind.RECLAIM, "ml", "b")
    assert not window.covers(ActionKind.DELETE, "", "a")
    whole = freeze_window_of("0 0 * * * for 1h")
    assert whole.covers(ActionKind.DELETE, "", "")
    assert not whole.covers(ActionKind.PREEMPT, "shop", "a")


BAD = {
    "": "is not a freeze window",
    "0 22 * * fri": "is not a freeze window",
    "0 22 * * fri for": "is not a freeze window",
    "0 22 * * fri for ever": "not how long a freeze may last",
    "0 22 * * fri for 0s": "not how long a freeze may last",
    "0 22 * * fri for 32d": "not how long a freeze may last",
    "60 22 * * fri for 1h": "'60' is not a minute",
    "0 24 * * fri for 1h": "'24' is not a hour",
    "0 5-1 * * fri for 1h": "'5-1' is not a hour",
    "0 */0 * * fri for 1h": "'*/0' is not a hour",
    "0 */ * * fri for 1h": "'*/' is not a hour",
    "0 1,,2 * * fri for 1h": "'' is not a hour",
    "0 22 * * funday for 1h": "'funday' is not a day of week",
    "0 22 0 * * for 1h": "'0' is not a day of month",
    "0 22 * 13 * for 1h": "'13' is not a month",
    "0 22 * * fri for 1h shop": "'shop' is not a scope",
    "0 22 * * fri for 1h cluster=": "is not a scope",
    "0 22 * * fri for 1h kind=Preempt": "'Preempt' cannot be frozen",
    "-1 22 * * fri for 1h": "'-1' is not a minute",
    "٣ 22 * * fri for 1h": "is not a minute",
}


@pytest.mark.parametrize(("text", "said"), BAD.items(), ids=BAD)
def test_a_text_that_is_not_one_is_refused_with_what_would_do(text: str, said: str) -> None:
    with pytest.raises(BadFreezeWindow) as refused:
        freeze_window_of(text)
    assert said in str(refused.value)


@pytest.mark.parametrize("ceiling", [-1.0, float("nan"), float("inf")])
def test_a_ceiling_is_a_number_of_dollars(ceiling: float) -> None:
    assert list(problems_of((), ceiling, 0.5)) == ["spend_ceiling"]


def test_a_policy_says_everything_that_is_wrong_with_it() -> None:
    found = problems_of(["0 0 * * * for 1h"] * 65 + ["?"], -1, 2)
    assert set(found) == {"freeze_windows", "spend_ceiling", "reclaim_zone_fraction"}
    assert problems_of(["0 0 * * * for 1h"], 0, 0) == {}
