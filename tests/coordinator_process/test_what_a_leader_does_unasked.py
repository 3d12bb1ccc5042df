"""The second and the sweeps: each in its time, one at a time, and none that fails is the last."""

from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import expiries
from bigfleet.coordinator.rebalancing import quotas, sweeps
from bigfleet.coordinator.settings import RebalanceSettings
from bigfleet.coordinator.stores.contract import Leader, Store
from bigfleet.coordinator.tables import ProviderRow
from bigfleet.edge.clock import Clock, ManualClock
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_admin import PauseCall
from tests.coordinator_process.memory_store import Fault, MemoryStore, SharedRows
from tests.coordinator_process.rig import ADA, QUICK, CoordinatorRig, coordinated
from tests.shard_system.waiting import until


class InMemory:
    """A store of its own for each coordinator."""

    def __init__(self) -> None:
        self.stores: list[MemoryStore] = []

    def of(self, settings: object, me: Leader, clock: Clock) -> Store:
        self.stores.append(MemoryStore(SharedRows(), me, clock))
        return self.stores[-1]


class CountingSweep:
    """Stands in for a sweep, and counts."""

    def __init__(self, *problems: Exception | None) -> None:
        self.times = 0
        self._problems = problems

    def __call__(self, book: Book, draft: Draft) -> None:
        self.times += 1
        draft.providers.put(ProviderRow(f"p{self.times}", "nowhere"))
        problem = self._problems[self.times - 1] if self.times <= len(self._problems) else None
        if problem is not None:
            raise problem


async def names(rig: CoordinatorRig) -> set[str]:
    return {name for (name,) in rig.process.leading.book().tables.providers.rows}


async def test_a_sweep_that_fails_is_logged_and_the_next_one_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = CountingSweep(None, ZeroDivisionError("oh"), Rejected(Code.NOT_FOUND, "gone"))
    monkeypatch.setattr(sweeps.Sweep, "piece", swept)
    clock = ManualClock()
    settings = replace(QUICK, rebalance=RebalanceSettings(interval=Seconds(10.0)))
    async with coordinated(tmp_path, settings, clock=clock, store=InMemory().of) as rig:
        for _ in range(4):
            await clock.advance(10)
        await until(lambda: swept.times == 4)
        assert await names(rig) == {"p1", "p4"}
        said = [line["msg"] for line in rig.log.events("coordinator.duty")]
        assert said == ["rebalance failed: ZeroDivisionError('oh')", "rebalance: NOT_FOUND: gone"]
        assert rig.process.leading.leads


async def test_a_sweep_goes_on_until_its_last_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[object] = []

    def piece(sweep: object, book: Book, draft: Draft) -> bool:
        pieces.append(sweep)
        return len(pieces) % 3 == 0

    monkeypatch.setattr(sweeps.Sweep, "piece", piece)
    clock = ManualClock()
    settings = replace(QUICK, rebalance=RebalanceSettings(interval=Seconds(10.0)))
    async with coordinated(tmp_path, settings, clock=clock, store=InMemory().of):
        await clock.advance(15)
        await until(lambda: len(pieces) == 3)
        await clock.advance(10)
        await until(lambda: len(pieces) == 6)
    assert [pieces.index(each) for each in pieces] == [0, 0, 0, 3, 3, 3]


async def test_every_second_what_passes_with_time_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, taken_back, settled = CountingSweep(), CountingSweep(), CountingSweep()
    monkeypatch.setattr(expiries, "tick", ticks)
    monkeypatch.setattr(quotas, "tick", taken_back)
    monkeypatch.setattr(sweeps, "settle", settled)
    clock = ManualClock()
    async with coordinated(tmp_path, clock=clock, store=InMemory().of):
        await clock.advance(5)
        await until(lambda: (ticks.times, taken_back.times, settled.times) == (5, 5, 5))


async def test_a_pause_of_the_fleet_ends_by_itself(tmp_path: Path) -> None:
    clock = ManualClock()
    async with coordinated(tmp_path, clock=clock, store=InMemory().of) as rig:
        await rig.client.pause(PauseCall(ADA, ttl_seconds=60))
        assert (await rig.client.status(rig.address)).rebalance_paused
        await clock.advance(62)
        assert not (await rig.client.status(rig.address)).rebalance_paused
        await until(lambda: not rig.process.leading.book().tables.pauses.rows)


async def test_what_cannot_be_written_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept, stores, clock = CountingSweep(), InMemory(), ManualClock()
    monkeypatch.setattr(sweeps.Sweep, "piece", swept)
    async with coordinated(tmp_path, clock=clock, store=stores.of) as rig:
        stores.stores[0].fault = Fault.DOWN
        await clock.advance(10)
        await until(lambda: swept.times == 1)
        assert await names(rig) == set()
        stores.stores[0].fault = None
        await clock.advance(10)
        await until(lambda: swept.times == 2)
        assert await names(rig) == {"p2"}


async def test_settings_that_are_read_again_reach_the_book(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        off = replace(rig.process.leading.settings, rebalance=RebalanceSettings(enabled=False))
        rig.process.apply_settings(off)
        assert not rig.process.leading.book().settings.rebalance.enabled
