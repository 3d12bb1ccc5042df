"""The lines to the providers: Lists at their time, calls as the state asks for them.

A List is read in a thread; only what differs from the last one comes back to the loop. Every call
ends in exactly one event.
"""

import asyncio
from collections.abc import Callable, Mapping

from bigfleet.edge.clock import Clock, next_turn
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Rejected,
)
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.driving.sessions import SessionLines
from bigfleet.shard.events import CallAnswered, ListArrived, ListFailed
from bigfleet.shard.instructions import CallProvider, GetCall
from bigfleet.shard.reconciling.list_reading import read_list
from bigfleet.shard.state import ShardState
from bigfleet.wire.provider_client import ProviderClient


class ProviderLines:
    def __init__(
        self,
        state: ShardState,
        outlet: Outlet,
        sessions: SessionLines,
        clients: Mapping[str, ProviderClient],
        stopwatch: Callable[[], float],
    ) -> None:
        self._state = state
        self._outlet = outlet
        self._sessions = sessions
        self._stopwatch = stopwatch
        self._clients = dict(clients)
        #: Of providers that were attached later.
        self._following: set[asyncio.Task[None]] = set()
        #: All and only the calls without an answer.
        self._calls: set[asyncio.Task[None]] = set()
        #: Done when the answer to a call could not be handled.
        self._broken: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._clients)

    def call(self, asked: CallProvider) -> None:
        task = asyncio.create_task(self._called(asked))
        self._calls.add(task)
        task.add_done_callback(self._ended)

    def attach(self, name: str, client: ProviderClient) -> None:
        """One more, while the shard runs."""
        self._clients[name] = client
        task = asyncio.create_task(self.follow(name), name=f"reconcile {name}")
        self._following.add(task)
        task.add_done_callback(self._ended)

    async def until_broken(self) -> None:
        """Raises what a call raised: an answer that is lost leaves its machine busy for ever."""
        raise await self._broken

    async def settled(self, seconds: float) -> None:
        """Returns when every call has its answer, or the time is over."""
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=seconds)

    async def close(self) -> None:
        running = self._calls | self._following
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        for client in self._clients.values():
            await client.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None and not self._broken.done():
            self._broken.set_result(problem)

    async def follow(self, name: str) -> None:
        """Lists one provider for ever; never two Lists at once."""
        clock = self._outlet.clock
        while True:
            await _until(self._state.next_list(name, clock.now()).due, clock)
            # Planned anew: a view that came meanwhile asks for a whole List.
            plan = self._state.next_list(name, clock.now())
            begun = await self._list(name, plan.since_revision, whole=plan.whole)
            rest = await self._take_over_rest(name)
            if begun is not None:
                self._state.phase_took("reconcile", begun + rest)
            if self._state.listed_once():
                self._sessions.open_to_all()

    async def _take_over_rest(self, name: str) -> float:
        """In pieces, between which others have their turn; the seconds of all of them."""
        spent, more = 0.0, True
        while more:
            began = self._stopwatch()
            more = self._state.continue_list(name)
            self._outlet.obey(self._state.taken())
            spent += self._stopwatch() - began
            if more:
                await next_turn()
        return spent

    async def _list(self, name: str, since_revision: bytes, *, whole: bool) -> float | None:
        """How many seconds its first piece took; None: the List failed."""
        outlet, state = self._outlet, self._state
        started = outlet.now()
        known = state.known_machines(name)
        asked = ListCall(since_revision=since_revision)
        timeout = state.settings.execute.list_timeout
        try:
            content = await self._clients[name].list_bytes(asked, timeout)
            reading = await asyncio.to_thread(read_list, content, known, whole=whole)
        except Rejected as problem:
            outlet.obey(state.handle(ListFailed(name, problem, outlet.now())))
        except ValueError as problem:
            unread = Rejected(Code.INTERNAL, f"the List cannot be read: {problem}")
            outlet.obey(state.handle(ListFailed(name, unread, outlet.now())))
        else:
            began = self._stopwatch()
            event = ListArrived(name, reading, whole, started, outlet.now())
            outlet.obey(state.handle(event))
            return self._stopwatch() - began
        return None

    async def _called(self, asked: CallProvider) -> None:
        client, timeout = self._clients[asked.provider], asked.timeout_seconds
        answer: Ack | MachineRecord | Rejected
        try:
            match asked.call:
                case CreateCall() as call:
                    answer = await client.create(call, timeout)
                case ConfigureCall() as call:
                    answer = await client.configure(call, timeout)
                case DrainCall() as call:
                    answer = await client.drain(call, timeout)
                case DeleteCall() as call:
                    answer = await client.delete(call, timeout)
                case GetCall(machine_id):
                    answer = await client.get(machine_id, timeout)
        except Rejected as problem:
            answer = problem
        self._outlet.obey(self._state.handle(CallAnswered(asked, answer, self._outlet.now())))


async def _until(due: Instant, clock: Clock) -> None:
    left = (due - clock.now()) / SECOND
    await clock.sleep(max(0.0, left))
