"""The what-ifs of a shard are answered by processes of their own, two at once."""

import asyncio

import pytest

from bigfleet.journal.recorder import FinishedCycle, Recorder
from bigfleet.model.latencies import latencies_of
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import NeedSelector, RemoveMachines, ScaleDemand, WhatIfCall
from bigfleet.shard.driving import what_ifs
from bigfleet.shard.driving.what_ifs import MOST_RUNNING, WhatIfs
from bigfleet.shard.what_if_worker import answered
from bigfleet.whatif.comparing import once
from bigfleet.whatif.settled import settle
from bigfleet.wire.what_ifs import call_bytes, read_answer
from tests.journal.lives import LivingFleet

LOSS = RemoveMachines(MachineSelector(zones=frozenset({"a"})))


@pytest.fixture
def finished() -> FinishedCycle:
    return list(LivingFleet(7).cycles(4))[-1]


def test_a_worker_answers_as_the_engine_does_here(finished: FinishedCycle) -> None:
    records = Recorder("shard-0", 3, "0").record(finished)
    request = call_bytes(WhatIfCall(0, (LOSS,)))
    code, content = answered({"name": "3:4"}, [request, *records])
    assert code == ""
    assert read_answer(content) == once(finished.given, (LOSS,), "3:4")


def test_a_worker_settles_the_fleet_as_it_is_settled_here(finished: FinishedCycle) -> None:
    records = Recorder("shard-0", 3, "0").record(finished)
    latencies = latencies_of({"create": "7s"})
    call = WhatIfCall(0, (LOSS,), settle=True, latencies=latencies)
    code, content = answered({"name": "3:4"}, [call_bytes(call), *records])
    assert code == ""
    assert read_answer(content) == settle(finished.given, (LOSS,), "3:4", latencies)


def test_what_cannot_be_applied_is_an_invalid_argument(finished: FinishedCycle) -> None:
    records = Recorder("shard-0", 3, "0").record(finished)
    request = call_bytes(WhatIfCall(0, (ScaleDemand(NeedSelector("nowhere"), 2.0),)))
    code, content = answered({"name": "3:4"}, [request, *records])
    assert code == "INVALID_ARGUMENT"
    assert b"cluster nowhere asks for nothing in this cycle" in content


def test_a_cycle_that_is_not_kept_is_out_of_range(tmp_path: object) -> None:
    place = {"journal": str(tmp_path), "epoch": 3, "cycle": 9}
    code, _ = answered(place, [call_bytes(WhatIfCall(9))])
    assert code == "OUT_OF_RANGE"


async def test_without_a_journal_only_the_latest_cycle_is_answered(
    finished: FinishedCycle,
) -> None:
    with pytest.raises(Rejected) as rejected:
        await WhatIfs("shard-0", 3, None).answer(WhatIfCall(2), finished)
    assert rejected.value.code is Code.OUT_OF_RANGE


async def test_a_third_question_is_turned_away(
    finished: FinishedCycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that hang up make room for others."""
    begun = asyncio.Semaphore(0)

    async def never() -> None:
        begun.release()
        await asyncio.Event().wait()

    monkeypatch.setattr(what_ifs, "_started", never)
    running = WhatIfs("shard-0", 3, None)
    asking = [
        asyncio.create_task(running.answer(WhatIfCall(), finished)) for _ in range(MOST_RUNNING)
    ]
    for _ in asking:
        await begun.acquire()
    with pytest.raises(Rejected) as rejected:
        await running.answer(WhatIfCall(), finished)
    assert rejected.value.code is Code.RESOURCE_EXHAUSTED
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    again = asyncio.create_task(running.answer(WhatIfCall(), finished))
    await begun.acquire()
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_a_process_is_asked_and_kept_for_the_next_question(finished: FinishedCycle) -> None:
    asked = WhatIfs("shard-0", 3, None)
    expected = once(finished.given, (LOSS,), f"3:{finished.given.cycle}")
    try:
        for _ in range(2):
            assert await asked.answer(WhatIfCall(0, (LOSS,)), finished) == expected
    finally:
        await asked.close()
