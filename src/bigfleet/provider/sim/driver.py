"""Drives the substrate: calls and time become events, instructions become results and signals.

It decides nothing. One timer waits for what the substrate has to do next; work that is due now is
done in the next turn of the loop, never inside the call that began it.
"""

import asyncio
from typing import Protocol

from bigfleet.edge.clock import SECOND, Clock, Timer
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.backend import (
    CapacityUnavailable,
    DescribeNow,
    Gone,
    HostGone,
    Interruption,
    OfferingKey,
    Operation,
    Permanent,
    Price,
    PriceChanged,
    PriceTable,
    QuotaExceeded,
    Retryable,
    Signal,
)
from bigfleet.provider.sim.world.events import (
    Command,
    Event,
    Failure,
    Finish,
    HostAdopted,
    Instruction,
    Redescribe,
    Refuse,
    ReportGone,
    Reprice,
    RunOutside,
    Step,
    StepAbandoned,
    StepAsked,
    TimePassed,
    WarnOfEnd,
)
from bigfleet.provider.sim.world.state import EventLog, Substrate
from bigfleet.provider.sim.world.step import next_due, step
from bigfleet.provider.sim.world.supply import SimPool


class OutsideVerbs(Protocol):
    def run_outside(self, command: Command) -> None:
        """Carries out what a script says about the process or the clock."""
        ...


class Driver:
    def __init__(
        self, substrate: Substrate, clock: Clock, log: EventLog, outside: OutsideVerbs
    ) -> None:
        self.substrate = substrate
        self.clock = clock
        self.log = log
        self.signals: asyncio.Queue[Signal] = asyncio.Queue()
        self._outside = outside
        self._results: dict[tuple[Step, str], asyncio.Future[str]] = {}
        self._timer: Timer | None = None
        self._timer_at: int | None = None
        self._turn: asyncio.Handle | None = None

    def tell(self, event: Event) -> list[Instruction]:
        """The substrate changes by `event`; what it asks for is done, its answers are returned."""
        instructions = step(self.substrate, event)
        for instruction in instructions:
            self._carry(instruction)
        if self.substrate.notes:
            self.log.add(self.substrate.take_notes())
        self._arm()
        return instructions

    async def perform(self, wanted: Step, op: Operation) -> str:
        """Runs a step of an operation to its end; gives the host's ref."""
        key = (wanted, op.operation_id)
        result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._results[key] = result
        self.tell(
            StepAsked(
                wanted,
                op.machine.id,
                op.operation_id,
                self.clock.now(),
                op.cluster_id,
                op.grace_period_seconds,
                op.attempt,
            )
        )
        try:
            return await result
        finally:
            if self._results.get(key) is result:
                del self._results[key]
            if result.cancelled():
                self.tell(StepAbandoned(wanted, op.operation_id, self.clock.now()))

    def adopt(self, record: MachineRecord, *, bound: bool) -> None:
        ref = record.host.ref if record.host else ""
        cluster = record.cluster if bound else ""
        price = record.price_per_hour
        self.tell(HostAdopted(record.id, self.clock.now(), ref, cluster, price))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._turn is not None:
            self._turn.cancel()

    def _arm(self) -> None:
        due = next_due(self.substrate)
        if due is not None and due <= self.clock.now():
            if self._turn is None:
                self._turn = asyncio.get_running_loop().call_soon(self._next_turn)
            return
        if due == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, due
        if due is not None:
            self._timer = self.clock.call_later((due - self.clock.now()) / SECOND, self._time_up)

    def _next_turn(self) -> None:
        self._turn = None
        self.tell(TimePassed(self.clock.now()))

    def _time_up(self) -> None:
        self._timer = self._timer_at = None
        self.tell(TimePassed(self.clock.now()))

    def _carry(self, instruction: Instruction) -> None:
        match instruction:
            case Finish():
                self._end(instruction.step, instruction.operation, instruction.host_ref)
            case Refuse():
                self._end(instruction.step, instruction.operation, error_of(instruction))
            case WarnOfEnd(machine, ends_at):
                self.signals.put_nowait(Interruption(machine, ends_at))
            case ReportGone(machine, text):
                self.signals.put_nowait(Gone(machine, text))
            case Reprice(pool):
                self.signals.put_nowait(
                    PriceChanged(prices_of_pool(self.substrate.supply.pools[pool]))
                )
            case Redescribe():
                self.signals.put_nowait(DescribeNow())
            case RunOutside(command):
                self._outside.run_outside(command)
            case _:
                pass  # Reply, Show and Treat answer the one who told the event

    def _end(self, wanted: Step, operation: str, end: str | Exception) -> None:
        result = self._results.get((wanted, operation))
        if result is None or result.done():
            return
        if isinstance(end, str):
            result.set_result(end)
        else:
            result.set_exception(end)


def prices_of_pool(pool: SimPool) -> PriceTable:
    offering = pool.offering
    key = OfferingKey(offering.instance_type, offering.zone, offering.capacity_type)
    return PriceTable({key: Price(pool.price, pool.probability)})


def error_of(refuse: Refuse) -> Exception:
    text, after = refuse.text, refuse.after_seconds
    match refuse.failure:
        case Failure.STOCKOUT:
            return CapacityUnavailable(text, after)
        case Failure.QUOTA:
            return QuotaExceeded(text, after)
        case Failure.RETRYABLE:
            return Retryable(text, after)
        case Failure.GONE:
            return HostGone(text)
        case Failure.ERROR | Failure.TIMEOUT:
            return Permanent(text)
