"""What became of each machine of the shard when one Need was served, as one column.

The first thing that stood between the Need and the machine, in the order in which the engine looks:
state, requirements, unit, domain, what holds it back, who claims or reserves it; what is left was
free to take.
"""

from dataclasses import dataclass

import numpy as np

from bigfleet.engine.decision import Verdict
from bigfleet.engine.encoding import HELD_BY
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Bools, Int8s, Int64s
from bigfleet.engine.outcome import Outcome
from bigfleet.explain.need_facts import need_name
from bigfleet.explain.needs import requirement_text
from bigfleet.model.explanations import (
    CandidateOutcome,
    CandidateVerdict,
    CostView,
    RejectCount,
)
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machine_answers import Check
from bigfleet.model.machines import MachineState
from bigfleet.model.quantities import quantity_text
from bigfleet.model.requirements import HOSTNAME_KEY, attribute_of

C = CandidateOutcome
S = MachineState

#: A machine's case: what became of it, and the code of the reason for it.
_CASES: tuple[tuple[CandidateOutcome, str], ...] = (
    (C.UNSPECIFIED, ""),
    (C.CREDITED, "keep.order"),
    (C.CHOSEN, "cost.rank"),
    (C.STATE, "supply.none"),
    (C.REQUIREMENT, "supply.requirement"),
    (C.MIN_UNIT, "supply.min-unit"),
    (C.DOMAIN, "same.no-domain"),
    (C.DOMAIN, "same.too-small"),
    (C.BACKOFF, "supply.backoff"),
    (C.QUOTA, "supply.quota"),
    (C.UNSEEN, "supply.none"),
    (C.HELD, "claim.higher"),
    (C.HELD, "claim.earlier"),
    (C.HELD, "preempt.exhausted"),
    (C.HELD, "cost.rank"),
    (C.RESERVED, "flight.reserved"),
    (C.RESERVED, "flight.draining"),
    (C.STATE, "flight.creating"),
    (C.STATE, "flight.configuring"),
    (C.STATE, "excess"),
    (C.SPREAD, "spread.skew"),
    (C.DOMAIN, "same.parked"),
    (C.NOT_NEEDED, "cost.rank"),
    (C.STATE, "flight.draining"),
    (C.NOT_NEEDED, "keep.order"),
)
_NUMBER = {case: number for number, case in enumerate(_CASES)}
_TEXTS = {
    C.CREDITED: "counts for it already",
    C.NOT_NEEDED: "what came before it is enough",
    C.QUOTA: "held back by a quota",
    C.BACKOFF: "held back: its offering rests after a failure",
    C.UNSEEN: "left alone: a person or the provider's List holds it back",
    C.SPREAD: "its domain has as many machines of the Need as the skew allows",
}


@dataclass(frozen=True, slots=True)
class Classified:
    #: Per machine, a row of _CASES.
    case: Int8s
    #: Rows the Need was free to take, those it took included, in the order of the engine.
    pool: Int64s

    def outcome_of(self, row: int) -> CandidateOutcome:
        return _CASES[int(self.case[row])][0]

    def counts(self) -> tuple[RejectCount, ...]:
        """The largest first; all of them together are the machines of the shard."""
        found = np.bincount(self.case, minlength=len(_CASES)).tolist()
        told = [RejectCount(*case, n) for case, n in zip(_CASES, found, strict=True) if n]
        return tuple(sorted(told, key=lambda each: (-each.machines, each.outcome, each.code)))


class _Sorter:
    """Gives each machine the first case that holds for it."""

    def __init__(self, size: int) -> None:
        self.case = np.zeros(size, np.int8)
        self.open: Bools = np.ones(size, np.bool_)

    def put(self, chosen: Bools, outcome: CandidateOutcome, code: str) -> None:
        here = self.open & chosen
        self.case[here] = _NUMBER[outcome, code]
        self.open &= ~here


