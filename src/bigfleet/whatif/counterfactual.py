"""The smallest single change of each kind that would satisfy an unmet Need.

Every answer is a run of the engine on the whole input with that one change made. Numeric kinds are
bisected over the amounts that can matter, so the next smaller of those was tried and does not help.
No change touches another Need: none suggests to lower the priority of another team.

Met means: not short after this cycle, or preempting all that is missing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.demand import Demand
from bigfleet.engine.encoding import HELD_BY, machine_at, table_of
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.engine.needs_table import table_of as need_table_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import Assigned, Host, Machine, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile, WhenUnsatisfiable
from bigfleet.model.requirements import Operator
from bigfleet.model.resources import Resources

DEFAULT_BUDGET_SECONDS = 2.0
MOST_RUNS = 200
#: Above this Kubernetes keeps priorities to itself.
_HIGHEST_PRIORITY = 1_000_000_000
_MOST_MACHINES = 256


class ChangeKind(StrEnum):
    PRIORITY = "priority"
    REQUIREMENT = "requirement"
    SAME = "same"
    SPREAD = "spread"
    SMALLER = "smaller"
    MACHINES = "machines"
    HOLD = "hold"
    RESERVATION = "reservation"


@dataclass(frozen=True, slots=True)
class Loser:
    """A Need that gets less than without the change."""

    need: NeedKey
    #: What it is short of more than before.
    lost: Resources


@dataclass(frozen=True, slots=True)
class Counterfactual:
    kind: ChangeKind
    #: A sentence.
    text: str
    #: Of numeric kinds; 1 of others.
    amount: int
    #: Of this cycle's actions, against those without the change.
    dollars_per_hour: float
    penalty_dollars: float
    losers: tuple[Loser, ...]
    runs: int
    #: The input with the change made, and the Need's identity in it.
    given: EngineInput
    need: NeedKey


@dataclass(frozen=True, slots=True)
class Counterfactuals:
    need: NeedKey
    #: The Need is not short: nothing was tried.
    is_met: bool
    #: By billed dollars, then by declared ones.
    found: tuple[Counterfactual, ...]
    #: What was tried and does not help.
    unhelpful: tuple[str, ...]
    #: False: the time or the runs were used up before everything was tried.
    exhaustive: bool
    runs: int


class UnknownNeed(Exception):
    """The cycle has no such Need."""


class _BudgetSpentError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Edit:
    kind: ChangeKind
    text: str
    amount: int
    given: EngineInput
    need: NeedKey


@dataclass(slots=True)
class _Search:
    clock: Callable[[], float]
    ends_at: float
    runs_left: int
    runs: int = 0
    longest: float = 0.0
    unhelpful: list[str] = field(default_factory=list)

    def decide(self, given: EngineInput) -> Decision:
        """Raises _BudgetSpentError where one more run would pass the time box."""
        began = self.clock()
        if not self.runs_left or began + self.longest > self.ends_at:
            raise _BudgetSpentError
        decision = given.decide()
        self.runs, self.runs_left = self.runs + 1, self.runs_left - 1
        self.longest = max(self.longest, self.clock() - began)
        return decision

    def helps(self, edit: _Edit) -> Decision | None:
        decision = self.decide(edit.given)
        return decision if is_met(decision, row_of(decision, edit.need)) else None

    def smallest(
        self, amounts: Sequence[int], edit_of: Callable[[int], _Edit]
    ) -> tuple[_Edit, Decision] | None:
        """Of ascending amounts: one that helps while the one before does not."""
        if not amounts:
            return None
        last = edit_of(amounts[-1])
        decision = self.helps(last)
        if decision is None:
            self.unhelpful.append(last.text)
            return None
        low, high, best = -1, len(amounts) - 1, (last, decision)
        while high - low > 1:
            middle = (low + high) // 2
            edit = edit_of(amounts[middle])
            decision = self.helps(edit)
            if decision is None:
                low = middle
            else:
                high, best = middle, (edit, decision)
        return best


def row_of(decision: Decision, key: NeedKey) -> int:
    """The Need's row in the normalised demand. Raises UnknownNeed."""
    outcome = decision.outcome
    columns, tables = outcome.scene.demand.columns, outcome.scene.demand.tables
    wanted = (
        (columns.cluster == tables.clusters.find(key.cluster))
        & (columns.profile == tables.profiles.find(key.fingerprint))
        & (columns.group == tables.groups.find(key.group))
    )
    place = np.flatnonzero(np.isin(outcome.normalised.members, np.flatnonzero(wanted)))
    if not len(place):
        raise UnknownNeed(f"the cycle has no Need {key.need_id} of cluster {key.cluster}")
    return int(np.searchsorted(outcome.normalised.starts, place[0], side="right")) - 1


