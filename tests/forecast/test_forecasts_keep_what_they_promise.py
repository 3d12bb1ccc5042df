"""Of Needs in closed loops, about as many are met by p80 as it promises."""

import pytest

from bigfleet.forecast.book import ForecastBook
from bigfleet.model.actions import Action
from bigfleet.model.forecasts import ALL, ForecastPath, Reliability, reliability_of
from tests.forecast.latency_world import LatencyWorld

#: First forecasts alone: none is made anew.
_NEVER = 2**62


def reliability_after(needs: int, seed: int, stockout: float) -> Reliability:
    """Judged after a quarter of the Needs was watched."""
    world = LatencyWorld(seed, clusters=4, stockout=stockout)
    book = ForecastBook(_NEVER, most_outcomes=needs)
    while world.asked < needs // 4:
        world.run_cycle(book)
    book.calibration.load({}, ())
    while world.asked < needs // 4 + needs:
        world.run_cycle(book)
    return reliability_of(book.calibration.reliability(), ALL)


@pytest.mark.nightly("2,000 Needs take a minute")
@pytest.mark.parametrize(
    ("stockout", "lowest", "highest"),
    [(0.0, 0.75, 0.85), (0.004, 0.70, 0.90)],
    ids=["stock for all", "stock-outs"],
)
def test_of_two_thousand_needs_four_of_five_are_met_by_p80(
    stockout: float, lowest: float, highest: float
) -> None:
    kept = reliability_after(2000, 1, stockout)
    assert kept.outcomes > 1900
    assert kept.by_p80 is not None
    assert lowest <= kept.by_p80 <= highest, kept.in_full


@pytest.mark.parametrize("stockout", [0.0, 0.004], ids=["stock for all", "stock-outs"])
def test_of_some_needs_about_four_of_five_are_met_by_p80(stockout: float) -> None:
    """The same with fewer, and a wider margin: 200 draws have three points of chance."""
    kept = reliability_after(200, 2, stockout)
    assert kept.by_p50 is not None
    assert kept.by_p80 is not None
    assert kept.by_p95 is not None
    assert 0.65 <= kept.by_p80 <= 0.95, kept.in_full
    assert kept.by_p50 < kept.by_p80 < kept.by_p95


def test_what_is_decided_is_the_same_with_and_without_forecasts() -> None:
    def actions_of(book: ForecastBook | None) -> list[tuple[Action, ...]]:
        world = LatencyWorld(3, clusters=2, stockout=0.01)
        return [world.run_cycle(book).actions for _ in range(60)]

    assert actions_of(ForecastBook()) == actions_of(None)


def test_the_same_cycle_and_need_have_the_same_forecast() -> None:
    books = [ForecastBook(), ForecastBook()]
    for book in books:
        LatencyWorld(4, stockout=0.01).run(book, 60)
    first, second = (book.forecasts for book in books)
    assert first
    assert first == second


def test_forecasts_follow_their_needs_and_get_shorter() -> None:
    """Every forecast is of a Need that waits, has its times in order, and none has gone stale."""
    world, book = LatencyWorld(5, stockout=0.01), ForecastBook()
    paths = set[ForecastPath]()
    for _ in range(120):
        world.run_cycle(book)
        for forecast in book.forecasts.values():
            paths.add(forecast.path)
            if forecast.p50 is not None:
                assert forecast.p80 is not None
                assert forecast.p95 is not None
                assert 0 <= forecast.p50 <= forecast.p80 <= forecast.p95
                assert forecast.steps
            assert forecast.basis
            assert world.cycle - forecast.cycle <= 4
    assert paths >= {ForecastPath.PRIOR, ForecastPath.CREATE, ForecastPath.IN_FLIGHT}