def classify(given: EngineInput, outcome: Outcome, verdict: Verdict, row: int) -> Classified:
    scene, columns = outcome.scene, outcome.scene.snapshot.columns
    kind, state, holder = scene.supply.kind, columns.state, outcome.credit.holder
    needs, sorter = outcome.needs, _Sorter(len(columns.state))
    start, count = int(outcome.acquired.start[row]), int(outcome.acquired.count[row])
    taken = np.zeros(len(state), np.bool_)
    taken[outcome.acquired.taken[start : start + count]] = True
    own: Bools = holder == row
    acquirable = np.isin(state, (S.IDLE, S.SPECULATIVE))
    mine, others = _reserved(given, outcome, verdict)

    sorter.put(own & taken, C.CHOSEN, "cost.rank")
    sorter.put(own, C.CREDITED, "keep.order")
    sorter.put(mine & (state == S.DRAINING), C.RESERVED, "flight.draining")
    sorter.put(state == S.DRAINING, C.STATE, "flight.draining")
    bound = np.isin(state, (S.CONFIGURED, S.CONFIGURING, S.CREATING))
    sorter.put(~(acquirable | bound), C.STATE, "supply.none")
    sorter.put(~scene.matches[outcome.normalised.profile[row]][kind], C.REQUIREMENT, _REQUIRED)
    sorter.put(~outcome.kinds.eligible[needs.key[row]][kind], C.MIN_UNIT, "supply.min-unit")
    if needs.same[row] >= 0:
        domain = outcome.kinds.domain[needs.same[row]][kind]
        sorter.put(domain < 0, C.DOMAIN, "same.no-domain")
        # Without a domain of its own, another one's machines were all too few.
        sorter.put(domain != outcome.credit.domain[row], C.DOMAIN, "same.too-small")
    if needs.pinned[row]:
        untyped = outcome.kinds.type_rank[kind] < 0
        sorter.put(acquirable & untyped, C.REQUIREMENT, _REQUIRED)
    _put_held(sorter, columns.held, acquirable)
    _put_claimed(sorter, outcome, verdict, row)
    sorter.put(others, C.RESERVED, "flight.reserved")
    _put_bound(sorter, outcome, row)
    if needs.parked[row]:
        sorter.put(acquirable, C.DOMAIN, "same.parked")
    if not verdict.satisfied and needs.spread[row] >= 0:
        sorter.put(acquirable, C.SPREAD, "spread.skew")
    if not verdict.satisfied and needs.same[row] >= 0:
        # Gangs before it speak for what is free in its domain (U10).
        sorter.put(acquirable, C.DOMAIN, "same.too-small")
    sorter.put(acquirable, C.NOT_NEEDED, "cost.rank")
    sorter.put(np.ones(len(state), np.bool_), C.NOT_NEEDED, "keep.order")
    return Classified(sorter.case, _pool(outcome, sorter.case, row))


_REQUIRED = "supply.requirement"


def _put_held(sorter: _Sorter, held: Int8s, acquirable: Bools) -> None:
    for code, by in enumerate(HELD_BY, 1):
        chosen = acquirable & (held == code)
        if by is HeldBy.BACKOFF:
            sorter.put(chosen, C.BACKOFF, "supply.backoff")
        elif by is HeldBy.QUOTA:
            sorter.put(chosen, C.QUOTA, "supply.quota")
        else:
            sorter.put(chosen, C.UNSEEN, "supply.none")


def _put_claimed(sorter: _Sorter, outcome: Outcome, verdict: Verdict, row: int) -> None:
    holder, precedence = outcome.credit.holder, outcome.needs.precedence
    claimed = holder >= 0
    victims = np.zeros(len(holder), np.bool_)
    victims[outcome.preempted.row[outcome.preempted.need == row]] = True
    sorter.put(victims, C.RESERVED, "flight.draining")
    theirs = precedence[np.maximum(holder, 0)] if len(precedence) else precedence
    sorter.put(claimed & (theirs > precedence[row]), C.HELD, "claim.higher")
    sorter.put(claimed & (theirs == precedence[row]), C.HELD, "claim.earlier")
    code = "cost.rank" if verdict.unresolved.is_zero() else "preempt.exhausted"
    sorter.put(claimed, C.HELD, code)


