"""The regret of a fleet: in the overview, and over time; a gap where a shard has not measured."""

from typing import Any

import pytest

from bigfleet.model.regret import HOW_TO_ENABLE, Regret, RegretStatus, skipped
from bigfleet.model.watch_events import ShardOverview
from bigfleet.web.live.seen import Seen
from tests.wire import figures_answer, watch_answers

NOW = 7_000_000_000
MEASURED = Regret(RegretStatus.OPTIMAL, greedy_per_hour=8.0, bound_per_hour=6.0)
COST, BOUND = "effectiveDollarsPerHour", "boundDollarsPerHour"


def told(regret: Regret | None) -> ShardOverview:
    return ShardOverview(watch_answers.STATUS, (), (), figures_answer.FIGURES, 0, (), (), regret)


def seen_of(*regrets: Regret | None) -> Seen:
    seen = Seen()
    for number, regret in enumerate(regrets):
        seen.on_overview(f"shard-{number}", told(regret), NOW)
    return seen


def shown(seen: Seen) -> Any:
    return seen.overview(NOW)["regret"]


def test_shards_are_added_up_in_the_overview_and_over_time() -> None:
    seen = seen_of(MEASURED, MEASURED)
    assert shown(seen) == {
        "status": "optimal",
        "reason": "",
        "greedyPerHour": 16.0,
        "boundPerHour": 12.0,
        "gapPerHour": 4.0,
        "ratio": 0.25,
    }
    samples = seen.samples(NOW)
    assert (samples[COST], samples[BOUND]) == (16.0, 12.0)


@pytest.mark.parametrize(
    ("regret", "reason"),
    [
        (skipped(HOW_TO_ENABLE), HOW_TO_ENABLE),
        (None, "shard-1 is of a version that measures none"),
    ],
    ids=["without the solver", "an older shard"],
)
def test_what_one_shard_does_not_measure_is_unknown_and_a_gap_with_the_reason(
    regret: Regret | None, reason: str
) -> None:
    seen = seen_of(MEASURED, regret)
    assert shown(seen) == {
        "status": "skipped",
        "reason": reason,
        "greedyPerHour": None,
        "boundPerHour": None,
        "gapPerHour": None,
        "ratio": None,
    }
    samples = seen.samples(NOW)
    assert (samples[COST], samples[BOUND]) == (None, None)


def test_a_shard_that_went_silent_makes_the_regret_unknown() -> None:
    seen = seen_of(MEASURED, MEASURED)
    seen.on_down("shard-1", "the connection was refused")
    assert (shown(seen)["ratio"], shown(seen)["reason"]) == (None, "shard-1 does not answer")


def test_nothing_is_said_of_the_regret_before_a_shard_is_heard() -> None:
    assert shown(Seen()) is None
