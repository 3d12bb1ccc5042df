"""When a Need that is not met is expected to be: its machines' remaining steps, drawn many times.

Machines on their way to one cluster serve the Need with the highest precedence that they fit, in
whichever order they come. So a Need waits for the k-th of all that fit it: its own, and as many as
Needs before it wait for. Draws are seeded by cycle: the same question has the same answer.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Bools, Floats, Int64s
from bigfleet.engine.need_progress import hold_of, key_number
from bigfleet.engine.need_views import NeedViews
from bigfleet.engine.places import held_code
from bigfleet.explain.need_reasons import NeedReasons
from bigfleet.explain.need_states import Cause, NeedStates
from bigfleet.forecast.durations import Durations, Step
from bigfleet.forecast.watch import StepWatch, offering_of_row
from bigfleet.model.fleet import HeldBy
from bigfleet.model.forecasts import Forecast, ForecastPath, ForecastStep
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.offering_scopes import OfferingScope, covers, scope_named
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import resources_text

S = MachineState

#: Draws of a Need, and of the machines that are alike, which all Needs of a cycle share.
DRAWS = 400
POOL = 1000
#: Kinds of machines on their way that are told apart in one forecast.
MOST_GROUPS = 64
MOST_STEPS = 8
#: Machines that may serve a Need and are drawn one by one; of more, as many stand for all.
MOST_DRAWN = 128
MOST_UNCLAIMED = 2000
#: Elapsed times are told apart to this part of the typical duration.
_ELAPSED_PART = 0.05
#: The longest rest between two probes, and how often a probe is assumed to find stock.
_LONGEST_REST = 900.0
_ASSUMED_SUCCESS = 0.3

_AFTER = {
    int(S.SPECULATIVE): (Step.ORDER, Step.CREATE, Step.ORDER, Step.CONFIGURE),
    int(S.CREATING): (Step.CREATE, Step.ORDER, Step.CONFIGURE),
    int(S.IDLE): (Step.ORDER, Step.CONFIGURE),
    int(S.CONFIGURING): (Step.CONFIGURE,),
    int(S.CONFIGURED): (),
    int(S.DRAINING): (Step.DRAIN, Step.ORDER, Step.CONFIGURE),
}
#: Of a victim whose drain has not begun.
_VICTIM = (Step.ORDER, *_AFTER[int(S.DRAINING)])
_TIMED = (Cause.COMING, Cause.VICTIMS, Cause.JOINING)
_NO_NEED = -1
_UNBOUND = (int(S.SPECULATIVE), int(S.CREATING), int(S.IDLE))
#: How often a machine that becomes Idle goes to a Need before it in another cluster, where one
#: waits that it fits. With 1, 4 and 12 clusters 70 to 83 % were met by p80 if it never does, 83 to
#: 86 % if it always does.
_TAKEN = 0.4
_NO_TIME_MARGIN = "waits for its margin row, which has a forecast of its own"


@dataclass(frozen=True, slots=True, order=True)
class _Group:
    """Machines on their way that are alike."""

    offering: str
    steps: tuple[Step, ...]
    #: Seconds the first step has taken.
    elapsed: float
    machines: int


class EtaMaker:
    """Forecasts of the Needs of one cycle; those of any of them, in any order, are the same."""

    def __init__(
        self,
        decision: Decision,
        states: NeedStates,
        cycle: int,
        durations: Durations,
        watch: StepWatch,
        reasons: NeedReasons | None = None,
    ) -> None:
        self._decision = decision
        self._outcome = decision.outcome
        self._states = states
        self._cycle = cycle
        self._at = states.holds.at
        self._durations = durations
        self._watch = watch
        self._reasons = reasons or NeedReasons(decision, NeedViews(decision), states)
        self._pools: dict[tuple[str, tuple[Step, ...], float], Floats] = {}
        self._offerings: dict[tuple[int, int], str] = {}

    def of(self, row: int) -> Forecast:
        """Of a Need that is not met, by its row of the normalised demand."""
        cause = Cause(int(self._states.cause[row]))
        progress = self._states.progress
        if cause is Cause.NO_SUPPLY or not self._fits_anything(row):
            # A machine that is created for a Need counts for it by its stamp, whether it fits or
            # not; as soon as it is there it does not.
            return self._untimed(row, ForecastPath.CAPACITY_NEEDED, self._missing(row))
        rests = cause is Cause.HELD_SUPPLY and hold_of(int(progress.held_by[row])) is HeldBy.BACKOFF
        if cause is Cause.MARGIN:
            return self._untimed(row, ForecastPath.HELD, _NO_TIME_MARGIN)
        if cause not in _TIMED and not rests:
            return self._untimed(row, ForecastPath.HELD, self._reasons.of(row)[0].text)
        groups = list(self._groups(row))
        if rests and not (probed := self._probed(row)):
            return self._untimed(row, ForecastPath.HELD, self._reasons.of(row)[0].text)
        if not groups and not rests:
            # Its victims are not known in this cycle any more: they are free in the next.
            return self._untimed(row, ForecastPath.HELD, self._reasons.of(row)[0].text)
        return self._timed(row, groups, probed if rests else ())

    def _fits_anything(self, row: int) -> bool:
        outcome = self._outcome
        return bool(outcome.kinds.eligible[outcome.needs.key[row], self._kinds].any())

    @cached_property
    def _kinds(self) -> Int64s:
        """Of the machines there are."""
        return np.unique(self._outcome.scene.supply.kind).astype(np.int64)

    # -- without a time --------------------------------------------------------------------------

    def _untimed(self, row: int, path: ForecastPath, basis: str) -> Forecast:
        return Forecast(self._outcome.key(row), self._cycle, self._at, path, basis)

    def _missing(self, row: int) -> str:
        lacking = self._outcome.resources(self._outcome.preempted.unresolved[row].tolist())
        amount = resources_text(lacking.positive().texts())
        return f"lacks {amount}: {self._reasons.of(row)[0].text}"

    # -- with a time -----------------------------------------------------------------------------

    def _timed(self, row: int, groups: list[_Group], probed: "tuple[_Resting, ...]") -> Forecast:
        chance = np.random.default_rng(_seed(self._cycle, int(self._states.progress.key[row])))
        last = self._shared(row, groups, chance) + self._setback(row, groups, chance)
        if probed:
            last = np.maximum(last, self._probe(probed, chance))
        p50, p80, p95 = (round(float(each), 1) for each in np.quantile(last, (0.5, 0.8, 0.95)))
        steps = self._steps([*groups, *(each.group for each in probed[:1])], probed[:1])
        path = self._path(groups, bool(probed))
        if any(not each.samples for each in steps):
            path = ForecastPath.PRIOR
        basis = _basis(steps, path)
        key = self._outcome.key(row)
        return Forecast(key, self._cycle, self._at, path, basis, p50, p80, p95, tuple(steps))

    def _path(self, groups: list[_Group], is_probed: bool) -> ForecastPath:
        if is_probed:
            return ForecastPath.PROBE
        if any(Step.DRAIN in group.steps for group in groups):
            return ForecastPath.DRAIN
        if any(group.steps[:2] == (Step.ORDER, Step.CREATE) for group in groups):
            return ForecastPath.CREATE
        return ForecastPath.IN_FLIGHT

    def _setback(self, row: int, groups: list[_Group], chance: np.random.Generator) -> Floats:
        """Draws of what orders that find no stock cost: another order elsewhere, or the rest."""
        late = np.zeros(DRAWS)
        for group in groups:
            share = self._durations.refused_share(group.offering)
            if not share or group.steps[:2] != (Step.ORDER, Step.CREATE):
                continue
            elsewhere = self._elsewhere(row, group.offering)
            again = replace(group, offering=elsewhere or group.offering, machines=1)
            cost = self._last_of(again, chance)
            if not elsewhere:
                seen = self._durations.of(group.offering, Step.PROBE, self._at)
                cost = cost + seen.remaining(chance, DRAWS)
            late = np.maximum(late, np.where(chance.random(DRAWS) < share, cost, 0.0))
        return late

    def _elsewhere(self, row: int, offering: str) -> str:
        """Another offering with free machines that fit; empty: there is none."""
        outcome = self._outcome
        columns = outcome.scene.snapshot.columns
        free = (columns.state == int(S.SPECULATIVE)) & (columns.held == 0)
        free &= outcome.kinds.eligible[outcome.needs.key[row]][outcome.scene.supply.kind]
        rows = np.flatnonzero(free & (outcome.credit.holder < 0))
        firsts = rows[np.unique(columns.offering[rows], return_index=True)[1]]
        names = (self._offering(machine) for machine in firsts.tolist())
        return next((name for name in names if name != offering), "")

    def _last_of(self, group: _Group, chance: np.random.Generator) -> Floats:
        """Draws of when the last of these machines is there: of n of them the largest, which is the
        n-th root of a uniform draw among all."""
        pool = self._pool(group)
        places = chance.random(DRAWS) ** (1 / group.machines) * (len(pool) - 1)
        return np.interp(places, np.arange(len(pool)), pool)

    def _pool(self, group: _Group) -> Floats:
        """Of one such machine, ascending."""
        key = group.offering, group.steps, group.elapsed
        pool = self._pools.get(key)
        if pool is None:
            chance = np.random.default_rng(_seed(self._cycle, *map(str, key)))
            pool = np.zeros(POOL)
            for place, step in enumerate(group.steps):
                of_step = self._durations.of(group.offering, step, self._at)
                pool += of_step.remaining(chance, POOL, group.elapsed if not place else 0.0)
            pool.sort()
            self._pools[key] = pool
        return pool

    # -- machines that serve several Needs -------------------------------------------------------

    def _shared(self, row: int, groups: list[_Group], chance: np.random.Generator) -> Floats:
        """Draws of when a Need has its machines, whichever they are."""
        outcome = self._outcome
        if outcome.needs.same[row] >= 0 or outcome.needs.spread[row] >= 0:
            return self._alone(groups, chance)
        machines, needs = self._waiting
        own, cluster = needs == row, outcome.normalised.cluster
        kinds = outcome.scene.supply.kind[machines]
        fits = outcome.kinds.eligible[outcome.needs.key[row]][kinds] | own
        near = (needs == _NO_NEED) | (cluster[needs] == cluster[row])
        state = outcome.scene.snapshot.columns.state[machines]
        both = [fits & near, fits & (near | np.isin(state, _UNBOUND))]
        drawn = [
            self._alone(groups, chance) if each.sum() == own.sum() else self._kth(row, each, chance)
            for each in both
        ]
        return np.where(chance.random(DRAWS) < _TAKEN, drawn[1], drawn[0])

    def _alone(self, groups: list[_Group], chance: np.random.Generator) -> Floats:
        """With the machines it claims now."""
        last = np.zeros(DRAWS)
        for group in groups:
            last = np.maximum(last, self._last_of(group, chance))
        return last

    def _kth(self, row: int, fits: Bools, chance: np.random.Generator) -> Floats:
        """With the first that fit it, once Needs before it have theirs."""
        machines, needs = self._waiting
        wanted = int((fits & (needs <= row) & (needs >= 0)).sum())
        rows = np.flatnonzero(fits)
        if len(rows) > MOST_DRAWN:
            rows = np.sort(chance.choice(rows, MOST_DRAWN, replace=False))
        drawn = np.zeros((DRAWS, len(rows)))
        for place, each in enumerate(rows.tolist()):
            pool = self._pool(self._group_of(int(machines[each]), int(needs[each]), 1))
            drawn[:, place] = pool[chance.integers(len(pool), size=DRAWS)]
        enough = min(len(rows), math.ceil(wanted * len(rows) / int(fits.sum())))
        drawn.partition(enough - 1, axis=1)
        kth: Floats = drawn[:, enough - 1]
        return kth

    @cached_property
    def _waiting(self) -> tuple[Int64s, Int64s]:
        """Machines on their way, and the Need that claims each now, -1: none does. Without those of
        gangs and spread Needs, which take no others."""
        outcome, progress = self._outcome, self._states.progress
        unclaimed = np.array(self._unclaimed, np.int64)
        machines = np.concatenate([progress.coming, unclaimed])
        needs = np.concatenate([progress.coming_need, np.full(len(unclaimed), _NO_NEED)])
        alone = (outcome.needs.same[needs] >= 0) | (outcome.needs.spread[needs] >= 0)
        held = ~np.isin(self._states.cause[needs], _TIMED)
        kept = (needs == _NO_NEED) | ~(alone | held)
        return machines[kept], needs[kept]

    # -- machines on their way -------------------------------------------------------------------

    def _groups(self, row: int) -> Iterator[_Group]:
        alike = Counter(self._group_of(machine, row, 1) for machine in self._machines(row))
        # Those with most steps before them decide.
        ordered = sorted(alike, key=lambda each: (-len(each.steps), each))
        for group in ordered[:MOST_GROUPS]:
            yield replace(group, machines=alike[group])

    def _group_of(self, machine: int, row: int, count: int) -> "_Group":
        state = int(self._outcome.scene.snapshot.columns.state[machine])
        steps = _AFTER.get(state, (Step.CONFIGURE,))
        if state == int(S.CONFIGURED) and machine not in self._unusable:
            steps = _VICTIM
        if not steps or self._reports(row):
            steps = (*steps, Step.JOIN)
        offering = self._offering(machine)
        return _Group(offering, steps, self._elapsed(machine, offering, steps[0]), count)

    def _machines(self, row: int) -> Iterator[int]:
        yield from self._coming(row)
        yield from self._joining.get(row, ())
        yield from self._victims.get(int(self._states.progress.key[row]), ())

    @cached_property
    def _unusable(self) -> frozenset[int]:
        return frozenset(self._states.holds.nodes.unusable.tolist())

    def _coming(self, row: int) -> list[int]:
        order, needs = self._coming_by_need
        first, last = np.searchsorted(needs, [row, row + 1])
        rows: list[int] = self._states.progress.coming[order[first:last]].tolist()
        return rows

    @cached_property
    def _coming_by_need(self) -> tuple[Int64s, Int64s]:
        needs = self._states.progress.coming_need
        order = np.argsort(needs, kind="stable")
        return order, needs[order]

    @cached_property
    def _joining(self) -> Mapping[int, list[int]]:
        """By Need: Configured machines whose Nodes cannot be used yet."""
        found: dict[int, list[int]] = {}
        holder = self._outcome.credit.holder
        for machine in self._states.holds.nodes.unusable.tolist():
            found.setdefault(int(holder[machine]), []).append(machine)
        return found

    @cached_property
    def _victims(self) -> Mapping[int, list[int]]:
        """By key number: machines that drain for a Need, or are about to."""
        snapshot = self._outcome.scene.snapshot
        found: dict[int, list[int]] = {}
        for machine, reservation in self._decision.memory.reservations.items():
            row = snapshot.row_of(machine)
            if reservation.kind is not ReservationKind.PREEMPTION or row < 0:
                continue
            if snapshot.columns.state[row] in (int(S.CONFIGURED), int(S.DRAINING)):
                found.setdefault(key_number(reservation.holder), []).append(row)
        return found

    @cached_property
    def _unclaimed(self) -> list[int]:
        """Machines that are created and that no Need claims: the first that fits takes them."""
        states = self._outcome.scene.snapshot.columns.state
        free = (states == int(S.CREATING)) & (self._outcome.credit.holder < 0)
        rows: list[int] = np.flatnonzero(free)[:MOST_UNCLAIMED].tolist()
        return rows

    def _reports(self, row: int) -> bool:
        """Whether the Need is met only when Nodes are usable."""
        if row == _NO_NEED:
            return False
        return self._outcome.key(row).cluster in self._states.holds.nodes.clusters

    def _elapsed(self, row: int, offering: str, step: Step) -> float:
        """Rounded down, so that machines which began almost together are alike."""
        machine = self._outcome.scene.snapshot.ids[row]
        state = int(self._outcome.scene.snapshot.columns.state[row])
        match step:
            case Step.ORDER:
                since = self._watch.ordered_since(machine)
            case Step.JOIN:
                since = self._watch.joining_since(machine)
            case _:
                since = self._watch.since(machine, state)
        if since is None:
            return 0.0
        coarse = max(0.1, _ELAPSED_PART * self._durations.of(offering, step, self._at).median)
        return (self._at - since) / SECOND // coarse * coarse

    def _offering(self, row: int) -> str:
        columns = self._outcome.scene.snapshot.columns
        key = int(columns.source[row]), int(columns.offering[row])
        name = self._offerings.get(key)
        if name is None:
            name = self._offerings[key] = offering_of_row(self._outcome.scene.snapshot, row)
        return name

    # -- offerings that rest ---------------------------------------------------------------------

    def _probed(self, row: int) -> "tuple[_Resting, ...]":
        """Offerings that rest and would cover what the Need lacks, the first to be probed first."""
        found = [self._resting(name, machine, row) for name, machine in self._held(row).items()]
        return tuple(sorted(found, key=lambda each: (each.wait, each.group.offering)))

    def _held(self, row: int) -> dict[str, int]:
        """By offering, one of its machines that fit and rest."""
        outcome = self._outcome
        scene, key = outcome.scene, outcome.needs.key[row]
        resting = np.flatnonzero(scene.snapshot.columns.held == held_code(HeldBy.BACKOFF))
        fits = resting[outcome.kinds.eligible[key][scene.supply.kind[resting]]]
        if not len(fits):
            return {}
        columns = scene.snapshot.columns
        pairs = np.stack([columns.source[fits], columns.offering[fits]])
        firsts = fits[np.unique(pairs, axis=1, return_index=True)[1]]
        return {self._offering(machine): machine for machine in firsts.tolist()}

    def _resting(self, offering: str, machine: int, row: int) -> "_Resting":
        join = (Step.JOIN,) if self._reports(row) else ()
        lacking = self._outcome.preempted.unresolved[row]
        unit = self._outcome.kinds.units[self._outcome.scene.supply.kind[machine]]
        wanted = lacking > 0
        machines = int(np.ceil(lacking[wanted] / np.maximum(1, unit[wanted])).max(initial=1))
        group = _Group(offering, (*_AFTER[S.SPECULATIVE], *join), 0.0, max(1, machines))
        since = self._watch.resting_since(offering)
        elapsed = (self._at - since) / SECOND if since is not None else 0.0
        wait, rest = self._next_probe(offering)
        return _Resting(group, elapsed, wait, rest)

    def _next_probe(self, offering: str) -> tuple[float, float]:
        """Seconds until then, and how long it rests in all; 0 where it is not known."""
        of = scope_named(offering)
        if not isinstance(of, OfferingScope):
            return 0.0, 0.0
        until, rest = 0, 0
        for view in self._states.holds.offerings:
            scope = scope_named(view.name)
            if scope is not None and covers(scope, of) and view.next_probe_at > until:
                until, rest = view.next_probe_at, view.next_probe_at - view.opened_at
        return max(0.0, (until - self._at) / SECOND), rest / SECOND

    def _probe(self, probed: "tuple[_Resting, ...]", chance: np.random.Generator) -> Floats:
        """Draws of when the first offering that has stock again has brought its machines."""
        first = np.full(DRAWS, np.inf)
        for each in probed:
            stock = self._stock(each, chance)
            first = np.minimum(first, stock + self._last_of(each.group, chance))
        return first

    def _stock(self, resting: "_Resting", chance: np.random.Generator) -> Floats:
        """Seconds until a probe finds stock: as long as earlier rests took, else a guess."""
        seen = self._durations.of(resting.group.offering, Step.PROBE, self._at)
        if seen.samples:
            return np.maximum(resting.wait, seen.remaining(chance, DRAWS, resting.elapsed))
        failures = chance.geometric(_ASSUMED_SUCCESS, DRAWS) - 1
        longer = np.minimum(max(30.0, resting.rest) * (2.0**failures - 1), 8 * _LONGEST_REST)
        stock: Floats = resting.wait + longer
        return stock

    # -- what it rests on ------------------------------------------------------------------------

    def _steps(self, groups: list[_Group], probed: "tuple[_Resting, ...]") -> list[ForecastStep]:
        """What is still to happen, in its order; machines of one offering together."""
        counted: dict[tuple[int, Step, str], int] = {}
        for each in probed:
            counted[-1, Step.PROBE, each.group.offering] = each.group.machines
        for group in groups:
            for step in dict.fromkeys(group.steps):
                key = _ORDER.index(step), step, group.offering
                counted[key] = counted.get(key, 0) + group.machines
        told = []
        for (_, step, offering), machines in sorted(counted.items()):
            of = self._durations.of(offering, step, self._at)
            median = round(of.median, 1)
            told.append(ForecastStep(str(step), machines, offering, median, of.samples))
        return told[:MOST_STEPS]


@dataclass(frozen=True, slots=True)
class _Resting:
    group: _Group
    #: Seconds it has rested, until the next probe, and from the last one to the next.
    elapsed: float
    wait: float
    rest: float


_ORDER = (Step.DRAIN, Step.ORDER, Step.CREATE, Step.CONFIGURE, Step.JOIN)
_DOING = {
    "probe": "a probe of an offering that rests",
    "drain": "{} to drain",
    "create": "{} to create",
    "configure": "{} to configure",
    "join": "{} to join the cluster",
}


def _basis(steps: list[ForecastStep], path: ForecastPath) -> str:
    """`3 machines to create, 3 machines to configure; from 212 durations`."""
    words: list[str] = []
    for name, text in _DOING.items():
        machines = sum(each.machines for each in steps if each.name == name)
        if machines:
            words.append(text.format(f"{machines:,} machine{'s' if machines != 1 else ''}"))
    waits = ", ".join(words) or "machines to be handed over"
    if path is ForecastPath.PRIOR:
        return f"{waits}; too few machines were seen, so durations are assumed"
    return f"{waits}; from {sum(each.samples for each in steps):,} durations"


def _seed(*parts: object) -> int:
    text = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
