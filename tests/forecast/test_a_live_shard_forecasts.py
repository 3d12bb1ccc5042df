"""A live shard forecasts between its cycles, and tells it wherever it tells of a Need."""

import asyncio
from collections.abc import Callable

import pytest

from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import NullLog
from bigfleet.model.forecasts import ForecastCall, ForecastPath
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.shard_views import NeedQuery
from bigfleet.shard.driving.forecasts import Forecasts
from bigfleet.shard.driving.need_rows import NeedRowBytes
from bigfleet.shard.ledgers.needs import NeedSourcesTold
from bigfleet.wire.need_listings import NEED_ROW
from bigfleet.wire.shard_admin import ShardAdminClient
from tests.shard_cases.rig import Rig, machine
from tests.shard_system.waiting import until_told
from tests.thrash.test_a_shard_holds_what_thrashes import shard_of, wants
from tests.up.fleets import FAST, is_served, running, seen
from tests.wire import forecast_answer

S = MachineState


def forecasts_of(rig: Rig, stopwatch: Callable[[], float] = lambda: 0.0) -> Forecasts:
    return Forecasts(rig.state, stopwatch, NullLog())


async def forecast(rig: Rig, forecasts: Forecasts) -> None:
    """The cycle that just ended."""
    forecasts.go_on()
    await forecasts.made()


@pytest.mark.parametrize(
    ("wanted", "path"),
    [(1, ForecastPath.PRIOR), (3, ForecastPath.CAPACITY_NEEDED)],
    ids=["a machine is on its way", "too few machines"],
)
async def test_needs_that_wait_are_forecast_after_a_cycle(wanted: int, path: ForecastPath) -> None:
    rig = shard_of(machine("m-1", S.IDLE))
    forecasts = forecasts_of(rig)
    wants(rig, wanted)
    await forecast(rig, forecasts)
    told = forecasts.told(ForecastCall())
    assert told.cycle == rig.state.decision_loop.number
    assert [each.path for each in told.forecasts] == [path]
    assert told.total == 1


async def test_a_need_that_is_met_ends_its_forecast() -> None:
    rig = shard_of(machine("m-1", S.IDLE))
    forecasts = forecasts_of(rig)
    wants(rig, 1)
    await forecast(rig, forecasts)
    rig.cycle()
    await forecast(rig, forecasts)
    told = forecasts.told(ForecastCall())
    assert told.forecasts == ()
    assert told.reliability[0].outcomes == 1
    assert forecasts.reliability().by_p95 == 1


async def test_listing_and_standing_of_a_need_have_its_forecast() -> None:
    rig = shard_of(machine("m-1", S.IDLE))
    forecasts = forecasts_of(rig)
    wants(rig, 1)
    await forecast(rig, forecasts)
    ledger = rig.state.decision_loop.ledger
    (told,) = forecasts.told(ForecastCall()).forecasts
    (standing,) = ledger.standings("shop", forecasts=forecasts.forecasts).standings
    assert standing.forecast == told.brief
    listing = NeedRowBytes().listing(ledger, NeedQuery(), NeedSourcesTold(), forecasts.forecasts)
    (content,) = listing.rows
    row = NEED_ROW.record(NEED_ROW.message_type.FromString(content))
    assert row.state is not NeedState.MET
    assert row.forecast == told.brief


async def test_while_a_cycle_runs_nothing_is_forecast() -> None:
    rig = shard_of(machine("m-1", S.IDLE))
    forecasts = forecasts_of(rig)
    wants(rig, 1)
    forecasts.go_on()
    forecasts.hold()
    waiting = asyncio.create_task(forecasts.made())
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    assert not done
    assert not forecasts.forecasts
    forecasts.go_on()
    await waiting
    assert forecasts.forecasts


async def test_after_forecasts_that_took_long_there_is_a_rest() -> None:
    clock = [0.0]

    def took_a_second() -> float:
        clock[0] += 0.5
        return clock[0]

    rig = shard_of(machine("m-1", S.IDLE))
    forecasts = forecasts_of(rig, took_a_second)
    wants(rig, 1)
    await forecast(rig, forecasts)
    first = forecasts.told(ForecastCall()).cycle
    wants(rig, 2)
    await forecast(rig, forecasts)
    assert forecasts.told(ForecastCall()).cycle == first
    clock[0] += 60
    await forecast(rig, forecasts)
    assert forecasts.told(ForecastCall()).cycle > first


async def test_a_fault_of_forecasting_is_logged_and_begins_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = shard_of(machine("m-1", S.IDLE))
    forecasts = forecasts_of(rig)
    wants(rig, 1)

    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such thing")

    with monkeypatch.context() as patched:
        patched.setattr("bigfleet.forecast.book.ForecastBook.take", broken)
        await forecast(rig, forecasts)
    assert forecasts.told(ForecastCall()).cycle == 0
    await forecast(rig, forecasts)
    assert forecasts.told(ForecastCall()).forecasts


async def test_the_gauges_tell_paths_reliability_and_lag() -> None:
    rig, counts = shard_of(machine("m-1", S.IDLE)), Counts()
    forecasts = forecasts_of(rig)
    wants(rig, 1)
    await forecast(rig, forecasts)
    forecasts.measure(counts)
    assert counts.of("forecast_needs", path="prior") == 1
    assert counts.of("forecast_needs", path="create") == 0
    assert counts.of("forecasts_open") == 1
    assert counts.of("forecast_lag_seconds") == 0


@pytest.mark.parametrize(
    ("call", "needs"),
    [
        (ForecastCall(), ["shop", "ml"]),
        (ForecastCall("ml"), ["ml"]),
        (ForecastCall(limit=1), ["shop"]),
        (ForecastCall(limit=-1), []),
    ],
    ids=["all", "of a cluster", "the first", "none"],
)
async def test_an_answer_has_what_was_asked_for(
    call: ForecastCall, needs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forecasts = forecasts_of(shard_of(machine("m-1", S.IDLE)))
    monkeypatch.setattr(forecasts, "_report", forecast_answer.REPORT)
    told = forecasts.told(call)
    assert [each.need.cluster for each in told.forecasts] == needs
    assert told.reliability == forecast_answer.REPORT.reliability


async def test_a_living_shard_has_outcomes_soon() -> None:
    async with running(FAST) as fleet:
        await seen(fleet, is_served)
        (address,) = [fleet.addresses[name] for name in fleet.shards]
        async with ShardAdminClient(address) as shard:

            async def has_outcomes() -> bool:
                found = await shard.forecasts(ForecastCall())
                return bool(found.cycle and found.reliability[0].outcomes)

            await until_told(has_outcomes)
            found = await shard.forecasts(ForecastCall())
    assert found.samples > 0
