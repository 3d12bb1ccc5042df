"""Second looks: a List that puts a machine back to where this shard has just taken it from.

Either the provider took the step back, or the List is of the past: some providers list from a copy
that lags behind what they do. Believed at once, such a List frees a machine that serves, or binds
one that was freed, and the shard goes on to take others instead. The same holds for a List that
gives a bound machine to another cluster. So a Get is asked, which speaks of
this machine alone, and what it shows is taken over. Where no Get can be
had, the next List is believed.
"""

from collections import OrderedDict
from typing import TYPE_CHECKING

from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, MachineRecord, Rejected
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.calls import Answer, Calls
from bigfleet.shard.effects import Effects
from bigfleet.shard.instructions import GetCall
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adoption import FailedMachines, PendingActions, adopted_machine
from bigfleet.shard.reconciling.rebind_guard import moves
from bigfleet.shard.settings import CurrentShardSettings

if TYPE_CHECKING:
    from bigfleet.shard.reconciling.reconciler import Reconciler

#: A List that is older than this is believed.
REMEMBERED = 60 * SECOND
#: Gets without an answer; what is doubted beyond them waits for the next List.
MOST_AT_ONCE = 256
#: No other call may be made for the machine meanwhile, so the Get is not waited for long.
LONGEST_GET_SECONDS = 5.0
#: Of a call that broke off: nothing is known then.
_NO_ANSWER = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED)

Place = tuple[MachineState, str]


class SecondLooks:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        settings: CurrentShardSettings,
        calls: Calls,
        execution: PendingActions,
        failures: FailedMachines,
        reconciler: "Reconciler",
    ) -> None:
        self._effects = effects
        self._machines = machines
        self._settings = settings
        self._calls = calls
        self._execution = execution
        self._failures = failures
        self._reconciler = reconciler
        #: Where the shard took a machine from, and when; the machine moved longest ago first.
        self._left: OrderedDict[str, dict[Place, Instant]] = OrderedDict()
        self._asked = 0
        #: Moved to another cluster by a List, and no Get was answered: the next List is believed.
        self._unconfirmed: dict[str, Instant] = {}

    def left(self, before: Machine, at: Instant) -> None:
        """The shard itself took the machine from there."""
        places = self._left.pop(before.id, {})
        kept = {place: then for place, then in places.items() if at - then < REMEMBERED}
        self._left[before.id] = kept | {_place(before): at}

    def forget(self, machine_id: str) -> None:
        self._left.pop(machine_id, None)
        self._unconfirmed.pop(machine_id, None)

    def doubts(self, before: Machine, after: Machine, provider: str, at: Instant) -> bool:
        """Whether the machine stays as it is until the provider was asked about it."""
        if _place(before) == _place(after):
            return False
        then = self._left.get(before.id, {}).get(_place(after))
        undoes = then is not None and at - then < REMEMBERED
        if moves(before, after) and self._unconfirmed.pop(before.id, None) is None:
            undoes = True
        if not undoes:
            return False
        if self._asked < MOST_AT_ONCE and not self._calls.is_busy(before.id):
            self._ask(before, provider, at)
        return True

    def tick(self, at: Instant) -> None:
        for name in [n for n, then in self._unconfirmed.items() if at - then >= REMEMBERED]:
            del self._unconfirmed[name]
        while self._left:
            machine_id, places = next(iter(self._left.items()))
            if at - max(places.values(), default=0) < REMEMBERED:
                return
            del self._left[machine_id]

    def _ask(self, before: Machine, provider: str, at: Instant) -> None:
        self._asked += 1

        def then(answer: Answer, at: Instant) -> None:
            self._asked -= 1
            self._on_answer(before, provider, answer, at)

        seconds = min(self._settings.now.execute.rpc_timeout, LONGEST_GET_SECONDS)
        self._calls.ask(provider, GetCall(before.id), seconds, at, then)

    def _on_answer(self, before: Machine, provider: str, answer: Answer, at: Instant) -> None:
        name, machines = before.id, self._machines
        # The shard itself is about to change the machine, or another part keeps it.
        taken = self._execution.is_pending(name) or self._failures.holds(name)
        if machines.provider_or_none(name) != provider or taken:
            return
        now = machines.truth(name)
        if _place(now) != _place(before):
            return
        if not isinstance(answer, MachineRecord):
            if not isinstance(answer, Rejected) or answer.code not in _NO_ANSWER:
                self.forget(name)
                self._unconfirmed[name] = at
            return
        seen = self._reconciler.screen(answer, provider)
        if isinstance(seen, str) or seen.id != name:
            return
        after = adopted_machine(now, seen)
        if _place(after) == _place(now):
            text = f"a List of {provider} shows it as it was before; a Get shows it as it is"
            machines.tell(name, at, StorySource.PROVIDER, text, now.cluster)
            return
        self._left.get(name, {}).pop(_place(after), None)
        text = f"{provider} shows it as {after.state.label}"
        if moves(now, after):
            text = f"{text} for cluster {after.cluster}; it was bound to {now.cluster}"
            said = f"{name}: {text}"
            self._effects.log("warning", "machine_changed_cluster", said, provider=provider)
        machines.step(after, at, text, StorySource.PROVIDER, local=True, adopted=True)
        self._effects.wake()


def _place(machine: Machine) -> Place:
    return machine.state, machine.cluster
