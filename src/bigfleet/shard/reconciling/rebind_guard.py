"""The rebind guard: a List that gives many bound machines to other clusters, or frees many that
serve, is held like one that lost many.

A provider that mixes up its records looks just like that, and the shard would drain under the wrong
cluster's eviction. Only what the shard did not ask for counts. The baseline is what was bound when
the hold began; it is believed in the end only what every held List said. A List that is not
suspicious ends the hold. Lists of changes may begin a hold or end it, but only whole ones confirm.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import Quarantine, QuarantineKind
from bigfleet.shard.reconciling.list_guard import ListVerdict
from bigfleet.shard.settings import RailSettings

BOUND = (MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING)
#: So many machines may change their binding, however few are bound.
_ALWAYS_ALLOWED = 1
#: Pairs of clusters that a sentence names.
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Rebinding:
    """A machine that is listed with another binding than the shard gave it."""

    cluster: str
    #: Empty: it is listed as Idle.
    to_cluster: str
    to_state: MachineState


Rebindings = Mapping[str, Rebinding]


def rebinding_of(before: Machine, after: Machine) -> Rebinding | None:
    """None: the binding stays, or ends in a way that is not this guard's concern."""
    if before.state not in BOUND or not before.cluster:
        return None
    if moves(before, after):
        return Rebinding(before.cluster, after.cluster, after.state)
    if before.state is MachineState.CONFIGURED and after.state is MachineState.IDLE:
        return Rebinding(before.cluster, "", after.state)
    return None


def moves(before: Machine, after: Machine) -> bool:
    """Whether a bound machine would be another cluster's."""
    bound = before.state in BOUND and after.state in BOUND
    return bound and bool(before.cluster and after.cluster) and before.cluster != after.cluster


class RebindGuard:
    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._baseline = 0
        self._consecutive = 0
        self._since: Instant = 0
        #: Of the newest List of the hold.
        self._held: Rebindings = {}
        #: What every List of the hold said.
        self._said: Rebindings = {}
        #: What was confirmed or accepted and is being taken over.
        self._believed: Rebindings = {}

    @property
    def consecutive(self) -> int:
        return self._consecutive

    def holds(self, machine_id: str) -> bool:
        return machine_id in self._held

    def is_held(self, before: Machine, after: Machine) -> bool:
        """Whether the machine keeps the binding it has."""
        return before.id in self._held and rebinding_of(before, after) is not None

    def is_believed(self, before: Machine, after: Machine) -> bool:
        """Whether it was said often enough, or accepted by hand."""
        rebinding = rebinding_of(before, after)
        return rebinding is not None and self._believed.get(before.id) == rebinding

    def believes(self, machine_id: str) -> bool:
        return machine_id in self._believed

    def judge(
        self, seen: Rebindings, bound: int, at: Instant, rails: RailSettings, *, whole: bool
    ) -> ListVerdict:
        """A List was read that shows these machines with another binding, of so many bound."""
        self._believed = {}
        baseline = self._baseline if self._consecutive else bound
        if not _suspicious(seen, baseline, rails):
            self.discard()
            return ListVerdict.BELIEVED
        if self._consecutive == 0:
            self._begin(seen, baseline, at)
            return ListVerdict.HELD
        self._held = seen
        self._said = {name: said for name, said in self._said.items() if seen.get(name) == said}
        self._consecutive += whole
        long = at - self._since >= rails.list_guard_min_hold * SECOND
        if self._consecutive < rails.list_guard_confirmations or not (long and whole):
            return ListVerdict.HELD
        self.accept()
        rest = {name: said for name, said in seen.items() if name not in self._believed}
        if _suspicious(rest, baseline, rails):
            self._begin(rest, baseline, at)
        return ListVerdict.CONFIRMED

    def accept(self) -> Rebindings:
        """The hold ends and what every List of it said is believed."""
        believed = self._said
        self.discard()
        self._believed = believed
        return believed

    def discard(self) -> None:
        """The hold ends and nothing of it is believed."""
        self._consecutive = 0
        self._held = self._said = {}

    def quarantine(self, rails: RailSettings) -> Quarantine | None:
        if self._consecutive == 0:
            return None
        return Quarantine(
            QuarantineKind.PROVIDER_LIST,
            self._provider,
            self._baseline,
            max(0, self._baseline - len(self._held)),
            self._consecutive,
            rails.list_guard_confirmations,
            self._since,
            self._since + int(rails.list_guard_min_hold * SECOND),
            seen_text(self._held, self._baseline),
        )

    def _begin(self, seen: Rebindings, baseline: int, at: Instant) -> None:
        self._baseline, self._since, self._consecutive = baseline, at, 1
        self._held = self._said = seen


def seen_text(seen: Rebindings, bound: int) -> str:
    """`of 20 bound machines 14 are listed for another cluster (14 from shop to ml), ...`."""
    moved, freed = _moved_and_freed(seen)
    said = []
    if moved:
        pairs = Counter((each.cluster, each.to_cluster) for each in seen.values())
        named = [pair for pair in pairs.most_common() if pair[0][1]]
        texts = [f"{number} from {a} to {b}" for (a, b), number in named[:_MOST_NAMED]]
        more = ", and others" if len(named) > _MOST_NAMED else ""
        said.append(f"{moved} are listed for another cluster ({', '.join(texts)}{more})")
    if freed:
        said.append(f"{freed} Configured ones as Idle" if moved else f"{freed} are listed as Idle")
    return f"of {bound} bound machines {' and '.join(said)}, without an instruction of this shard"


def done_text(seen: Rebindings) -> str:
    """`14 machines are moved to another cluster and 3 freed`."""
    moved, freed = _moved_and_freed(seen)
    if not moved:
        return f"{freed} machines are freed"
    rest = f" and {freed} freed" if freed else ""
    return f"{moved} machines are moved to another cluster{rest}"


def _moved_and_freed(seen: Rebindings) -> tuple[int, int]:
    moved = sum(bool(each.to_cluster) for each in seen.values())
    return moved, len(seen) - moved


def _suspicious(seen: Rebindings, bound: int, rails: RailSettings) -> bool:
    allowed = max(_ALWAYS_ALLOWED, rails.list_guard_fraction * bound)
    return rails.list_guard and max(_moved_and_freed(seen)) > allowed