def _put_bound(sorter: _Sorter, outcome: Outcome, row: int) -> None:
    """What no Need claims: orders and machines of other clusters, and its own cluster's rest."""
    columns = outcome.scene.snapshot.columns
    state, elsewhere = columns.state, columns.cluster != outcome.needs.cluster[row]
    sorter.put(state == S.CREATING, C.STATE, "flight.creating")
    sorter.put((state == S.CONFIGURING) & elsewhere, C.STATE, "flight.configuring")
    sorter.put((state == S.CONFIGURED) & elsewhere, C.STATE, "excess")
    overdue = np.isin(state, (S.CONFIGURED, S.CONFIGURING)) & columns.overdue
    sorter.put(overdue, C.STATE, "supply.none")


def _reserved(given: EngineInput, outcome: Outcome, verdict: Verdict) -> tuple[Bools, Bools]:
    """Machines reserved for the Need, and for others."""
    snapshot = outcome.scene.snapshot
    mine, others = np.zeros(len(snapshot), np.bool_), np.zeros(len(snapshot), np.bool_)
    for machine, reservation in given.memory.reservations.items():
        if (row := snapshot.row_of(machine)) >= 0:
            own = reservation.holder == verdict.need.key
            (mine if own else others)[row] = True
    return mine, others


def _pool(outcome: Outcome, case: Int8s, row: int) -> Int64s:
    """Chosen machines and those left free: Idle before Speculative, by effective cost, by id."""
    free = [_NUMBER[C.CHOSEN, "cost.rank"], _NUMBER[C.NOT_NEEDED, "cost.rank"]]
    free += [_NUMBER[C.SPREAD, "spread.skew"]]
    return _by_cost(outcome, np.flatnonzero(np.isin(case, free)), row)


def _by_cost(outcome: Outcome, rows: Int64s, row: int) -> Int64s:
    speculative = outcome.scene.snapshot.columns.state[rows] == S.SPECULATIVE
    cost = outcome.effective_cost(rows.astype(np.int32), np.full(len(rows), row))
    return rows[np.lexsort((cost, speculative))]


# -- the first of them as records ------------------------------------------------------------------


def candidate_verdicts(
    outcome: Outcome, verdict: Verdict, row: int, found: Classified, most: int
) -> tuple[CandidateVerdict, ...]:
    """Those it was free to take first; then others that fit, by cost; then those that do not."""
    shown = found.pool[:most]
    if len(shown) < most:
        shown = np.concatenate([shown, _others(outcome, found, row, most - len(shown))])
    rank = {each: place + 1 for place, each in enumerate(found.pool[:most].tolist())}
    return tuple(
        _verdict_on(outcome, verdict, row, found, each, rank.get(each, 0))
        for each in shown.tolist()
    )


def _others(outcome: Outcome, found: Classified, row: int, most: int) -> Int64s:
    last = (C.STATE, C.REQUIREMENT, C.MIN_UNIT)
    hopeless = [number for number, case in enumerate(_CASES) if case[0] in last]
    in_pool = np.zeros(len(found.case), np.bool_)
    in_pool[found.pool] = True
    fitting = np.flatnonzero(~in_pool & ~np.isin(found.case, hopeless))
    chosen = _by_cost(outcome, fitting, row)[:most]
    if len(chosen) == most:
        return chosen
    rest = np.flatnonzero(~in_pool & np.isin(found.case, hopeless))
    return np.concatenate([chosen, _by_cost(outcome, rest, row)[: most - len(chosen)]])


