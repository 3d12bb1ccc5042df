"""Each way to be met has its path; without supply, or held back, there is no time."""

from collections.abc import Iterable

import pytest

from bigfleet.engine.need_progress import progress_of
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_states import Holds, judged
from bigfleet.forecast.book import ForecastBook
from bigfleet.journal.forecasts import forecasts_of_file
from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, Held, HeldBy, Marks
from bigfleet.model.forecasts import Forecast, ForecastPath
from bigfleet.model.machines import Assigned, CapacityType, Instant, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import OfferingState, OfferingView
from bigfleet.plan.cycle import engine_input_of
from tests.generated.fleets import fleet_of_seed
from tests.worlds.fleets import NOW, PHASES, fleet_of, machine

S = MachineState
UNIT = Resources((("cpu", 8000),))
OFFERING = "*/std-8/a/OnDemand"


def a_need(machines: int = 1, priority: int = 10) -> Need:
    aggregate = Resources((("cpu", 8000 * machines),))
    return Need("shop", Profile(priority=priority), aggregate, UNIT)


def slot(name: str, state: MachineState, held: Held | None = None) -> FleetMachine:
    return machine(
        name,
        state,
        UNIT,
        instance_type="std-8",
        zone="a",
        capacity_type=CapacityType.ON_DEMAND,
        price=0.4,
        cluster="shop" if state in (S.CONFIGURING, S.CONFIGURED) else "",
        stamp=Assigned(cluster="shop", need_fingerprint=a_need().profile.fingerprint),
        marks=Marks(held=held),
    )


def forecast_of(
    machines: Iterable[FleetMachine], need: Need, holds: Holds | None = None
) -> Forecast | None:
    """None: the Need is met."""
    fleet = fleet_of(machines, [need], options=PHASES, now=NOW)
    decision = engine_input_of(fleet).decide(workers=1)
    book = ForecastBook()
    states = judged(decision, progress_of(decision), holds or Holds(NOW), None)
    book.take(decision, states, 7)
    return next(iter(book.forecasts.values()), None)


def test_a_need_that_is_met_has_no_forecast() -> None:
    assert forecast_of([slot("m-1", S.CONFIGURED)], a_need()) is None


@pytest.mark.parametrize(
    ("state", "steps"),
    [
        (S.CONFIGURING, ["configure"]),
        (S.IDLE, ["order", "configure"]),
        (S.CREATING, ["order", "create", "configure"]),
        (S.SPECULATIVE, ["order", "create", "configure"]),
    ],
    ids=["configuring", "idle", "creating", "to be bought"],
)
def test_a_machine_on_its_way_is_waited_for_with_assumed_durations(
    state: MachineState, steps: list[str]
) -> None:
    forecast = forecast_of([slot("m-1", state)], a_need())
    assert forecast is not None
    assert forecast.path is ForecastPath.PRIOR
    assert [each.name for each in forecast.steps] == steps
    assert {each.offering for each in forecast.steps} == {OFFERING}
    assert "durations are assumed" in forecast.basis
    assert forecast.sentence.startswith("p50 ")
    assert "none of this kind has ended yet" in forecast.sentence


def test_more_machines_take_longer() -> None:
    one = forecast_of([slot("m-1", S.CONFIGURING)], a_need())
    many = forecast_of([slot(f"m-{n}", S.CONFIGURING) for n in range(9)], a_need(9))
    assert one is not None
    assert many is not None
    assert one.p50 is not None
    assert many.p50 is not None
    assert many.p50 > 1.3 * one.p50


def test_without_machines_that_fit_there_is_no_time_but_what_is_missing() -> None:
    forecast = forecast_of([], a_need(3))
    assert forecast is not None
    assert forecast.path is ForecastPath.CAPACITY_NEEDED
    assert not forecast.is_timed
    assert "lacks cpu 24" in forecast.basis


def test_a_pause_is_named_instead_of_a_time() -> None:
    scope = PauseScope((), ("shop",), ())
    pause = Pause("p-1", PauseSource.RPC, scope, "ann", "sale", NOW)
    paused = {(ActionKind.BOOTSTRAP, "shop"): pause, (ActionKind.PROVISION, "shop"): pause}
    forecast = forecast_of([slot("m-1", S.IDLE)], a_need(), Holds(NOW, paused=paused))
    assert forecast is not None
    assert forecast.path is ForecastPath.HELD
    assert not forecast.is_timed
    assert "sale" in forecast.basis


def rests(until: Instant) -> Holds:
    view = OfferingView(
        OFFERING, OfferingState.OPEN, "stockout", 1, NOW - 30 * SECOND, until, "no stock"
    )
    return Holds(NOW, offerings=(view,))


def test_what_rests_is_not_expected_before_its_next_probe() -> None:
    held = slot("m-1", S.SPECULATIVE, held=Held(HeldBy.BACKOFF))
    soon = forecast_of([held], a_need(), rests(NOW + 10 * SECOND))
    later = forecast_of([held], a_need(), rests(NOW + 500 * SECOND))
    assert soon is not None
    assert later is not None
    assert soon.p50 is not None
    assert later.p50 is not None
    assert later.p50 > 500 > soon.p50
    assert later.steps[0].name == "probe"
    assert "a probe of an offering that rests" in later.basis


@pytest.mark.parametrize("by", [HeldBy.QUOTA, HeldBy.OPERATOR, HeldBy.UNSEEN])
def test_what_a_person_or_a_quota_holds_has_no_time(by: HeldBy) -> None:
    forecast = forecast_of([slot("m-1", S.SPECULATIVE, held=Held(by))], a_need())
    assert forecast is not None
    assert forecast.path is ForecastPath.HELD
    assert not forecast.is_timed


@pytest.mark.parametrize("seed", range(60))
def test_a_need_that_no_offering_matches_never_has_a_time(seed: int) -> None:
    fleet: Fleet = fleet_of_seed(seed)
    given = engine_input_of(fleet)
    cycle = DecidedCycle(given, given.decide(workers=1))
    decision = cycle.decision
    states = judged(decision, progress_of(decision), Holds(given.at), None)
    report = forecasts_of_file(cycle).report()
    told = {forecast.need: forecast for forecast in report.forecasts}
    outcome = decision.outcome
    for row in range(len(outcome)):
        if states.state[row] == NeedState.MET:
            continue
        forecast = told[outcome.key(row)]
        short = states.state[row] == NeedState.SHORT
        fits = outcome.kinds.eligible[outcome.needs.key[row]][outcome.scene.supply.kind]
        assert not (forecast.is_timed and (short or not fits.any())), forecast
