"""The lines between processes: calls and streams that are slow, lost, doubled, or cut.

A process is named as in a scenario: `operator/shop`, `shard/shard-0`, `provider/sim`. A stream
keeps its order and loses nothing while it stands, as TCP does; it breaks when it is cut, and its
ends notice that at different times. Calls know no order: each is on its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.simulation.schedule import Schedule

T = TypeVar("T")

#: Of one way, on a good day.
_FASTEST, _SLOWEST = 0.0002, 0.003
#: A peer that says nothing is given up after about so many seconds.
_KEEPALIVE = (8.0, 20.0)
#: Between two tries to reach a process that is not there.
_REFUSED_SECONDS = 0.01
_LOST = Rejected(Code.DEADLINE_EXCEEDED, "no answer came in time")


@dataclass(slots=True)
class LinkFaults:
    """Of all lines between two processes; they add up while several are in force."""

    cuts: int = 0
    delays: list[tuple[float, float]] = field(default_factory=list)
    drops: list[float] = field(default_factory=list)
    duplicates: list[float] = field(default_factory=list)
    #: Calls may be held back for so many seconds.
    reorders: list[float] = field(default_factory=list)


class Network:
    def __init__(self, schedule: Schedule, chance: Random) -> None:
        self.schedule = schedule
        self.chance = chance
        self._faults: dict[frozenset[str], LinkFaults] = {}
        self._streams: list[Stream] = []

    def faults(self, one: str, other: str) -> LinkFaults:
        return self._faults.setdefault(frozenset((one, other)), LinkFaults())

    def is_cut(self, one: str, other: str) -> bool:
        found = self._faults.get(frozenset((one, other)))
        return found is not None and found.cuts > 0

    def is_troubled(self, one: str, other: str) -> bool:
        found = self._faults.get(frozenset((one, other)))
        return found is not None and found != LinkFaults()

    def cut(self, one: str, other: str) -> None:
        self.faults(one, other).cuts += 1
        for stream in self._streams:
            if {stream.client, stream.server} == {one, other}:
                stream.starve()

    def mend(self, one: str, other: str) -> None:
        self.faults(one, other).cuts -= 1

    def keep(self, stream: "Stream") -> None:
        self._streams = [each for each in self._streams if each.is_open]
        self._streams.append(stream)

    def latency(self, one: str, other: str) -> float:
        """Seconds of one way."""
        chance = self.chance
        seconds = chance.uniform(_FASTEST, _SLOWEST)
        found = self._faults.get(frozenset((one, other)))
        if found is not None:
            seconds += sum(chance.uniform(low, high) for low, high in found.delays)
        return seconds

    def loses(self, one: str, other: str) -> bool:
        found = self._faults.get(frozenset((one, other)))
        if found is None:
            return False
        return found.cuts > 0 or any(self.chance.random() < share for share in found.drops)

    def held_back(self, one: str, other: str) -> float:
        found = self._faults.get(frozenset((one, other)))
        return sum(self.chance.uniform(0, most) for most in found.reorders) if found else 0.0

    def doubles(self, one: str, other: str) -> bool:
        found = self._faults.get(frozenset((one, other)))
        return found is not None and any(self.chance.random() < p for p in found.duplicates)

    def call(
        self,
        caller: str,
        server: str,
        serve: Callable[[], T],
        answered: Callable[[T | Rejected], None],
        timeout_seconds: float,
        is_up: Callable[[], bool],
    ) -> None:
        """Exactly one answer comes: that of the server, or what the line made of it."""
        _Call(self, caller, server, serve, answered, is_up).begin(timeout_seconds)


class _Call(Generic[T]):
    def __init__(
        self,
        network: Network,
        caller: str,
        server: str,
        serve: Callable[[], T],
        answered: Callable[[T | Rejected], None],
        is_up: Callable[[], bool],
    ) -> None:
        self._network = network
        self._caller, self._server = caller, server
        self._serve, self._answered, self._is_up = serve, answered, is_up
        self._is_over = False

    def begin(self, timeout_seconds: float) -> None:
        network, later = self._network, self._network.schedule.call_later
        ends = (self._caller, self._server)
        later(timeout_seconds, lambda: self._end(_LOST))
        if network.loses(*ends):
            return
        seconds = network.latency(*ends) + network.held_back(*ends)
        later(seconds, self._arrive)
        if network.doubles(*ends):
            later(seconds + network.latency(*ends) + network.held_back(*ends), self._arrive)

    def _arrive(self) -> None:
        network, ends = self._network, (self._caller, self._server)
        if network.is_cut(*ends):
            return
        if not self._is_up():
            refused = Rejected(Code.UNAVAILABLE, f"{self._server} is not there")
            network.schedule.call_later(_REFUSED_SECONDS, lambda: self._end(refused))
            return
        answer = self._serve()
        if not network.loses(*ends):
            network.schedule.call_later(network.latency(*ends), lambda: self._end(answer))

    def _end(self, answer: T | Rejected) -> None:
        if not self._is_over:
            self._is_over = True
            self._answered(answer)


class Stream:
    """A line that keeps its order, between a client and a server that accepted it."""

    def __init__(self, network: Network, client: str, server: str) -> None:
        self._network = network
        self.client, self.server = client, server
        self._arrives: dict[str, Instant] = {}
        #: What each end does when it notices that the line is gone; removed once it has.
        self._closers: dict[str, Callable[[], None]] = {}
        self._is_starved = False
        network.keep(self)

    @property
    def is_open(self) -> bool:
        """For one end at least."""
        return bool(self._closers)

    def on_close(self, end: str, closed: Callable[[], None]) -> None:
        self._closers[end] = closed

    def send(self, sender: str, deliver: Callable[[], None]) -> None:
        """`deliver` is called at the other end, unless either has closed by then."""
        receiver = self.server if sender == self.client else self.client
        if self._is_starved or self._network.is_cut(self.client, self.server):
            self.starve()
            return
        network = self._network
        seconds = network.latency(self.client, self.server)
        at = max(network.schedule.now() + round(seconds * SECOND), self._arrives.get(sender, 0) + 1)
        self._arrives[sender] = at

        def arrive() -> None:
            if receiver in self._closers and not self._is_starved:
                deliver()

        network.schedule.at(at, arrive)

    def starve(self) -> None:
        """Nothing passes any more; each end notices in its own time."""
        if self._is_starved:
            return
        self._is_starved = True
        for end in tuple(self._closers):
            seconds = self._network.chance.uniform(*_KEEPALIVE)
            self._network.schedule.call_later(seconds, lambda end=end: self._noticed(end))  # type: ignore[misc]

    def close(self, end: str) -> None:
        """This end hangs up; the other hears of it soon, or much later if the line is cut."""
        self._closers.pop(end, None)
        other = self.server if end == self.client else self.client
        if self._is_starved:
            return
        self._is_starved = True
        network = self._network
        cut = network.is_cut(self.client, self.server)
        usual = network.latency(self.client, self.server)
        seconds = network.chance.uniform(*_KEEPALIVE) if cut else usual
        network.schedule.call_later(seconds, lambda: self._noticed(other))

    def _noticed(self, end: str) -> None:
        closed = self._closers.pop(end, None)
        if closed is not None:
            closed()
