"""Calls one provider: the six calls as answers, and polling until a machine is in a state.

A call never raises for a code; the row judges the answer. A Get that fails while polling is a lost
sample.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bigfleet.conformance.claims import Broken, NotServed, WentFailed, must, must_equal
from bigfleet.conformance.pace import Clock, Pace, Patience
from bigfleet.conformance.wirelog import Exchange, WireLog, said
from bigfleet.model.machines import MachineState
from bigfleet.model.machines import MachineState as S
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
    Token,
)

if TYPE_CHECKING:
    from bigfleet.wire.provider_client import ProviderClient

T = TypeVar("T")
#: Where a machine rests: the stable states, and the one nothing leads out of.
SETTLED = (*(state for state in S if state.stable), S.FAILED)


@dataclass(frozen=True, slots=True)
class Answer:
    """How one call ended."""

    method: str
    code: Code
    text: str = ""
    ack: Ack | None = None
    record: MachineRecord | None = None

    @property
    def ok(self) -> bool:
        return self.code is Code.OK

    @property
    def stale(self) -> bool:
        return self.code is Code.FAILED_PRECONDITION

    @property
    def operation_id(self) -> str:
        return self.ack.operation_id if self.ack else ""

    @property
    def machine(self) -> MachineRecord:
        """The record the answer carries."""
        record = self.ack.machine if self.ack else self.record
        if record is None:
            raise Broken(f"{self} carries no machine")
        return record

    def must_be(self, *codes: Code) -> "Answer":
        names = " or ".join(codes)
        must(self.code in codes, f"{self.method} must answer {names}; it answered {self}")
        return self

    def must_be_ok(self) -> "Answer":
        return self.must_be(Code.OK)

    def must_be_stale(self) -> "Answer":
        return self.must_be(Code.FAILED_PRECONDITION)

    def must_be_rejected(self) -> "Answer":
        """Any code but OK and FAILED_PRECONDITION, which means only a stale token."""
        must(
            not self.ok and not self.stale,
            f"{self.method} must be rejected, never as stale; it answered {self}",
        )
        return self

    def __str__(self) -> str:
        return f"{self.code} ({self.text})" if self.text else str(self.code)


@dataclass(frozen=True, slots=True)
class Listing:
    records: tuple[MachineRecord, ...]
    revision: bytes

    @property
    def ids(self) -> list[str]:
        return [record.id for record in self.records]

    def find(self, machine_id: str) -> MachineRecord:
        found = [record for record in self.records if record.id == machine_id]
        must(len(found) == 1, f"{machine_id} must be listed once; it is listed {len(found)} times")
        return found[0]

    def by_id(self) -> dict[str, MachineRecord]:
        return {record.id: record for record in self.records}


class Shards:
    """Names that no shard used before, and tokens that always move forward."""

    def __init__(self, tag: str, clock: Clock) -> None:
        self._tag, self._clock, self._count, self._sequence = tag, clock, 0, 0
        self._own = self.fresh()

    def fresh(self) -> str:
        self._count += 1
        return f"conf-{self._tag}-{self._clock.wall()}-{self._count}"

    def next_token(self) -> Token:
        self._sequence += 1
        return Token(self._own, 1, self._sequence)


class Caller:
    def __init__(
        self,
        client: "ProviderClient | None",
        clock: Clock,
        pace: Pace,
        shards: Shards,
        log: WireLog,
    ) -> None:
        self._client = client
        self.clock, self.pace, self.shards, self.log = clock, pace, shards, log
        self._began = clock.now()

    @property
    def client(self) -> "ProviderClient":
        if self._client is None:
            raise NotServed("no provider is running for this row")
        return self._client

    def on(self, client: "ProviderClient") -> "Caller":
        """The same caller on another connection or another boot."""
        return Caller(client, self.clock, self.pace, self.shards, self.log)

    async def create(self, machine_id: str, token: Token | None = None) -> Answer:
        call = CreateCall(machine_id, self._token(token))
        return await self._acked(
            "Create", call, lambda: self.client.create(call, self.pace.call_deadline)
        )

    async def configure(
        self,
        machine_id: str,
        cluster: str,
        metadata: Mapping[str, str] | None = None,
        token: Token | None = None,
        blob: bytes = b"#!bootstrap",
    ) -> Answer:
        call = ConfigureCall(machine_id, cluster, blob, self._token(token), dict(metadata or {}))
        return await self._acked(
            "Configure", call, lambda: self.client.configure(call, self.pace.call_deadline)
        )

    async def drain(self, machine_id: str, grace: int = 5, token: Token | None = None) -> Answer:
        call = DrainCall(machine_id, grace, self._token(token))
        return await self._acked(
            "Drain", call, lambda: self.client.drain(call, self.pace.call_deadline)
        )

    async def delete(self, machine_id: str, token: Token | None = None) -> Answer:
        call = DeleteCall(machine_id, self._token(token))
        return await self._acked(
            "Delete", call, lambda: self.client.delete(call, self.pace.call_deadline)
        )

    async def look(self, machine_id: str) -> Answer:
        """Get, as an answer."""
        try:
            record = await self._timed(
                "Get", machine_id, lambda: self.client.get(machine_id, self.pace.call_deadline)
            )
        except Rejected as rejected:
            return Answer("Get", rejected.code, rejected.text)
        return Answer("Get", Code.OK, record=record)

    async def get(self, machine_id: str) -> MachineRecord:
        return (await self.look(machine_id)).must_be_ok().machine

    async def listing(
        self, states: Sequence[MachineState] = (), cap: int = 0, since: bytes = b""
    ) -> Listing:
        call = ListCall(tuple(states), cap, since)
        try:
            records, revision = await self._timed("List", call, lambda: self.client.list(call))
        except Rejected as rejected:
            raise Broken(f"List({call}) must answer; it answered {rejected}") from rejected
        return Listing(records, revision)

    async def settles(
        self, machine_id: str, state: MachineState, within: float = 15.0
    ) -> MachineRecord:
        """The record once the machine is in `state`; broken if that takes longer than `within`."""
        record = await self.reaches(machine_id, (state, S.FAILED), self.pace.limit(within), state)
        if record.state is not state:
            raise WentFailed(
                f"{machine_id} must reach {state.name}; it went to FAILED ({record.last_error})"
            )
        return record

    async def settles_anywhere(self, machine_id: str, within: float = 15.0) -> MachineRecord:
        """The record once the machine is in a state that is not transitional."""
        return await self.reaches(machine_id, SETTLED, self.pace.limit(within))

    async def reaches(
        self,
        machine_id: str,
        states: Sequence[MachineState],
        seconds: float,
        *wanted: MachineState,
    ) -> MachineRecord:
        """The record once the machine is in one of `states`; `wanted` are those hoped for."""
        patience = self.patience(seconds)
        while True:
            answer = await self.look(machine_id)
            if answer.ok and answer.machine.state in states:
                return answer.machine
            if patience.spent():
                names = " or ".join(state.name for state in wanted or states)
                seen = answer.machine.state.name if answer.ok else str(answer)
                raise Broken(f"{machine_id} must be {names} within {seconds:g} s; it is {seen}")
            await self.clock.sleep(self.pace.poll)

    def patience(self, seconds: float) -> Patience:
        return Patience(self.clock, self.pace, seconds)

    async def holds(
        self, machine_id: str, state: MachineState, window: float, *, closely: bool = False
    ) -> MachineRecord:
        """The last record of a window in which the machine must not leave `state`.

        Closely: often enough to catch a transitional state in passing.
        """
        pause = self.pace.watch if closely else self.pace.poll / 2
        end = self.clock.now() + window
        record = await self.get(machine_id)
        while True:
            must_equal(record.state, state, f"state of {machine_id} while it must rest")
            if self.clock.now() >= end:
                return record
            await self.clock.sleep(pause)
            answer = await self.look(machine_id)
            record = answer.machine if answer.ok else record

    @asynccontextmanager
    async def traced(self, machine_id: str) -> AsyncIterator[list[MachineRecord]]:
        """Samples of the machine at the watching rate while the block runs, changes only."""
        samples: list[MachineRecord] = []

        async def watch() -> None:
            while True:
                answer = await self.look(machine_id)
                if answer.ok and (not samples or samples[-1] != answer.machine):
                    samples.append(answer.machine)
                await self.clock.sleep(self.pace.watch)

        watching = asyncio.create_task(watch())
        try:
            yield samples
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def all_at_once(self, calls: Sequence[Awaitable[Answer]]) -> list[Answer]:
        return list(await asyncio.gather(*calls))

    def _token(self, token: Token | None) -> Token:
        return self.shards.next_token() if token is None else token

    async def _acked(self, method: str, call: object, send: Callable[[], Awaitable[Ack]]) -> Answer:
        try:
            ack = await self._timed(method, call, send)
        except Rejected as rejected:
            return Answer(method, rejected.code, rejected.text)
        return Answer(method, Code.OK, ack=ack)

    async def _timed(self, method: str, call: object, send: Callable[[], Awaitable[T]]) -> T:
        began = self.clock.now()
        try:
            response = await send()
        except Rejected as rejected:
            self._note(began, method, call, rejected.code, rejected.text)
            raise
        self._note(began, method, call, Code.OK, response)
        return response

    def _note(self, began: float, method: str, call: object, code: Code, response: object) -> None:
        took = self.clock.now() - began
        self.log.add(Exchange(began - self._began, method, call, code, said(response), took))
