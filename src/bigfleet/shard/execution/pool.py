"""The pool: how many actions are under way at a time, in all and per provider, and who waits.

First come, first served, except that no action waits behind a provider that has its fill. A slot is
held from the start of an action until its call to the provider is answered.
"""

from collections import Counter, deque

#: Actions under way at one provider.
PER_PROVIDER = 256


class ActionPool:
    def __init__(
        self, concurrency: int, queue_factor: int, per_provider: int = PER_PROVIDER
    ) -> None:
        self._concurrency = max(1, concurrency)
        self._longest = queue_factor * self._concurrency
        self._per_provider = per_provider
        #: (machine, provider), oldest first.
        self._waiting: deque[tuple[str, str]] = deque()
        #: Machine -> provider, of all and only the actions that hold a slot.
        self._running: dict[str, str] = {}
        self._running_at: Counter[str] = Counter()

    @property
    def depth(self) -> int:
        return len(self._waiting)

    @property
    def in_flight(self) -> int:
        return len(self._running)

    def room(self) -> int:
        """Actions it takes now: free slots and free places in the queue."""
        free = self._concurrency - len(self._running)
        return max(0, free + self._longest - len(self._waiting))

    def wait(self, machine: str, provider: str) -> None:
        """Join the queue; callers that must not exceed its bound ask for `room` first."""
        self._waiting.append((machine, provider))

    def start(self) -> str | None:
        """The next machine whose action may begin; it holds a slot from now on."""
        if len(self._running) >= self._concurrency:
            return None
        for at, (machine, provider) in enumerate(self._waiting):
            if self._running_at[provider] < self._per_provider:
                del self._waiting[at]
                self._running[machine] = provider
                self._running_at[provider] += 1
                return machine
        return None

    def leave(self, machine: str) -> None:
        """Give back the slot; no slot, nothing to give back."""
        provider = self._running.pop(machine, None)
        if provider is not None:
            self._running_at[provider] -= 1

    def withdraw(self, machine: str) -> None:
        """Leave the queue before the start."""
        self._waiting = deque(entry for entry in self._waiting if entry[0] != machine)

    def holds(self, machine: str) -> bool:
        return machine in self._running

    def empty_queue(self) -> list[str]:
        machines = [machine for machine, _ in self._waiting]
        self._waiting.clear()
        return machines
