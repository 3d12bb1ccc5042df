"""Calls to providers: numbered, measured, and each answer brought to the part that asked.

Keeps one law for all parts: at most one call per machine is without an answer, reads included. A
part that wants to call asks `is_busy` first.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import (
    Ack,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.shard.effects import Effects
from bigfleet.shard.events import CallAnswered
from bigfleet.shard.instructions import CallProvider, GetCall

Answer = Ack | MachineRecord | Rejected
#: What is done with an answer.
Then = Callable[[Answer, Instant], None]

_RPC_OF_CALL: dict[type, str] = {
    CreateCall: "Create",
    ConfigureCall: "Configure",
    DrainCall: "Drain",
    DeleteCall: "Delete",
    GetCall: "Get",
}


@dataclass(frozen=True, slots=True)
class _Asked:
    machine: str
    at: Instant
    then: Then


class Calls:
    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        #: All and only the calls without an answer, by number.
        self._asked: dict[int, _Asked] = {}
        #: Machines of those calls.
        self._busy: set[str] = set()
        self._last = 0

    def __len__(self) -> int:
        return len(self._asked)

    def is_busy(self, machine: str) -> bool:
        return machine in self._busy

    def ask(
        self, provider: str, call: Mutation | GetCall, seconds: float, at: Instant, then: Then
    ) -> None:
        """`driving/outlet.py` `Outlet.obey` makes the call; `then` is told its answer."""
        machine = call.machine_id
        assert machine not in self._busy, f"a call for {machine} is without an answer"
        self._last += 1
        self._asked[self._last] = _Asked(machine, at, then)
        self._busy.add(machine)
        self._effects.ask(CallProvider(self._last, provider, call, seconds))

    def on_answer(self, event: CallAnswered) -> bool:
        """Whether the answer was awaited; a second one to the same call is not."""
        asked = self._asked.pop(event.call.number, None)
        if asked is None:
            return False
        self._busy.discard(asked.machine)
        self._measure(event, asked)
        asked.then(event.answer, event.at)
        return True

    def _measure(self, event: CallAnswered, asked: _Asked) -> None:
        counts, provider = self._effects.counts, event.call.provider
        rpc = _RPC_OF_CALL[type(event.call.call)]
        seconds = max(0, event.at - asked.at) / SECOND
        counts.observe("provider_rpc_seconds", seconds, provider=provider, rpc=rpc)
        if isinstance(event.answer, Rejected):
            code = event.answer.code.value
            counts.add("provider_rpc_errors_total", provider=provider, rpc=rpc, code=code)
