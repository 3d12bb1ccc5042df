"""The smallest change of each kind that would satisfy an unmet Need, and pairs of kinds on request.

Every answer is a run of the engine on the whole input with the change made. Numeric kinds are
bisected over the amounts that can matter, so the next smaller of those was tried and does not help.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.whatif.changes import Case, Change, ChangeKind, Kind
from bigfleet.whatif.losers import Loser, Price, losers_of, price_of
from bigfleet.whatif.subjects import (
    Subject,
    are_met,
    deficit_of,
    keys_of,
    rows_of,
    waits,
    with_own_tables,
)

DEFAULT_BUDGET_SECONDS = 2.0
MOST_RUNS = 200


@dataclass(frozen=True, slots=True)
class Counterfactual:
    #: Two of a pair.
    changes: tuple[Change, ...]
    is_satisfied: bool
    #: What would still be missing; nothing where it is satisfied.
    deficit: Resources
    #: Of this cycle's actions, against those without the change.
    dollars_per_hour: float
    penalty_dollars: float
    pinned_victims: int
    #: Machines preempted for the Need.
    preempts: int
    losers: tuple[Loser, ...]
    runs: int
    #: False: the time ended before less of the same was tried.
    is_smallest: bool
    #: The input with the change made, and the Needs' identities in it.
    after: Subject

    @property
    def kind(self) -> ChangeKind:
        return self.changes[0].kind

    @property
    def text(self) -> str:
        return ", and ".join(change.text for change in self.changes)

    @property
    def amount(self) -> int:
        """Of the first of them."""
        return self.changes[0].amount

    @property
    def given(self) -> EngineInput:
        return self.after.given

    @property
    def need(self) -> NeedKey:
        return self.after.keys[0]


@dataclass(frozen=True, slots=True)
class Counterfactuals:
    #: What was asked about, over tables of its own.
    before: Subject
    #: Nothing is missing after this cycle: nothing was tried.
    is_met: bool
    deficit: Resources
    #: By billed dollars, then by declared ones.
    found: tuple[Counterfactual, ...]
    #: What was tried and does not help.
    unhelpful: tuple[Counterfactual, ...]
    #: False: the time or the runs were used up before everything was tried.
    exhaustive: bool
    runs: int


@dataclass(frozen=True, slots=True)
class _Trial:
    changes: tuple[Change, ...]
    after: Subject
    decision: Decision
    rows: Int64s
    is_satisfied: bool
    is_smallest: bool = True


#: The trial at a place among the amounts; None: the budget is spent.
_Attempt = Callable[[int], _Trial | None]


@dataclass(slots=True)
class _Search:
    clock: Callable[[], float]
    ends_at: float
    runs_left: int
    #: When the run before began, and the longest from one to the next.
    began: float
    longest: float
    runs: int = 0
    is_spent: bool = False

    def tried(self, before: Subject, changes: tuple[Change, ...]) -> _Trial | None:
        """None: one more run would pass the time box, or is one too many."""
        if self.is_spent:
            return None
        now = self.clock()
        self.longest, self.began = max(self.longest, now - self.began), now
        if not self.runs_left or now + self.longest > self.ends_at:
            self.is_spent = True
            return None
        subject = before
        for change in changes:
            subject = change.apply(subject)
        decision = subject.given.decide()
        self.runs, self.runs_left = self.runs + 1, self.runs_left - 1
        rows = rows_of(decision, subject.keys)
        return _Trial(changes, subject, decision, rows, are_met(decision, rows))


def counterfactuals(
    given: EngineInput,
    key: NeedKey,
    *,
    clock: Callable[[], float],
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    most_runs: int = MOST_RUNS,
    depth: int = 1,
) -> Counterfactuals:
    """Raises UnknownNeed."""
    began = clock()
    own = with_own_tables(given)
    base = own.decide()
    subject = Subject(own, keys_of(base, key))
    return searched(subject, base, clock, began, budget_seconds, most_runs, depth)


def searched(
    subject: Subject,
    base: Decision,
    clock: Callable[[], float],
    began: float,
    budget_seconds: float,
    most_runs: int = MOST_RUNS,
    depth: int = 1,
) -> Counterfactuals:
    """`base`: the decision on the subject as it is, which was begun at `began`."""
    case = Case(subject, base)
    if are_met(base, case.rows):
        waiting = (_waiting(case),) if waits(base, case.rows) else ()
        return Counterfactuals(subject, not waiting, Resources(), waiting, (), True, 0)
    now = clock()
    search = _Search(clock, began + budget_seconds, max(1, most_runs), now, now - began)
    explored = _Explored(case, search, price_of(base))
    for kind in case.kinds():
        explored.try_kind(kind)
    if depth > 1:
        explored.try_pairs()
    found = sorted(
        explored.found,
        key=lambda e: (e.dollars_per_hour, e.penalty_dollars, len(e.changes), e.text),
    )
    return Counterfactuals(
        subject,
        False,
        case.deficit,
        tuple(found),
        tuple(explored.unhelpful),
        not search.is_spent,
        search.runs,
    )


def _waiting(case: Case) -> Counterfactual:
    """Victims of earlier cycles still drain for it; no forecast says how long."""
    snapshot, outcome = case.subject.given.snapshot, case.decision.outcome
    holders = {*case.subject.keys, *(outcome.key(row) for row in case.rows.tolist())}
    reserved = case.subject.given.memory.reservations
    rows = [snapshot.row_of(m) for m, each in reserved.items() if each.holder in holders]
    state = snapshot.columns.state[[row for row in rows if row >= 0]]
    coming = int(np.count_nonzero(state == int(MachineState.DRAINING)))
    text = f"waiting (in flight: {coming} {'machine' if coming == 1 else 'machines'} on the way)"
    change = Change(ChangeKind.WAIT, text, coming, lambda subject: subject)
    return Counterfactual((change,), True, Resources(), 0.0, 0.0, 0, 0, (), 0, True, case.subject)


@dataclass(slots=True)
class _Explored:
    case: Case
    search: _Search
    price: Price
    found: list[Counterfactual] = field(default_factory=list)
    unhelpful: list[Counterfactual] = field(default_factory=list)
    #: Kinds that do not help alone.
    failed: list[Kind] = field(default_factory=list)

    def try_kind(self, kind: Kind) -> None:
        best = self._best(kind)
        if best is None:
            return
        if not best.is_satisfied:
            self.failed.append(kind)
            return
        place = len(self.found) - 1
        narrower = None if kind.narrower is None else kind.narrower(best.decision)
        less = None if narrower is None else self._best(narrower)
        if less is not None and less.is_satisfied and kind.is_replaced:
            del self.found[place]

    def try_pairs(self) -> None:
        """Of kinds that do not help alone: otherwise one of the two would do."""
        for first, second in combinations(self.failed, 2):
            before = self.search.runs
            best = self._smallest_pair(first, second)
            if best is None:
                return
            self._keep(best, before)

    def _smallest_pair(self, first: Kind, second: Kind) -> _Trial | None:
        one, other = (kind.change_of(kind.amounts[-1]) for kind in (first, second))
        best = self._tried(one, other)
        if best is None or not best.is_satisfied:
            return best
        less = self._smallest(
            len(first.amounts),
            lambda place: self._tried(first.change_of(first.amounts[place]), other),
            known=best,
        )
        assert less is not None, "what is known to help is told"
        return self._smallest(
            len(second.amounts),
            lambda place: self._tried(less.changes[0], second.change_of(second.amounts[place])),
            known=less,
        )

    def _best(self, kind: Kind) -> _Trial | None:
        """The smallest that helps; else the last that was tried, which does not. All are kept.

        None: the budget is spent, or there is nothing to try.
        """
        best: _Trial | None = None

        def attempt(place: int) -> _Trial | None:
            return self._tried(kind.change_of(kind.amounts[place]))

        if not kind.alternatives and kind.amounts:
            before = self.search.runs
            best = self._smallest(len(kind.amounts), attempt, kind.guess)
            if best is not None:
                self._keep(best, before)
            return best
        for place in range(len(kind.amounts)):
            if (trial := attempt(place)) is None:
                break
            best = trial
            self._keep(best, self.search.runs - 1)
            if best.is_satisfied:
                break
        return best

    def _smallest(
        self, count: int, attempt: _Attempt, guess: int = -1, known: _Trial | None = None
    ) -> _Trial | None:
        """One that helps while the one before does not; else the largest, which does not help.

        `known`: the largest, which helps. Where the budget ends, what helps so far.
        """
        low, high, best = -1, count if known is None else count - 1, known
        following = guess if 0 <= guess < count else count - 1
        if known is not None:
            following = (low + high) // 2
        step = 1
        while high - low > 1:
            trial = attempt(following)
            if trial is None:
                return None if best is None else replace(best, is_smallest=False)
            if trial.is_satisfied:
                high, best = following, trial
            else:
                low = following
            if low == count - 1:
                return trial
            following = (low + high) // 2
            # The arithmetic is mostly nearly right: from there on in steps that double.
            if best is None:
                following = count - 1
            elif low < 0 and high <= guess:
                following, step = max(0, high - step), step * 2
            elif 0 <= guess < high == count - 1:
                following, step = min(low + step, following), step * 2
        return best

    def _tried(self, *changes: Change) -> _Trial | None:
        return self.search.tried(self.case.subject, changes)

    def _keep(self, trial: _Trial, runs_before: int) -> None:
        price, base = price_of(trial.decision), self.price
        outcome = self.case.decision.outcome
        asked = {*self.case.subject.keys, *trial.after.keys}
        asked |= {outcome.key(row) for row in self.case.rows.tolist()}
        told = Counterfactual(
            trial.changes,
            trial.is_satisfied,
            Resources() if trial.is_satisfied else deficit_of(trial.decision, trial.rows),
            price.dollars_per_hour - base.dollars_per_hour,
            price.penalty_dollars - base.penalty_dollars,
            price.pinned_victims - base.pinned_victims,
            int(trial.decision.outcome.preempted.count_of_need[trial.rows].sum()),
            losers_of(self.case.decision, trial.decision, asked),
            self.search.runs - runs_before,
            trial.is_smallest,
            trial.after,
        )
        (self.found if trial.is_satisfied else self.unhelpful).append(told)
