"""What the coordinator's client is given of a running shard.

Nothing here decides: an answer goes to disk, what it asks for is looked up beside the event loop,
and only then the state takes it over.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import CoordinatorInstruction, Obeyed, ShardReport
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.effects import MARKS
from bigfleet.shard.ledgers.summaries import summary_of
from bigfleet.shard.state import ShardState
from bigfleet.shard.store import StateStore


class Addressed(Protocol):
    @property
    def address(self) -> str:
        """What others are told; its port is known once it listens."""
        ...


class CoordinatorSide:
    def __init__(
        self, state: ShardState, outlet: Outlet, store: StateStore, process: Addressed
    ) -> None:
        self._state = state
        self._outlet = outlet
        self._store = store
        self._process = process

    def marks(self) -> Mapping[str, bytes]:
        """What was kept of an earlier life."""
        return self._store.rows.get(MARKS, {})

    async def keep(self, key: str, value: bytes) -> None:
        """Returns when it is on disk, which may be never; OSError where it cannot be any more."""
        self._store.write(MARKS, key, value)
        await asyncio.wrap_future(self._store.synced())

    async def report(self) -> ShardReport:
        """The report of this moment, without acknowledgements."""
        state = self._state
        settings, address = state.settings, self._process.address
        at, cycle = self._outlet.now(), state.decision_loop.number
        provider = next((each.rpartition("=")[2] for each in settings.provider_addr), "")
        snapshot = state.parts.machines.inventory.snapshot()
        # Both look at everything there may be: not on the event loop.
        summary = await asyncio.to_thread(summary_of, snapshot, provider)
        limit = settings.report.shortfall_limit
        shortfalls = await asyncio.to_thread(state.parts.shortfalls.rows, limit)
        return ShardReport(settings.id, cycle, at, state.epoch, address, summary, shortfalls)

    async def sync_request(self, merging: bool) -> SyncRequest:
        state = self._state
        limit = state.settings.report.shortfall_limit
        shortfalls = await asyncio.to_thread(state.parts.shortfalls.details, limit)
        return state.coordination.request(self._outlet.now(), merging, shortfalls)

    async def take_sync(self, reply: SyncReply, sent: SyncRequest) -> None:
        """Returns when the reply is on disk and taken over; OSError where it cannot be kept."""
        coordination = self._state.coordination
        rows = await asyncio.to_thread(coordination.rows_of, reply, sent)
        for table, key, row in rows:
            self._store.write(table, key, row)
        if rows:
            await asyncio.wrap_future(self._store.synced())
        found = {
            each.request.transfer: await asyncio.to_thread(each.run)
            for each in coordination.surveys(reply)
        }
        outlet = self._outlet
        outlet.obey(self._state.take_sync(reply, sent, outlet.now(), found))

    def obey(self, instruction: CoordinatorInstruction) -> Obeyed:
        """What it changed is on its way to disk, before any row that is kept after it."""
        became, asked = self._state.obey(instruction, self._outlet.now())
        self._outlet.obey(asked)
        return became
