"""Stories: what happened to each machine, in order, bounded twice: per machine and in all."""

from collections import OrderedDict, deque
from collections.abc import Iterable

from bigfleet.model.shard_views import StoryEvent

PER_MACHINE = 64
#: Machines with a story; the ones longest untouched are forgotten first.
MACHINES = 50_000


class Stories:
    def __init__(self, per_machine: int = PER_MACHINE, machines: int = MACHINES) -> None:
        self._per_machine = per_machine
        self._machines = machines
        #: Least recently touched first.
        self._events: OrderedDict[str, deque[StoryEvent]] = OrderedDict()
        #: Machines whose first events were forgotten.
        self._cut: set[str] = set()

    def tell(self, machine: str, event: StoryEvent) -> None:
        events = self._events.get(machine)
        if events is None:
            events = self._events[machine] = deque(maxlen=self._per_machine)
        else:
            self._events.move_to_end(machine)
        if len(events) == self._per_machine:
            self._cut.add(machine)
        events.append(event)
        while len(self._events) > self._machines:
            forgotten, _ = self._events.popitem(last=False)
            self._cut.discard(forgotten)

    def of(self, machine: str) -> Iterable[StoryEvent]:
        return tuple(self._events.get(machine, ()))

    def is_cut(self, machine: str) -> bool:
        return machine in self._cut
