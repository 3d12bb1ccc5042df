"""Calls to providers: numbered, measured, and each answer brought to the part that asked.

Keeps one law for all parts: at most one call per machine is without an answer, reads included. A
part that wants to call asks `is_busy` first.
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
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
from bigfleet.model.shard_views import ProviderCalls
from bigfleet.shard.effects import Effects
from bigfleet.shard.events import CallAnswered
from bigfleet.shard.instructions import CallProvider, GetCall

#: Ended calls older than that say nothing of how a provider is now.
WINDOW_SECONDS = 300
#: Of one provider: beyond that the window is shorter, and says so.
MOST_KEPT = 2_000
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


@dataclass(frozen=True, slots=True)
class _Ended:
    at: Instant
    seconds: float
    is_failed: bool


class Calls:
    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        #: All and only the calls without an answer, by number.
        self._asked: dict[int, _Asked] = {}
        #: Machines of those calls.
        self._busy: set[str] = set()
        self._last = 0
        #: By provider, the oldest first.
        self._ended: defaultdict[str, deque[_Ended]] = defaultdict(lambda: deque(maxlen=MOST_KEPT))

    def __len__(self) -> int:
        return len(self._asked)

    def is_busy(self, machine: str) -> bool:
        return machine in self._busy

    def recent(self, provider: str, now: Instant) -> ProviderCalls | None:
        """None: no call has ended within the window (ruling S87)."""
        kept = self._ended[provider]
        while kept and now - kept[0].at > WINDOW_SECONDS * SECOND:
            kept.popleft()
        if not kept:
            return None
        times = sorted(each.seconds for each in kept if not each.is_failed)
        window = WINDOW_SECONDS
        if len(kept) == MOST_KEPT:
            window = max(1, round((now - kept[0].at) / SECOND))
        failed = len(kept) - len(times)
        return ProviderCalls(
            window, len(kept), failed, _quantile(times, 0.50), _quantile(times, 0.95)
        )

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
        rejected = event.answer if isinstance(event.answer, Rejected) else None
        self._ended[provider].append(_Ended(event.at, seconds, rejected is not None))
        if rejected is not None:
            code = rejected.code.value
            counts.add("provider_rpc_errors_total", provider=provider, rpc=rpc, code=code)


def _quantile(ascending: Sequence[float], share: float) -> float:
    """The value that this share does not exceed; 0: there is none."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)] if ascending else 0.0