def is_met(decision: Decision, row: int) -> bool:
    outcome = decision.outcome
    if not outcome.unsatisfied[row]:
        return True
    preempts = int(outcome.preempted.count_of_need[row])
    return preempts > 0 and not outcome.preempted.unresolved[row].any()


def counterfactuals(
    given: EngineInput,
    key: NeedKey,
    *,
    clock: Callable[[], float],
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    most_runs: int = MOST_RUNS,
) -> Counterfactuals:
    """Raises UnknownNeed."""
    search = _Search(clock, clock() + budget_seconds, max(1, most_runs))
    base = given.decide()
    row = row_of(base, key)
    if is_met(base, row):
        return Counterfactuals(key, True, (), (), True, 0)
    found: list[Counterfactual] = []
    exhaustive = True
    editor = _Editor(given, base, row, key)
    try:
        for amounts, edit_of in editor.kinds():
            before = search.runs
            if (best := search.smallest(amounts, edit_of)) is not None:
                found.append(_told(base, *best, key, search.runs - before))
    except _BudgetSpentError:
        exhaustive = False
    found.sort(key=lambda each: (each.dollars_per_hour, each.penalty_dollars, each.text))
    unhelpful = tuple(search.unhelpful)
    return Counterfactuals(key, False, tuple(found), unhelpful, exhaustive, search.runs)


