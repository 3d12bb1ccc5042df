"""Why not: the engine's predicates on one machine, in their order, with the values they compare.

The first that fails is what stands in the way. Nothing is decided here: requirements, units,
domains and guards are asked of the engine's own columns and functions, for one row.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bigfleet.engine.encoding import HELD_BY
from bigfleet.engine.kernels.records import PoolArrays
from bigfleet.engine.kernels.vectors import may_use
from bigfleet.engine.release import release_hold
from bigfleet.engine.reservations import guards_of, wanted_reservations
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.need_facts import ACQUIRABLE, machine_name, need_name
from bigfleet.explain.needs import reasons_of_need, requirement_text
from bigfleet.explain.victims import Victim, victims_of
from bigfleet.model.advice import advice_on
from bigfleet.model.batches import NEVER
from bigfleet.model.instants import instant_text
from bigfleet.model.machine_answers import Check, WhyNot
from bigfleet.model.machines import MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.quantities import readable_text
from bigfleet.model.reasons import (
    dollars_text,
    duration_text,
    number_text,
    resources_text,
)
from bigfleet.model.shard_views import Disposition

#: The engine's own function, as Python.
_may_use = getattr(may_use, "py_func", may_use)
_HOLD_REMEDIES = {
    "backoff": "bigfleet reports offerings shows how long the offering rests, and resets it",
    "quota": "a larger quota: bigfleet quotas set",
    "unseen": "the next List of its provider that names it",
    "operator": "its operator letting go of it",
}
_TIERS = (
    (1, "rails", "nothing held back"),
    (2, "topology", "one domain, or a spread, that holds it"),
    (3, "supply", "machines that fit and may be taken"),
    (4, "in flight", "nothing to wait for"),
    (5, "contention", "machines that fit and that no other Need holds"),
)


@dataclass(frozen=True, slots=True)
class _Finding:
    check: Check
    #: Why it fails, in a few words with both values.
    why: str = ""
    would_change: tuple[str, ...] = ()


def _finding(
    name: str, passed: bool, expected: str, actual: str, why: str = "", *remedies: str
) -> _Finding:
    return _Finding(Check(name, passed, expected, actual), why or actual, remedies)


# -- a machine for a Need --------------------------------------------------------------------------


def why_not_assigned(cycle: DecidedCycle, row: int, need: int) -> WhyNot:
    """Of a machine of another cluster: whether it can be preempted for the Need."""
    machine, wanting = machine_name(cycle.given.snapshot.ids[row]), cycle.need_name(need)
    if cycle.holder(row) == need:
        state = cycle.state(row).label
        text = f"{machine} is claimed by {wanting} in this cycle ({state})"
        return _answer(cycle, text, "", _fitting(cycle, row, need))
    if cycle.preemptor(row) == need:
        text = f"{machine} is preempted for {wanting} in this cycle"
        return _answer(cycle, text, "", _fitting(cycle, row, need))
    findings = list(_assignment(cycle, row, need))
    return _answer(cycle, "", f"{machine} is not assigned to {wanting}", findings)


def why_not_preempted(cycle: DecidedCycle, row: int, need: int) -> WhyNot:
    machine, wanting = machine_name(cycle.given.snapshot.ids[row]), cycle.need_name(need)
    if cycle.preemptor(row) == need:
        text = f"{machine} is preempted for {wanting} in this cycle"
        return _answer(cycle, text, "", _fitting(cycle, row, need))
    findings = list(_preemption(cycle, row, need))
    return _answer(cycle, "", f"{machine} is not preempted for {wanting}", findings)


def _assignment(cycle: DecidedCycle, row: int, need: int) -> Iterator[_Finding]:
    columns, state = cycle.given.snapshot.columns, cycle.state(row)
    cluster = int(columns.cluster[row])
    if state in ACQUIRABLE:
        yield _finding("state", True, "Idle or Speculative", state.label)
        yield _held(cycle, row)
        yield from _fitting(cycle, row, need)
        yield from _places(cycle, row, need)
        yield _reserved(cycle, row, need)
        yield _claimed(cycle, row, need)
        yield from _enough(cycle, row, need)
    elif state is MachineState.CREATING:
        yield _ordered(cycle, row, need)
        yield _overdue(cycle, row)
        yield from _fitting(cycle, row, need)
        yield from _places(cycle, row, need)
        yield _claimed(cycle, row, need)
        yield _covered_before(cycle, row, need, "orders")
    elif state in (MachineState.CONFIGURED, MachineState.CONFIGURING) and (
        cluster == cycle.outcome.needs.cluster[need]
    ):
        yield _finding("state", True, "bound to the Need's cluster", state.label)
        yield _overdue(cycle, row)
        yield from _fitting(cycle, row, need)
        yield from _places(cycle, row, need)
        yield _claimed(cycle, row, need)
        yield _covered_before(cycle, row, need, "keep order")
    else:
        yield from _preemption(cycle, row, need)


def _held(cycle: DecidedCycle, row: int) -> _Finding:
    code = int(cycle.given.snapshot.columns.held[row])
    if not code:
        return _finding("held", True, "not held", "not held")
    by = HELD_BY[code - 1].value
    return _finding("held", False, "not held", f"held by {by}", f"held by {by}", _HOLD_REMEDIES[by])


def _fitting(cycle: DecidedCycle, row: int, need: int) -> list[_Finding]:
    """Requirement by requirement, then one unit in each dimension."""
    outcome, scene = cycle.outcome, cycle.outcome.scene
    wanted, machine, kind = outcome.need(need), cycle.machine(row).machine, cycle.kind(row)
    found = []
    for requirement in wanted.profile.requirements:
        text, value = requirement_text(requirement), machine.attribute(requirement.key)
        has = "none" if value is None else value
        met = bool(scene.kinds.meets(requirement)[kind])
        why = f"{requirement.key} is {has}, {text} needed"
        remedy = f"a machine, or a Need, for which {text} holds"
        found.append(_finding(f"requirement {requirement.key}", met, text, has, why, remedy))
    unit = scene.vector_units[outcome.normalised.unit[need]].tolist()
    offered = outcome.kinds.units[kind].tolist()
    for name, amount, have in zip(scene.dimensions, unit, offered, strict=True):
        if amount > 0:
            needed, there = readable_text(name, amount), readable_text(name, have)
            why = f"{name} {there} allocatable, {needed} needed"
            remedy = f"a unit of at most {name} {there}, or a machine with {name} {needed}"
            passed = have >= amount
            found.append(_finding(f"min-unit {name}", passed, needed, there, why, remedy))
    return found


def _places(cycle: DecidedCycle, row: int, need: int) -> Iterator[_Finding]:
    """The domain of a gang, and whether a spread has a domain for the machine."""
    outcome = cycle.outcome
    same, spread = int(outcome.needs.same[need]), int(outcome.needs.spread[need])
    if same >= 0:
        key, chosen = outcome.scene.topology_keys[same], cycle.decision.domain(need)
        there = cycle.domain(row, same) or "none"
        parked = bool(outcome.parked[need])
        resting = "parked: it keeps what it has and acquires nothing" if parked else "trying"
        yield _finding(
            "parked",
            not parked or cycle.state(row) not in ACQUIRABLE,
            "not parked",
            resting,
            f"the gang is {resting}",
            "room for the whole gang in one domain; it tries again by itself",
        )
        if chosen is None:
            why = f"no {key} has a machine that is the gang's own or free to it"
            yield _finding("domain", False, f"a {key} for the gang", "none", why, f"{key}: room")
        else:
            why = f"the gang is in {key} {chosen}, the machine in {there}"
            remedy = f"more room in {there} than in {chosen}; all of the gang moves, or none"
            yield _finding("domain", there == chosen, chosen, there, why, remedy)
    if spread >= 0:
        key, where = outcome.scene.topology_keys[spread], cycle.domain(row, spread)
        why = f"the machine has no {key} to be spread over"
        remedy = f"a label {key} on the machine"
        yield _finding(
            "spread domain", where is not None, f"some {key}", where or "none", why, remedy
        )


def _reserved(cycle: DecidedCycle, row: int, need: int) -> _Finding:
    standing = cycle.standing(row)
    if standing is None or not wanted_reservations([standing], cycle.outcome.normalised):
        return _finding("reserved", True, "not reserved for others", "not reserved")
    guards, nothing = guards_of([standing]), np.zeros(1, np.int32)
    pool = PoolArrays(
        nothing,
        nothing,
        nothing,
        nothing,
        nothing,
        np.zeros(1, np.bool_),
        nothing,
        nothing,
        nothing,
        guards.kind,
        guards.identity,
        guards.fingerprint,
        guards.precedence,
    )
    allowed = bool(_may_use(need, 0, cycle.outcome.needs, pool))
    kept = standing.reservation
    until = f" until {instant_text(kept.expires_at)}" if kept.expires_at else ""
    whom = "another shard" if kept.kind is ReservationKind.OFFER else need_name(kept.holder)
    actual = f"reserved for {whom}{until}"
    remedy = f"{whom} taking another machine, or the reservation ending{until}"
    return _finding("reserved", allowed, "not reserved for others", actual, actual, remedy)


def _claimed(cycle: DecidedCycle, row: int, need: int) -> _Finding:
    """Only Needs that come first stand in the way: the others take what is left."""
    holder = cycle.holder(row)
    expected = "no Need that comes first claims it"
    if holder < 0:
        return _finding("claimed", True, expected, "claimed by no Need")
    outcome, first = cycle.outcome, cycle.comes_before(holder, need)
    higher = outcome.needs.precedence[holder] > outcome.needs.precedence[need]
    rank = "of higher precedence" if higher else "of equal precedence, which came first"
    who = f"{cycle.need_name(holder)} (priority {int(outcome.needs.priority[holder])})"
    actual = f"claimed by {who}" + (f", {rank}" if first else ", which comes later")
    own = int(outcome.needs.priority[need])
    remedy = f"a priority above {int(outcome.needs.priority[holder])}; it is {own} now"
    return _finding(
        "claimed", not first, expected, actual, actual, remedy, "another machine for it"
    )


def _enough(cycle: DecidedCycle, row: int, need: int) -> Iterator[_Finding]:
    """What is left to fail of a free machine: the skew, and that others cover the Need."""
    outcome = cycle.outcome
    short, spread = bool(outcome.unsatisfied[need]), int(outcome.needs.spread[need])
    if spread >= 0:
        skewed = short and cycle.holder(row) < 0
        key, where = outcome.scene.topology_keys[spread], cycle.domain(row, spread)
        names, domain_of_kind = outcome.scene.kinds.domains(key)
        own = outcome.scene.supply.kind[outcome.credit.holder == need]
        counts = np.bincount(domain_of_kind[own] + 1, minlength=len(names) + 1)[1:]
        here = int(counts[names.index(where)]) if where in names else 0
        most = int(outcome.needs.skew[need])
        why = f"one more in {key} {where}, which has {here}, exceeds a skew of {most}"
        yield _finding(
            "spread",
            not skewed,
            f"a skew of at most {most} over {key}",
            f"{here} machines in {where}",
            why,
            f"room in the {key} with the fewest, or a larger maxSkew",
        )
    yield _cheaper(cycle, row, need)


def _cheaper(cycle: DecidedCycle, row: int, need: int) -> _Finding:
    outcome, rows = cycle.outcome, np.array([row])
    cost = dollars_text(float(cycle.costs(need, rows)[0]))
    first, count = int(outcome.acquired.start[need]), int(outcome.acquired.count[need])
    expected = "the Need is short of something when it is this machine's turn"
    if outcome.unsatisfied[need] and outcome.needs.same[need] < 0:
        return _finding("cost", True, expected, f"{cost} effective")
    if not count:
        actual = "the Need has all it asks for, or takes nothing"
        if outcome.unsatisfied[need]:
            actual = "its gang is taken whole or not at all, and part of it was taken by others"
        return _finding("cost", False, expected, actual, actual, "more demand")
    taken = outcome.acquired.taken[first : first + count].astype(np.int64)
    dearest = float(cycle.costs(need, taken).max())
    state = cycle.state(row)
    spoke = (
        "idle machines come before those to be bought; "
        if (
            state is MachineState.SPECULATIVE
            and (outcome.scene.snapshot.columns.state[taken] == int(MachineState.IDLE)).all()
        )
        else ""
    )
    others = f"{count} others cover it, the dearest at {dollars_text(dearest)}"
    actual = f"{spoke}{cost} effective; {others}"
    remedy = f"an effective cost below {dollars_text(dearest)}, or more demand"
    return _finding("cost", False, expected, actual, actual, remedy)


def _ordered(cycle: DecidedCycle, row: int, need: int) -> _Finding:
    outcome, snapshot = cycle.outcome, cycle.given.snapshot
    stamp = int(snapshot.columns.stamp[row])
    cluster = int(snapshot.stamps.cluster[stamp])
    own = int(snapshot.stamps.pair[stamp]) == int(outcome.needs.pair[need]) and cluster in (
        -1,
        int(outcome.needs.cluster[need]),
    )
    remedy = "wait until it is Idle: then any Need may take it"
    actual = "Creating for this Need" if own else "Creating for another Need"
    return _finding("state", own, "Idle, Speculative, or ordered for this Need", actual, "", remedy)


def _overdue(cycle: DecidedCycle, row: int) -> _Finding:
    late = bool(cycle.given.snapshot.columns.overdue[row])
    actual = "past the deadline of its state" if late else "in time"
    remedy = "its provider finishing it"
    return _finding("overdue", not late, "in time", actual, f"it is {actual}", remedy)


def _covered_before(cycle: DecidedCycle, row: int, need: int, order: str) -> _Finding:
    claimed = int(np.count_nonzero(cycle.outcome.credit.holder == need))
    actual = f"{claimed} machines before it in {order} cover the Need"
    if order == "keep order" and (place := cycle.keep_rank(row))[0]:
        actual += f"; it is number {place[0]} of {place[1]}"
    expected = f"the Need is short of something when {order} reaches the machine"
    remedy = "more demand, a lower price or a higher reclamation penalty of the machine"
    return _finding(order, False, expected, actual, actual, remedy)


# -- preemption ------------------------------------------------------------------------------------


def _preemption(cycle: DecidedCycle, row: int, need: int) -> Iterator[_Finding]:
    outcome, state = cycle.outcome, cycle.state(row)
    configured = state is MachineState.CONFIGURED
    where = cycle.machine(row).machine.cluster
    actual = f"{state.label} for cluster {where}" if where else state.label
    expected = "Configured, Idle, Speculative, or on its way to the Need"
    remedy = "wait until it is Idle"
    yield _finding("state", configured, expected, actual, f"it is {actual}", remedy)
    yield from _fitting(cycle, row, need)
    if not configured:
        return
    yield from _places(cycle, row, need)
    own, theirs = int(outcome.needs.priority[need]), cycle.victim_priority(row)
    holder = cycle.holder(row)
    who = f"priority {theirs}" + (f" of {cycle.need_name(holder)}" if holder >= 0 else "")
    why = f"it serves {who}, and only what is below {own} may be preempted"
    remedy = f"a priority above {theirs} for the Need"
    yield _finding("priority", theirs < own, f"below {own}", who, why, remedy)
    left = outcome.resources(outcome.credit.remaining[need].tolist())
    short = bool(outcome.unsatisfied[need])
    have = f"short of {resources_text(left.texts())}" if short else "covered without preempting"
    yield _finding(
        "short", short, "short after all that is free", have, f"the Need is {have}", "more demand"
    )
    parked = bool(outcome.parked[need])
    if parked:
        why = "the gang is parked and preempts nothing"
        yield _finding("parked", False, "not parked", "parked", why, "room for the whole gang")
    yield from _better_victims(cycle, row, need)


def _better_victims(cycle: DecidedCycle, row: int, need: int) -> Iterator[_Finding]:
    other = cycle.preemptor(row)
    if other >= 0:
        actual = f"preempted for {cycle.need_name(other)}"
        remedy = f"a priority above {int(cycle.outcome.needs.priority[other])}"
        yield _finding("victim of another", False, "preempted for no other", actual, actual, remedy)
    chosen = [each for each in victims_of(cycle, need) if each.chosen]
    mine = Victim.of(cycle, row, need)
    if not chosen:
        actual = "its victims on their way cover it, or no set of victims does"
        yield _finding("victims", False, "the Need takes victims", actual, actual, "more demand")
        return
    last = chosen[-1]
    actual = (
        f"score {number_text(mine.score)}; {len(chosen)} better victims cover it, the last of them"
    )
    actual += f" {last.machine} with {number_text(last.score)}"
    remedy = "lower penalties or a lower priority of the machine: a score above"
    remedy += f" {number_text(last.score)}"
    yield _finding("score", False, "among the best victims", actual, actual, remedy, "more demand")


# -- still here ------------------------------------------------------------------------------------


def why_not_removed(cycle: DecidedCycle, row: int) -> WhyNot:
    """Why a machine is not reclaimed, not released, not deleted."""
    machine = machine_name(cycle.given.snapshot.ids[row])
    match cycle.state(row):
        case MachineState.CONFIGURED:
            findings = list(_reclaim(cycle, row))
            return _answer(cycle, _going(cycle, row), f"{machine} is not reclaimed", findings)
        case MachineState.IDLE:
            findings = list(_release(cycle, row))
            return _answer(cycle, _going(cycle, row), f"{machine} is not released", findings)
        case MachineState.SPECULATIVE:
            why = "it is Speculative: a slot that is not bought costs nothing"
            remedy = "nothing is to be given back"
        case state:
            why = f"it is {state.label}: what is under way ends first"
            remedy = "wait until it is Idle or Configured"
    label = cycle.state(row).label
    found = [_finding("state", False, "Configured or Idle", label, why, remedy)]
    return _answer(cycle, "", f"{machine} is not removed", found)


def _going(cycle: DecidedCycle, row: int) -> str:
    views = cycle.views_of(row)
    machine = machine_name(cycle.given.snapshot.ids[row])
    if not views:
        return f"nothing keeps {machine}"
    return f"{machine} is going: {views[0].kind.label} in this cycle; {views[0].reason}"


def _reclaim(cycle: DecidedCycle, row: int) -> Iterator[_Finding]:
    """In the order of Phase 3: reported, claimed; then what became of the action."""
    outcome, cluster = cycle.outcome, cycle.machine(row).machine.cluster
    ready = cycle.given.options.clusters_ready
    reported = ready is None or cluster in ready
    actual = "has reported" if reported else "has not reported yet"
    why = f"cluster {cluster} {actual}: nothing of it is reclaimed before its first roll-up"
    remedy = f"the first roll-up of {cluster}: bigfleet clusters shows whether it is connected"
    yield _finding("cluster", reported, "has reported", actual, why, remedy)
    holder, (place, of) = cycle.holder(row), cycle.keep_rank(row)
    if holder >= 0:
        who = f"{cycle.need_name(holder)} (priority {int(outcome.needs.priority[holder])})"
        actual = f"claimed by {who}, number {place} of {of} in keep order"
        remedies = (
            f"less demand of {cycle.need_name(holder)}",
            "a cheaper machine of the cluster, or one of a higher reclamation penalty",
        )
        yield _finding("claimed", False, "claimed by no Need", actual, actual, *remedies)
    else:
        yield _finding("claimed", True, "claimed by no Need", "claimed by no Need")
        yield from _dispositions(cycle, row)
    yield from _hold(cycle, row)


def _release(cycle: DecidedCycle, row: int) -> Iterator[_Finding]:
    columns, machine = cycle.given.snapshot.columns, cycle.given.snapshot.ids[row]
    holder = cycle.holder(row)
    who = f"claimed by {cycle.need_name(holder)}" if holder >= 0 else "claimed by no Need"
    remedy = "less demand of the Need"
    yield _finding("claimed", holder < 0, "claimed by no Need", who, who, remedy)
    yield _held(cycle, row)
    yield from _hold(cycle, row)
    since, now = int(columns.idle_since[row]), cycle.given.now
    if now is None or since == NEVER:
        actual = "the fleet has no clock" if now is None else "not known since when it is idle"
        yield _finding("idle since", False, "a known instant", actual, actual, "options.now")
    else:
        capacity = cycle.machine(row).machine.capacity_type
        hold = release_hold(cycle.given.options, capacity)
        idle = duration_text((now - since) // 1_000_000_000)
        kept = duration_text(hold // 1_000_000_000)
        over = hold > 0 and now - since >= hold
        until = instant_text(since + hold)
        why = f"idle for {idle}; {capacity.label} is kept for {kept}, until {until}"
        yield _finding(
            "hold", over, f"idle for {kept}", f"idle for {idle}", why, f"wait until {until}"
        )
    kept_for = cycle.decision.memory.reservations.get(machine)
    actual = f"reserved for {need_name(kept_for.holder)}" if kept_for else "not reserved"
    yield _finding(
        "reserved",
        kept_for is None,
        "not reserved",
        actual,
        actual,
        "the reservation being used, or ending",
    )
    yield from _dispositions(cycle, row)


def _hold(cycle: DecidedCycle, row: int) -> Iterator[_Finding]:
    capacity = cycle.machine(row).machine.capacity_type
    releasable = release_hold(cycle.given.options, capacity) > 0
    actual = f"{capacity.label} is {'released after a hold' if releasable else 'never released'}"
    yield _finding(
        "capacity type",
        releasable,
        "a type that is released",
        actual,
        actual,
        "nothing: owned and reserved capacity stays, Idle, for the next Need",
    )


def _dispositions(cycle: DecidedCycle, row: int) -> Iterator[_Finding]:
    for view in cycle.views_of(row) if cycle.is_carried_out else ():
        said = view.disposition
        word = "not told" if said is None else said.name.lower().replace("_", "-")
        carried = said in (Disposition.ENQUEUED, Disposition.DEDUPED)
        why = f"its {view.kind.label} was decided and is {word}"
        remedy = "bigfleet status shows pauses, dry-run and limits; bigfleet resume lifts a pause"
        yield _finding("disposition", carried, "enqueued", word, why, remedy)


# -- a Need ----------------------------------------------------------------------------------------


def why_not_satisfied(cycle: DecidedCycle, need: int) -> WhyNot:
    """The reasons of the Need, tier by tier."""
    verdict, name = cycle.verdict(need), cycle.need_name(need)
    reasons = () if verdict.satisfied else reasons_of_need(cycle.facts, verdict)
    findings = []
    for tier, title, expected in _TIERS:
        told = [reason.text for reason in reasons if reason.tier == tier]
        text = "; ".join(told) or expected
        findings.append(_finding(title, not told, expected, text, text))
    lacks = resources_text(verdict.deficit.positive().texts())
    findings.append(
        _finding("deficit", verdict.satisfied, "nothing", lacks, f"short of {lacks}", "supply")
    )
    advised = {reason.code: advice_on(reason.code) for reason in reasons}
    remedies = tuple(f"{code}: {advice.todo}" for code, advice in advised.items() if advice)
    answer = _answer(cycle, f"{name} is satisfied", f"{name} is not satisfied", findings)
    return WhyNot(answer.cycle, answer.sentence, answer.blocking, answer.checks, remedies)


def _answer(cycle: DecidedCycle, otherwise: str, so_far: str, found: list[_Finding]) -> WhyNot:
    """`otherwise`: the sentence where nothing stands in the way."""
    blocking = next((each for each in found if not each.check.passed), None)
    sentence = f"{so_far}: {blocking.why}" if blocking and so_far else otherwise
    return WhyNot(
        cycle.given.cycle,
        sentence,
        blocking.check if blocking else None,
        tuple(each.check for each in found),
        blocking.would_change if blocking else (),
    )
