"""What the provider's own API does wrong: outages, slowness, errors, and wrong Lists.

Decided here, applied where the answer leaves the server: the inventory itself never changes. Every
wrong answer is written into the event log, so that a test can tell it from a real one.
"""

from dataclasses import dataclass, field, replace

from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code
from bigfleet.provider.sim.world.distributions import Distribution, Draws

METHODS = ("Create", "Configure", "Drain", "Delete", "Get", "List")
BAD_FIELDS = (
    "id", "state", "host", "instance_type", "zone", "capacity_type", "price_per_hour",
    "interruption_probability", "resources", "last_error",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrongList:
    """One way to answer a List wrongly, `left` times; stale ones end at `until` instead."""

    #: empty, truncate, stale, duplicate, bad-record or rebind
    how: str
    left: int = 1
    fraction: float = 1.0
    field: str = ""
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Treatment:
    """What happens to one call before it reaches the server."""

    delay_nanos: int = 0
    code: Code | None = None


@dataclass(slots=True)
class AnswerFaults:
    #: Methods that answer UNAVAILABLE.
    out: set[str] = field(default_factory=set)
    delay: Distribution | None = None
    #: Method -> (code, chance).
    errors: dict[str, tuple[Code, float]] = field(default_factory=dict)
    wrong: list[WrongList] = field(default_factory=list)
    #: How often each method was called: the occurrence number of its draws.
    calls: dict[str, int] = field(default_factory=dict)

    def treatment(self, method: str, draws: Draws) -> Treatment:
        if not (self.out or self.errors or self.delay):
            return Treatment()
        number = self.calls[method] = self.calls.get(method, 0) + 1
        delay = self.delay.nanos(draws, "rpc-delay", method, number) if self.delay else 0
        if method in self.out:
            return Treatment(delay, Code.UNAVAILABLE)
        code, chance = self.errors.get(method, (Code.OK, 0.0))
        hit = draws.chance(chance, "rpc-error", method, number)
        return Treatment(delay, code if hit else None)

    def next_wrong_list(self, now: Instant) -> WrongList | None:
        """How the List answered at `now` is to be wrong; uses one turn up."""
        self.wrong = [w for w in self.wrong if w.until is None or w.until > now]
        if not self.wrong:
            return None
        chosen = self.wrong[0]
        if chosen.until is None:
            rest = [replace(chosen, left=chosen.left - 1)] if chosen.left > 1 else []
            self.wrong[:1] = rest
        return chosen

    @property
    def untouched(self) -> bool:
        """Whether every call may go straight through."""
        return not (self.out or self.errors or self.delay or self.wrong)
