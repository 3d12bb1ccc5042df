"""The kinds of changes that might satisfy a Need, each with the amounts that can matter.

Found from the columns of the decision in which it is short. No change touches a Need that was not
asked about: none suggests to lower the priority of another team.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.encoding import HELD_BY, machine_at
from bigfleet.engine.kernels.compiled import Bools, Int8s, Int64s
from bigfleet.explain.needs import requirement_text
from bigfleet.model.batches import Offering
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import Assigned, Host, Machine, MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile, WhenUnsatisfiable
from bigfleet.model.reasons import resources_text
from bigfleet.model.requirements import HOSTNAME_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.what_if import AddMachines, Overlay
from bigfleet.whatif.ids import ids_of
from bigfleet.whatif.subjects import (
    Subject,
    deficit_of,
    not_parked,
    rows_of,
    with_fewer,
    with_machines,
    with_needs,
    without_holds,
    without_reservations,
)
from bigfleet.whatif.topology_keys import values_of_key, wider_keys

#: Above this Kubernetes keeps priorities to itself.
_HIGHEST_PRIORITY = 1_000_000_000
_MOST_MACHINES = 10_000
#: Values of a requirement, holders of reservations and offerings that rest: of each so many.
_MOST_ALTERNATIVES = 8
_OBTAINABLE = (MachineState.IDLE, MachineState.SPECULATIVE, MachineState.CONFIGURED)
_FREE = (MachineState.IDLE, MachineState.SPECULATIVE)


class ChangeKind(StrEnum):
    WAIT = "wait"
    HOLD = "hold"
    PARKED = "parked"
    RESERVATION = "reservation"
    REQUIREMENT = "requirement"
    VALUE = "value"
    SAME = "same"
    WIDER_SAME = "wider-same"
    SPREAD = "spread"
    PRIORITY = "priority"
    SMALLER = "smaller"
    MACHINES = "machines"
    MIN_UNIT = "min-unit"


@dataclass(frozen=True, slots=True)
class Change:
    kind: ChangeKind
    #: A sentence without its end.
    text: str
    #: Of numeric kinds; 1 of others.
    amount: int
    apply: Callable[[Subject], Subject]
    #: Machines it adds, as an overlay says it.
    machines: Overlay = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """Changes of one kind, from the smallest to the largest that can matter."""

    amounts: Sequence[int]
    change_of: Callable[[int], Change]
    #: Where among the amounts the arithmetic says the answer is; -1: it does not say.
    guess: int = -1
    #: Each is another change, and none contains another: they are tried in this order.
    alternatives: bool = False
    #: Less of a change, worth trying only where this one helps; given the decision that shows it.
    narrower: "Callable[[Decision], Kind | None] | None" = None
    #: Whether what is narrower takes its place.
    is_replaced: bool = False


@dataclass(slots=True)
class Case:
    """A Need that is short, and the decision that shows it."""

    subject: Subject
    decision: Decision
    rows: Int64s = field(init=False)
    #: The first of the Needs meant.
    need: Need = field(init=False)
    deficit: Resources = field(init=False)

    def __post_init__(self) -> None:
        self.rows = rows_of(self.decision, self.subject.keys)
        self.need = self.subject.needs[0]
        self.deficit = deficit_of(self.decision, self.rows)

    def kinds(self) -> Iterator[Kind]:
        """Those that take few runs come first."""
        yield from self._holds()
        yield from self._parked()
        yield from self._requirements()
        # Of gangs that were folded it says nothing.
        is_folded = self.rows[0] >= self.decision.outcome.normalised.first_folded
        if self.need.profile.same is not None and not is_folded:
            yield Kind([1], self._without_same, narrower=lambda _: self._wider())
        if self.need.profile.strict_spread is not None:
            yield Kind([1], self._lenient)
        yield from self._smaller_kinds()
        if priorities := self._priorities():
            yield Kind(priorities, self._higher)
        yield from self._reservations()
        yield from self._units()
        yield from self._machines()

    # -- changes of the Need -----------------------------------------------------------------------

    def _priorities(self) -> list[int]:
        """Those of others and one more, from its own on."""
        mine, snapshot = self.need.profile.priority, self.subject.given.snapshot
        columns = snapshot.columns
        bound = columns.stamp[columns.state == int(MachineState.CONFIGURED)]
        stamped = snapshot.stamps.priority[np.unique(bound)]
        others = {*np.unique(self.decision.outcome.needs.priority).tolist(), *stamped.tolist()}
        higher = {each + 1 for each in others if each >= mine}
        higher |= {each for each in others if each > mine}
        return sorted(each for each in higher if each <= _HIGHEST_PRIORITY)

    def _higher(self, priority: int) -> Change:
        text = f"priority {priority} instead of {self.need.profile.priority}"
        return _profile_change(
            ChangeKind.PRIORITY, text, lambda p: replace(p, priority=priority), priority
        )

    def _requirements(self) -> Iterator[Kind]:
        for each in self.need.profile.requirements:
            if each.operator is not Operator.SAME:
                narrower = partial(self._values, each) if each.operator is Operator.IN else None
                yield Kind([1], partial(_without_requirement, each), narrower=narrower)

    def _values(self, requirement: Requirement, helping: Decision) -> Kind | None:
        """Values that machines have, first those it would take without the requirement."""
        if requirement.key == HOSTNAME_KEY:
            return None
        snapshot, outcome = self.subject.given.snapshot, helping.outcome
        words, number_of_offering = values_of_key(snapshot, requirement.key)
        number = number_of_offering[snapshot.columns.offering]
        keys = _without_requirement(requirement, 1).apply(self.subject).keys
        rows = rows_of(helping, keys)
        taken = np.isin(outcome.credit.holder, rows)
        taken[outcome.preempted.row[np.isin(outcome.preempted.need, rows)]] = True
        free = _in_states(snapshot.columns.state, _FREE) & (snapshot.columns.held == 0)
        size = len(words)
        weight = np.bincount(number[taken & (number >= 0)], minlength=size) * len(snapshot)
        weight = weight + np.bincount(number[free & (number >= 0)], minlength=size)
        listed = [words[n] in requirement.values for n in range(size)]
        weight[np.array(listed, np.bool_)] = 0
        best = [words[n] for n in np.argsort(-weight, kind="stable").tolist() if weight[n]]
        best = best[:_MOST_ALTERNATIVES]
        return Kind(
            range(len(best)), lambda n: _with_value(requirement, best[n]), alternatives=True
        )

    def _without_same(self, _amount: int) -> Change:
        same = self.need.profile.same
        assert same is not None
        text = f"machines with different {same.key}"
        return _profile_change(ChangeKind.SAME, text, lambda p: p.without_same())

    def _wider(self) -> Kind | None:
        """From the narrowest of the wider keys on."""
        same = self.need.profile.same
        assert same is not None
        keys = wider_keys(self.subject.given.snapshot, same.key)[:_MOST_ALTERNATIVES]
        return Kind(range(len(keys)), lambda n: _with_wider(same, keys[n]), alternatives=True)

    def _lenient(self, _amount: int) -> Change:
        def lenient(profile: Profile) -> Profile:
            anyway = WhenUnsatisfiable.SCHEDULE_ANYWAY
            spread = [replace(each, when_unsatisfiable=anyway) for each in profile.spread]
            return replace(profile, spread=tuple(spread))

        text = "every spread constraint ScheduleAnyway instead of DoNotSchedule"
        return _profile_change(ChangeKind.SPREAD, text, lenient)

    def _smaller_kinds(self) -> Iterator[Kind]:
        members, unit = len(self.subject.keys), self.need.min_unit.positive()
        if members > 1:
            guess = _times(self.deficit, self.need.aggregate)
            yield Kind(range(1, members), _fewer_gangs, guess - 1)
        elif unit.amounts:
            units = _times(self.need.aggregate, unit)
            if units > 1:
                yield Kind(range(1, units), self._smaller, _times(self.deficit, unit) - 1)
        elif not self.need.aggregate.less(self.deficit).is_zero():
            yield Kind([1], self._without_deficit)

    def _smaller(self, units: int) -> Change:
        less = self.need.min_unit.times(units)
        text = f"{_counted(units, 'unit')} less ({_said(less)})"
        return _need_change(
            ChangeKind.SMALLER,
            text,
            lambda need: replace(need, aggregate=need.aggregate.less(less)),
            units,
        )

    def _without_deficit(self, _amount: int) -> Change:
        less = self.deficit
        return _need_change(
            ChangeKind.SMALLER,
            f"{_said(less)} less",
            lambda need: replace(need, aggregate=need.aggregate.less(less)),
        )

    def _units(self) -> Iterator[Kind]:
        """As large as machines hold that have all it requires and are too small for its unit."""
        outcome = self.decision.outcome
        normalised, scene, row = outcome.normalised, outcome.scene, int(self.rows[0])
        if row >= normalised.first_folded or not self.need.min_unit.positive().amounts:
            return
        state = scene.snapshot.columns.state
        kinds = np.unique(scene.supply.kind[_in_states(state, _OBTAINABLE)])
        matching = kinds[scene.matches[normalised.profile[row]][kinds]]
        unit = scene.vector_units[normalised.unit[row]]
        held = np.unique(np.minimum(outcome.kinds.units[matching], unit), axis=0)
        smaller = held[(held < unit).any(axis=1) & (held[:, unit > 0] > 0).all(axis=1)]
        if len(smaller):
            share = (smaller[:, unit > 0] / unit[unit > 0]).sum(axis=1)
            largest_first = smaller[np.argsort(-share, kind="stable")]
            units = [outcome.resources(each) for each in largest_first.tolist()]
            yield Kind(range(1, len(units) + 1), lambda n: self._with_unit(n, units[n - 1]))

    def _with_unit(self, amount: int, unit: Resources) -> Change:
        text = f"units of {_said(unit)} instead of {_said(self.need.min_unit)}"
        return _need_change(
            ChangeKind.MIN_UNIT, text, lambda need: replace(need, min_unit=unit), amount
        )

    # -- what holds machines back ------------------------------------------------------------------

    def _fitting(self) -> Bools:
        """Machines that meet its requirements and hold one unit."""
        outcome = self.decision.outcome
        kinds: Bools = np.any(outcome.kinds.eligible[outcome.needs.key[self.rows]], axis=0)
        fits: Bools = kinds[outcome.scene.supply.kind]
        return fits

    def _holds(self) -> Iterator[Kind]:
        fits, held = self._fitting(), self.subject.given.snapshot.columns.held
        for by in HeldBy:
            rows = np.flatnonzero(fits & (held == HELD_BY.index(by) + 1))
            if len(rows):
                narrower = partial(self._rests, rows) if by is HeldBy.BACKOFF else None
                every = partial(_without_hold, by, "", rows)
                yield Kind([1], every, narrower=narrower, is_replaced=True)

    def _rests(self, rows: Int64s, _helping: Decision) -> Kind | None:
        """Of several offerings that rest, one: those of the most machines first."""
        snapshot = self.subject.given.snapshot
        used, number = np.unique(snapshot.columns.offering[rows], return_inverse=True)
        named = [_offering_name(snapshot.tables.offerings.table.rows[o]) for o in used.tolist()]
        names = sorted(set(named))
        name_of_row = np.array([names.index(name) for name in named], np.int64)[number]
        if len(names) < 2:
            return None
        most_first = np.argsort(-np.bincount(name_of_row), kind="stable")[:_MOST_ALTERNATIVES]

        def change_of(place: int) -> Change:
            chosen = int(most_first[place])
            return _without_hold(HeldBy.BACKOFF, names[chosen], rows[name_of_row == chosen], 1)

        return Kind(range(len(most_first)), change_of, alternatives=True)

    def _parked(self) -> Iterator[Kind]:
        if self.decision.outcome.parked[self.rows].any():
            text = "looking for a domain again now, instead of resting after many cycles without"
            yield Kind([1], lambda _: Change(ChangeKind.PARKED, text, 1, not_parked))

    def _reservations(self) -> Iterator[Kind]:
        """Of the Needs that have the most machines reserved that fit; and what is offered."""
        snapshot, fits = self.subject.given.snapshot, self._fitting()
        machines: dict[tuple[ReservationKind, NeedKey], set[str]] = {}
        for machine, each in self.subject.given.memory.reservations.items():
            row = snapshot.row_of(machine)
            if row >= 0 and fits[row] and each.holder not in self.subject.keys:
                machines.setdefault((each.kind, each.holder), set()).add(machine)
        most_first = sorted(machines, key=lambda key: (-len(machines[key]), key))
        for kind, holder in most_first[:_MOST_ALTERNATIVES]:
            reserved = frozenset(machines[kind, holder])
            yield Kind([1], partial(_without_reserved, kind, holder, reserved))

    # -- more machines -----------------------------------------------------------------------------

    def _machines(self) -> Iterator[Kind]:
        """Like the cheapest that fits; none: no machine fits."""
        outcome, snapshot = self.decision.outcome, self.subject.given.snapshot
        rows = np.flatnonzero(self._fitting())
        if not len(rows):
            return
        price = outcome.kinds.price[outcome.scene.supply.kind[rows]]
        row = int(rows[np.argmin(price)])
        template = _template(machine_at(snapshot, row).machine, _free_pattern(snapshot.ids))
        offered = template.allocatable or template.resources
        whole = _times(self.need.aggregate.times(len(self.subject.keys)), offered)
        guess = self._wanted_first(int(outcome.scene.supply.kind[row]))
        amounts = range(1, min(whole + guess, _MOST_MACHINES) + 1)
        yield Kind(amounts, partial(_with_more, row, template), guess - 1)

    def _wanted_first(self, kind: int) -> int:
        """Machines of a kind that the Needs that come first would take of new ones, and it too."""
        outcome = self.decision.outcome
        last = int(np.flatnonzero(np.isin(outcome.queue, self.rows))[-1])
        first = outcome.queue[: last + 1]
        takers = first[outcome.kinds.eligible[outcome.needs.key[first], kind]]
        units = outcome.kinds.units[kind]
        short = outcome.preempted.unresolved[takers][:, units > 0]
        return max(1, int((-(-short // units[units > 0])).max(axis=1, initial=0).sum()))


# -- single changes --------------------------------------------------------------------------------


def _need_change(
    kind: ChangeKind, text: str, changed: Callable[[Need], Need], amount: int = 1
) -> Change:
    return Change(kind, text, amount, lambda subject: with_needs(subject, changed))


def _profile_change(
    kind: ChangeKind, text: str, changed: Callable[[Profile], Profile], amount: int = 1
) -> Change:
    return _need_change(
        kind, text, lambda need: replace(need, profile=changed(need.profile)), amount
    )


def _with_requirements(profile: Profile, requirements: Sequence[Requirement]) -> Profile:
    return Profile.of(
        requirements,
        profile.spread,
        profile.priority,
        profile.interruption_bucket,
        profile.reclamation_bucket,
    )


def _without_requirement(gone: Requirement, _amount: int) -> Change:
    def without(profile: Profile) -> Profile:
        return _with_requirements(profile, [r for r in profile.requirements if r != gone])

    text = f"without the requirement {requirement_text(gone)}"
    return _profile_change(ChangeKind.REQUIREMENT, text, without)


def _with_value(before: Requirement, value: str) -> Change:
    after = Requirement.of(before.key, before.operator, [*before.values, value])
    text = f"{before.key} {value} allowed too"
    return _profile_change(ChangeKind.VALUE, text, partial(_with_other, before, after))


def _with_wider(before: Requirement, key: str) -> Change:
    after = Requirement.of(key, Operator.SAME)
    text = f"machines with the same {key} instead of the same {before.key}"
    return _profile_change(ChangeKind.WIDER_SAME, text, partial(_with_other, before, after))


def _with_other(before: Requirement, after: Requirement, profile: Profile) -> Profile:
    changed = [after if each == before else each for each in profile.requirements]
    return _with_requirements(profile, changed)


def _fewer_gangs(count: int) -> Change:
    text = f"{_counted(count, 'gang')} less"
    return Change(ChangeKind.SMALLER, text, count, lambda subject: with_fewer(subject, count))


def _without_hold(by: HeldBy, offering: str, rows: Int64s, _amount: int) -> Change:
    what = f" of {offering}" if offering else ""
    text = f"{_counted(len(rows), 'machine')}{what} not held by {by} any more"
    return Change(ChangeKind.HOLD, text, 1, lambda subject: without_holds(subject, rows))


def _offering_name(offering: Offering) -> str:
    parts = (offering.instance_type, offering.capacity_type.label)
    where = f" in {offering.zone}" if offering.zone else ""
    return f"{' '.join(filter(None, parts))}{where}"


def _without_reserved(
    kind: ReservationKind, holder: NeedKey, machines: frozenset[str], _amount: int
) -> Change:
    name = f"reserved for need/{holder.cluster}/{holder.need_id}"
    said = "offered to another shard" if kind is ReservationKind.OFFER else name
    return Change(
        ChangeKind.RESERVATION,
        f"{_counted(len(machines), 'machine')} not {said}",
        1,
        lambda subject: without_reservations(subject, machines),
    )


def _with_more(row: int, template: Machine, count: int) -> Change:
    edit = AddMachines(template, count, template.id)
    kind = template.instance_type or "the cheapest type"
    where = f" in {template.zone}" if template.zone else ""
    text = f"{count} more {'machine' if count == 1 else 'machines'} of {kind}{where}"
    return Change(
        ChangeKind.MACHINES,
        text,
        count,
        lambda subject: with_machines(subject, row, ids_of(edit)),
        (edit,),
    )


def _template(machine: Machine, pattern: str) -> Machine:
    labels = {key: value for key, value in machine.labels.items() if key != HOSTNAME_KEY}
    return replace(
        machine,
        id=pattern,
        state=MachineState.SPECULATIVE,
        host=Host(),
        cluster="",
        labels=labels,
        assigned=Assigned(),
        last_error="",
    )


def _free_pattern(ids: list[str]) -> str:
    """Of ids that come after those there are, and with none of them in between."""
    last = max(ids[-1:], default="")
    return "~new-{0000}" if last < "~new-" else f"{last}~new-{{0000}}"


def _in_states(state: Int8s, wanted: Sequence[MachineState]) -> Bools:
    found: Bools = np.isin(state, [int(each) for each in wanted])
    return found


def _times(wanted: Resources, offered: Resources) -> int:
    """How often what is offered must come to be all that is wanted; 1 at least."""
    counts = [-(-amount // offered[name]) for name, amount in wanted.amounts if offered[name] > 0]
    return max(counts, default=1)


def _said(resources: Resources) -> str:
    return resources_text(resources.positive().texts())


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