class _Editor:
    """Makes the changed inputs of one Need."""

    def __init__(self, given: EngineInput, base: Decision, row: int, key: NeedKey) -> None:
        self._given = given
        self._base = base
        self._row = row
        self._key = key
        #: All Needs of the cluster, in its own order.
        self._needs = Demand(given.needs.blocks[key.cluster], given.needs.tables).needs
        self._need = next(need for need in self._needs if need.key == key)
        self._table = NeedsTable()
        self._table.replace_all(need_table_of(given.needs, sorted(given.needs.blocks)))

    def kinds(self) -> Iterator[tuple[Sequence[int], Callable[[int], _Edit]]]:
        """Amounts that can matter, ascending, and the change of an amount."""
        yield self._priorities(), self._higher
        profile = self._need.profile
        for place, each in enumerate(profile.requirements):
            if each.operator is not Operator.SAME:
                yield [1], partial(self._without_requirement, place)
        if profile.same is not None:
            yield [1], self._without_same
        if profile.strict_spread is not None:
            yield [1], self._lenient
        units = _units(self._need)
        yield range(1, units), self._smaller
        for by in HeldBy:
            ids = self._held(by)
            if ids:
                yield [1], partial(self._lifted, by, ids)
        for holder in dict.fromkeys(e.holder for e in self._given.memory.reservations.values()):
            if holder != self._key:
                yield [1], partial(self._unreserved, holder)
        if (template := self._cheapest()) is not None:
            adding = _Adding(self._given, self._key, template)
            yield range(1, min(units, _MOST_MACHINES) + 1), adding.more

    # -- changes of the Need -----------------------------------------------------------------------

    def _changed(self, kind: ChangeKind, text: str, amount: int, need: Need) -> _Edit:
        """Where the Need becomes equal to another of its cluster, both ask together."""
        same = [each for each in self._needs if each.key == need.key != self._key]
        for each in same:
            need = replace(
                need,
                aggregate=need.aggregate.plus(each.aggregate),
                min_unit=need.min_unit.most(each.min_unit),
            )
        # It keeps its place: Needs that compare equal go by the order of their cluster.
        changed = [need if each.key == self._key else each for each in self._needs]
        self._table.replace(self._key.cluster, [each for each in changed if each not in same])
        given = replace(self._given, needs=self._table.freeze())
        return _Edit(kind, text, amount, given, need.key)

    def _with_profile(self, kind: ChangeKind, text: str, amount: int, profile: Profile) -> _Edit:
        return self._changed(kind, text, amount, replace(self._need, profile=profile))

    def _priorities(self) -> list[int]:
        """One more than each priority a Need has, from its own on."""
        columns = self._base.outcome.needs.priority
        mine = self._need.profile.priority
        higher = {int(each) + 1 for each in np.unique(columns) if each >= mine}
        higher |= {int(each) for each in np.unique(columns) if each > mine}
        return sorted(each for each in higher if each <= _HIGHEST_PRIORITY)

    def _higher(self, priority: int) -> _Edit:
        profile = replace(self._need.profile, priority=priority)
        text = f"priority {priority} instead of {self._need.profile.priority}"
        return self._with_profile(ChangeKind.PRIORITY, text, priority, profile)

    def _without_requirement(self, place: int, _amount: int) -> _Edit:
        profile = self._need.profile
        gone = profile.requirements[place]
        left = tuple(each for each in profile.requirements if each is not gone)
        operator = gone.operator.name.replace("_", " ").lower()
        text = f"without the requirement {gone.key} {operator} {', '.join(gone.values)}".rstrip()
        changed = replace(profile, requirements=left)
        return self._with_profile(ChangeKind.REQUIREMENT, text, 1, changed)

    def _without_same(self, _amount: int) -> _Edit:
        same = self._need.profile.same
        assert same is not None
        text = f"machines with different {same.key}"
        return self._with_profile(ChangeKind.SAME, text, 1, self._need.profile.without_same())

    def _lenient(self, _amount: int) -> _Edit:
        profile = self._need.profile
        spread = tuple(
            replace(each, when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY)
            for each in profile.spread
        )
        text = "every spread constraint ScheduleAnyway instead of DoNotSchedule"
        return self._with_profile(ChangeKind.SPREAD, text, 1, replace(profile, spread=spread))

    def _smaller(self, units: int) -> _Edit:
        need = self._need
        less = replace(need, aggregate=need.aggregate.less(need.min_unit.times(units)))
        text = f"{units} {'unit' if units == 1 else 'units'} less"
        return self._changed(ChangeKind.SMALLER, text, units, less)

    # -- changes of the supply ---------------------------------------------------------------------

    def _held(self, by: HeldBy) -> list[str]:
        snapshot = self._given.snapshot
        rows = np.flatnonzero(snapshot.columns.held == HELD_BY.index(by) + 1)
        return [snapshot.ids[row] for row in rows.tolist()]

    def _lifted(self, by: HeldBy, ids: list[str], _amount: int) -> _Edit:
        inventory = _copy(self._given)
        inventory.lift_all(ids, by)
        given = replace(self._given, snapshot=inventory.snapshot())
        text = f"{_machines(len(ids))} not held by {by} any more"
        return _Edit(ChangeKind.HOLD, text, 1, given, self._key)

    def _unreserved(self, holder: NeedKey, _amount: int) -> _Edit:
        memory = self._given.memory
        left = {m: each for m, each in memory.reservations.items() if each.holder != holder}
        count = len(memory.reservations) - len(left)
        given = replace(self._given, memory=replace(memory, reservations=left))
        text = f"{_machines(count)} not reserved for need/{holder.cluster}/{holder.need_id}"
        return _Edit(ChangeKind.RESERVATION, text, 1, given, self._key)

    def _cheapest(self) -> Machine | None:
        """A machine of the cheapest offering that fits; None: no machine fits."""
        outcome, snapshot = self._base.outcome, self._given.snapshot
        fits = outcome.kinds.eligible[outcome.needs.key[self._row]]
        rows = np.flatnonzero(fits[outcome.scene.supply.kind])
        if not len(rows):
            return None
        price = outcome.kinds.price[outcome.scene.supply.kind[rows]]
        return machine_at(snapshot, int(rows[np.argmin(price)])).machine