def _verdict_on(
    outcome: Outcome, verdict: Verdict, row: int, found: Classified, machine: int, rank: int
) -> CandidateVerdict:
    snapshot, holder = outcome.scene.snapshot, int(outcome.credit.holder[machine])
    became = found.outcome_of(machine)
    held = became is C.HELD and holder >= 0
    check = _check(outcome, verdict, row, machine, became)
    text = _TEXTS.get(became, "")
    if held:
        priority = int(outcome.needs.priority[holder])
        text = f"claimed by {need_name(outcome.key(holder))} (priority {priority})"
    elif became is C.RESERVED:
        text = _reserved_text(outcome, row, machine)
    elif became is C.STATE:
        text = _state_text(outcome, machine)
    elif check is not None:
        text = f"{check.name}: {check.actual}, needed {check.expected}"
    elif became is C.DOMAIN:
        text = "gangs before it speak for what is free in its domain, or it is parked"
    return CandidateVerdict(
        snapshot.ids[machine],
        MachineState(int(snapshot.columns.state[machine])),
        became,
        rank,
        _cost(outcome, machine, row),
        text,
        () if check is None else (check,),
        outcome.key(holder) if held else None,
        int(outcome.needs.priority[holder]) if held else 0,
    )


def _reserved_text(outcome: Outcome, row: int, machine: int) -> str:
    victims = outcome.preempted.row[outcome.preempted.need == row]
    if bool((victims == machine).any()):
        return "preempted for it now"
    if outcome.scene.snapshot.columns.state[machine] == S.DRAINING:
        return "drains for it"
    return "waits for another Need"


def _state_text(outcome: Outcome, machine: int) -> str:
    snapshot = outcome.scene.snapshot
    state = MachineState(int(snapshot.columns.state[machine])).label
    cluster = int(snapshot.columns.cluster[machine])
    where = f" in cluster {snapshot.tables.clusters.rows[cluster]}" if cluster >= 0 else ""
    return f"{state}{where}"


def _cost(outcome: Outcome, machine: int, row: int) -> CostView:
    kind = int(outcome.scene.supply.kind[machine])
    price, probability = float(outcome.kinds.price[kind]), float(outcome.kinds.probability[kind])
    penalty = float(outcome.needs.penalty[row])
    whole = outcome.effective_cost(np.array([machine], np.int32), np.array([row], np.int64))
    expected = probability * penalty if probability > 0 else 0.0
    return CostView(price, probability, penalty, expected, float(whole[0]))


def _check(
    outcome: Outcome, verdict: Verdict, row: int, machine: int, became: CandidateOutcome
) -> Check | None:
    """The comparison that failed, with both sides."""
    kinds, kind = outcome.kinds, int(outcome.scene.supply.kind[machine])
    if became is C.REQUIREMENT:
        for requirement in verdict.need.profile.requirements:
            if not outcome.scene.kinds.meets(requirement)[kind]:
                said = _value(outcome, machine, requirement.key)
                return Check(requirement.key, False, requirement_text(requirement), said)
        return Check("instance type", False, "a type that the Need names", "none")
    if became is C.MIN_UNIT:
        unit = verdict.need.min_unit
        for place, name in enumerate(outcome.scene.dimensions):
            have = int(kinds.units[kind, place])
            if have < unit[name]:
                wanted = quantity_text(name, unit[name])
                return Check(name, False, wanted, f"{quantity_text(name, have)} allocatable")
    if became is C.DOMAIN and verdict.need.profile.same is not None:
        where = int(kinds.domain[outcome.needs.same[row], kind])
        if where != int(outcome.credit.domain[row]):
            key = verdict.need.profile.same.key
            names = outcome.scene.kinds.domains(key)[0]
            said = names[where] if where >= 0 else "none"
            return Check(key, False, verdict.domain or "a domain that holds the gang", said)
    return None


def _value(outcome: Outcome, machine: int, key: str) -> str:
    snapshot = outcome.scene.snapshot
    tables, columns = snapshot.tables, snapshot.columns
    if key == HOSTNAME_KEY:
        name = int(columns.node_name[machine])
        return tables.node_names.rows[name] if name >= 0 else "none"
    offering = tables.offerings.table.rows[int(columns.offering[machine])]
    labels = dict(offering.labels)
    return attribute_of(key, offering.instance_type, offering.zone, labels) or "none"
