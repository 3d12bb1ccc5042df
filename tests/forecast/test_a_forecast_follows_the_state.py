"""A forecast is of the state its Need is in: what was told of another state is not told again."""

import pytest

from bigfleet.engine.need_progress import progress_of
from bigfleet.explain.need_states import Holds, judged
from bigfleet.forecast.book import ForecastBook
from bigfleet.model.actions import ActionKind
from bigfleet.model.forecasts import ForecastPath
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.plan.cycle import engine_input_of
from bigfleet.shard.ledgers.needs import NeedsLedger
from tests.forecast.test_what_a_forecast_says import a_need, slot
from tests.worlds.fleets import NOW, PHASES, fleet_of

PAUSE = Pause("p-1", PauseSource.RPC, PauseScope((), ("shop",), ()), "ann", "sale", NOW)
PAUSED = {(kind, "shop"): PAUSE for kind in (ActionKind.BOOTSTRAP, ActionKind.PROVISION)}


def test_a_need_that_is_held_back_has_no_time_any_more_at_once() -> None:
    fleet = fleet_of([slot("m-1", MachineState.IDLE)], [a_need()], options=PHASES, now=NOW)
    decision, book = engine_input_of(fleet).decide(workers=1), ForecastBook()
    arriving = judged(decision, progress_of(decision), Holds(NOW), None)
    book.take(decision, arriving, 7)
    (timed,) = book.forecasts.values()
    assert timed.is_timed
    held = Holds(NOW + SECOND, paused=PAUSED)
    blocked = judged(decision, progress_of(decision), held, arriving)
    ledger = NeedsLedger(decision, 8, held.at, blocked)
    assert ledger.forecast_of(0, book.forecasts) is None, "before it is forecast anew"
    book.take(decision, blocked, 8)
    (untimed,) = book.forecasts.values()
    assert untimed.path is ForecastPath.HELD
    assert ledger.forecast_of(0, book.forecasts) is untimed


@pytest.mark.parametrize(("seconds", "made_in"), [(10, 7), (20, 9)], ids=["soon", "later"])
def test_a_forecast_of_the_same_state_is_kept_for_a_while(seconds: int, made_in: int) -> None:
    fleet = fleet_of([slot("m-1", MachineState.IDLE)], [a_need()], options=PHASES, now=NOW)
    decision, book = engine_input_of(fleet).decide(workers=1), ForecastBook()
    states = judged(decision, progress_of(decision), Holds(NOW), None)
    book.take(decision, states, 7)
    later = judged(decision, progress_of(decision), Holds(NOW + seconds * SECOND), states)
    book.take(decision, later, 9)
    (told,) = book.forecasts.values()
    assert told.cycle == made_in