class _Adding:
    """More machines like one: kept in one inventory, which grows and shrinks."""

    def __init__(self, given: EngineInput, key: NeedKey, template: Machine) -> None:
        self._given = given
        self._key = key
        self._template = template
        self._inventory: Inventory | None = None
        self._added: list[str] = []

    def more(self, count: int) -> _Edit:
        inventory = self._inventory = self._inventory or _copy(self._given)
        if self._added:
            inventory.remove_all(self._added)
        self._added = [f"~{number:04d}" for number in range(count)]
        for name in self._added:
            inventory.insert(
                replace(
                    self._template,
                    id=name,
                    state=MachineState.SPECULATIVE,
                    host=Host(),
                    cluster="",
                    assigned=Assigned(),
                    last_error="",
                )
            )
        given = replace(self._given, snapshot=inventory.snapshot())
        kind = self._template.instance_type or "the cheapest type"
        text = f"{count} more {'machine' if count == 1 else 'machines'} of {kind}"
        return _Edit(ChangeKind.MACHINES, text, count, given, self._key)


def _copy(given: EngineInput) -> Inventory:
    return Inventory.of_table(table_of(given.snapshot))


def _machines(count: int) -> str:
    return "1 machine" if count == 1 else f"{count} machines"


def _units(need: Need) -> int:
    """As many as the aggregate has; 1 where the Need says nothing of a unit."""
    counts = [
        -(-need.aggregate[name] // amount) for name, amount in need.min_unit.amounts if amount > 0
    ]
    return max(counts, default=1)


def _told(
    base: Decision, edit: _Edit, decision: Decision, key: NeedKey, runs: int
) -> Counterfactual:
    return Counterfactual(
        edit.kind,
        edit.text,
        edit.amount,
        _dollars(decision) - _dollars(base),
        _penalties(decision) - _penalties(base),
        tuple(losers_of(base, decision, {key, edit.need})),
        runs,
        edit.given,
        edit.need,
    )


def losers_of(base: Decision, decision: Decision, but: set[NeedKey]) -> Iterator[Loser]:
    """Needs that are short of more than before."""
    before = _deficits(base)
    for key, deficit in _deficits(decision).items():
        lost = deficit.less(before.get(key, Resources())).positive()
        if key not in but and lost.amounts:
            yield Loser(key, lost)


def _deficits(decision: Decision) -> dict[NeedKey, Resources]:
    outcome = decision.outcome
    rows = outcome.queue.tolist()
    return {outcome.key(n): outcome.resources(outcome.credit.remaining[n].tolist()) for n in rows}


def _dollars(decision: Decision) -> float:
    outcome, columns = decision.outcome, decision.outcome.action_columns
    price = outcome.kinds.price[outcome.scene.supply.kind[columns.row]]
    bought = price[columns.kind == ActionKind.PROVISION].sum()
    return float(bought - price[columns.kind == ActionKind.DELETE].sum())


def _penalties(decision: Decision) -> float:
    """Declared, of what is preempted; a workload that forbids it has no amount."""
    outcome, snapshot = decision.outcome, decision.outcome.scene.snapshot
    stamps = snapshot.tables.stamps.table.rows
    numbers = snapshot.columns.stamp[outcome.preempted.row].tolist()
    dollars = np.array([stamps[n].interruption_penalty for n in numbers], np.float64)
    return float(dollars[np.isfinite(dollars)].sum())
