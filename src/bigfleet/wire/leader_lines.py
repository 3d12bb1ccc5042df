"""Calls to the leader of a coordinator, by way of any of its addresses.

One that does not lead names the leader, who is asked next; one that is not there, or does not
answer in its share of the time, is passed over for the next address. The last known leader is asked
first. A call whose answer was lost may be sent twice; every admin call may be repeated. Only what a
leader itself calls unclear is told at once: the caller has to look.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from bigfleet.model.coordinator_calls import NO_LEADER, UNCLEAR, NotLeader
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.client_line import ClientLine
from bigfleet.wire.lines import Metadata, TlsFiles

#: How a call ends that another replica may answer.
_ELSEWHERE = (
    Code.FAILED_PRECONDITION,
    Code.UNAVAILABLE,
    Code.DEADLINE_EXCEEDED,
    Code.CANCELLED,
)
#: Who names a leader that names another is asked again, but not for ever.
_MOST_TIMES = 2


class Search:
    """Whom to ask next; pure."""

    def __init__(self, addresses: Sequence[str], leader: str = "") -> None:
        """`leader`: the last known leader."""
        self._waiting = list(dict.fromkeys(filter(None, (leader, *addresses))))
        self._times: dict[str, int] = {}
        self._problems: dict[str, Rejected] = {}

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def next(self) -> str | None:
        if not self._waiting:
            return None
        address = self._waiting.pop(0)
        self._times[address] = self._times.get(address, 0) + 1
        return address

    def on_rejected(self, address: str, problem: Rejected) -> None:
        """Raises what no other replica could answer differently."""
        if problem.code not in _ELSEWHERE or problem.reason == UNCLEAR:
            raise problem
        before = self._problems.get(address)
        if before is None or before.code is Code.FAILED_PRECONDITION:
            self._problems[address] = problem
        leader = problem.leader if isinstance(problem, NotLeader) else ""
        if leader and self._times.get(leader, 0) < _MOST_TIMES:
            self._waiting = [leader, *(each for each in self._waiting if each != leader)]

    def verdict(self) -> Rejected:
        """After all replicas were asked."""
        codes = [problem.code for problem in self._problems.values()]
        real = [code for code in codes if code is not Code.FAILED_PRECONDITION]
        code = real[-1] if real else Code.UNAVAILABLE
        answered = len(real) < len(codes) or any(p.reason for p in self._problems.values())
        reason = NO_LEADER if answered else ""
        if len(self._problems) == 1:
            (problem,) = self._problems.values()
            return Rejected(code, problem.text, problem.reason or reason)
        each = "; ".join(f"{address}: {p.text or p.code}" for address, p in self._problems.items())
        return Rejected(code, f"none of the coordinators leads: {each}", reason)


class LeaderLines:
    def __init__(self, addresses: Sequence[str], tls: TlsFiles | None = None) -> None:
        assert addresses, "without an address there is no coordinator to ask"
        self._addresses = tuple(addresses)
        self._tls = tls
        self._leader = ""
        self._lines: dict[str, ClientLine] = {}

    def line(self, address: str) -> ClientLine:
        found = self._lines.get(address)
        if found is None:
            found = self._lines[address] = ClientLine(address, self._tls)
        return found

    async def call(
        self, path: str, request: bytes, deadline: float, metadata: Metadata = ()
    ) -> bytes:
        search, until = Search(self._addresses, self._leader), _now() + deadline
        while (address := search.next()) is not None:
            line = self.line(address)
            try:
                await _reached(line, (until - _now()) / (1 + search.waiting))
                # While others wait, a silent replica may not use up all of the time.
                share = (until - _now()) / (2 if search.waiting else 1)
                answer = await line.call(path, request, max(0.0, share), metadata)
            except Rejected as problem:
                search.on_rejected(address, problem)
            else:
                self._leader = address
                return answer
        self._leader = ""
        raise search.verdict()

    async def stream(
        self, path: str, request: bytes, deadline: float = 30.0
    ) -> AsyncGenerator[bytes, None]:
        """Frames for as long as they come; `deadline` is for finding who sends them."""
        search, until = Search(self._addresses, self._leader), _now() + deadline
        while (address := search.next()) is not None:
            line, began = self.line(address), False
            try:
                await _reached(line, (until - _now()) / (1 + search.waiting))
                async with aclosing(line.stream(path, request)) as frames:
                    async for frame in frames:
                        began, self._leader = True, address
                        yield frame
            except Rejected as problem:
                if began:
                    raise
                search.on_rejected(address, problem)
            else:
                return
        self._leader = ""
        raise search.verdict()

    async def close(self) -> None:
        for address in tuple(self._lines):
            await self._lines.pop(address).close()


async def _reached(line: ClientLine, seconds: float) -> None:
    """Raises Rejected for a line that stays silent; one that broke says so itself when called."""
    seconds = max(0.0, seconds)
    until = _now() + seconds
    if not await line.leads_somewhere(seconds) and _now() >= until:
        raise Rejected(Code.UNAVAILABLE, f"{line.address} does not answer")


def _now() -> float:
    """The loop's own clock: only shares of a deadline are told by it."""
    return asyncio.get_running_loop().time()
