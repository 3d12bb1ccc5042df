"""Transfers as a fleet hears of them, over the calls everybody has."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from bigfleet.edge.clock import ManualClock, settle
from bigfleet.edge.logs import NullLog
from bigfleet.model.coordination import CoordinatorEvent, Transfer, TransferState, TransferTier
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.up.owner_watch import TransferLog

S = TransferState
MOVE = Transfer("1-6", TransferTier.IDLE, "shard-1", "shard-0", S.OFFERED, ("m1",), reason="short")


class FakeCoordinator:
    """Transfers as a test wants them, and an event whenever it says so."""

    def __init__(self, *listed: Transfer) -> None:
        self.listed: tuple[Transfer, ...] = listed
        self._events: asyncio.Queue[CoordinatorEvent | Rejected] = asyncio.Queue()

    async def transfers(self, include_finished: bool = False, limit: int = 0) -> Sequence[Transfer]:
        return [each for each in self.listed if include_finished or each.state.open]

    async def events(
        self, from_revision: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[CoordinatorEvent, None]:
        while True:
            event = await self._events.get()
            if isinstance(event, Rejected):
                raise event
            yield event

    def becomes(self, *listed: Transfer, kind: str = "transfer") -> None:
        self.listed = listed
        self._events.put_nowait(CoordinatorEvent(1, 0, 1, kind, "1-6", "something happened"))

    def hangs_up(self) -> None:
        self._events.put_nowait(Rejected(Code.UNAVAILABLE, "gone"))


class Listener:
    def __init__(self, coordinator: FakeCoordinator) -> None:
        self.clock = ManualClock()
        self.heard: list[tuple[str, TransferState]] = []
        moves = TransferLog(coordinator, self.clock, NullLog())
        self._following = asyncio.create_task(
            moves.follow(lambda each: self.heard.append((each.id, each.state)))
        )

    async def __aenter__(self) -> "Listener":
        await settle()
        return self

    async def __aexit__(self, *_failure: object) -> None:
        self._following.cancel()
        await asyncio.wait({self._following})


async def test_every_state_is_told_once() -> None:
    coordinator = FakeCoordinator()
    async with Listener(coordinator) as listener:
        for state in (S.OFFERED, S.OFFERED, S.RELEASING, S.GRANTED, S.DONE, S.DONE):
            coordinator.becomes(replace(MOVE, state=state))
            await settle()
    states = [state for _, state in listener.heard]
    assert states == [S.OFFERED, S.RELEASING, S.GRANTED, S.DONE]


async def test_a_grant_is_told_even_where_it_was_over_before_the_watch_looked() -> None:
    coordinator = FakeCoordinator()
    async with Listener(coordinator) as listener:
        coordinator.becomes(replace(MOVE, state=S.DONE))
        await settle()
    assert [state for _, state in listener.heard] == [S.GRANTED, S.DONE]


async def test_what_moved_in_an_earlier_life_is_not_told() -> None:
    coordinator = FakeCoordinator(replace(MOVE, id="1-2", state=S.DONE))
    async with Listener(coordinator) as listener:
        coordinator.becomes(MOVE, *coordinator.listed)
        await settle()
    assert listener.heard == [("1-6", S.OFFERED)]


async def test_other_events_are_no_reason_to_look() -> None:
    coordinator = FakeCoordinator()
    async with Listener(coordinator) as listener:
        coordinator.becomes(MOVE, kind="admin")
        await settle()
    assert listener.heard == []


async def test_a_line_that_breaks_is_taken_up_again() -> None:
    coordinator = FakeCoordinator()
    async with Listener(coordinator) as listener:
        coordinator.hangs_up()
        await settle()
        await listener.clock.advance(1.0)
        coordinator.becomes(MOVE)
        await settle()
    assert listener.heard == [("1-6", S.OFFERED)]
