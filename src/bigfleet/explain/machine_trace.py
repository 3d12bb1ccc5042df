"""Why a machine is where it is: who claims it, what is decided about it, what came next best, and
what can happen to it next. Every sentence is about one cycle."""

from collections.abc import Iterator

import numpy as np

from bigfleet.engine.encoding import HELD_BY
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.release import release_hold
from bigfleet.explain.decided_cycle import DecidedCycle, NoSuchObject
from bigfleet.explain.need_facts import ACQUIRABLE, machine_name, need_name
from bigfleet.explain.victims import Victim, next_best_victim
from bigfleet.model.action_outcomes import outcome_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.batches import NEVER
from bigfleet.model.instants import instant_text
from bigfleet.model.machine_answers import MachineAnswer, MachineStep
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.rails import rails_passed
from bigfleet.model.reasons import dollars_text, duration_text, number_text
from bigfleet.model.shard_views import ActionView, Disposition, MachineView
from bigfleet.model.statements import statement_id

#: Machines a step names.
_MOST_NAMED = 8
_NEXT = {
    MachineState.SPECULATIVE: "a Need that it is the cheapest for buys it",
    MachineState.CREATING: "its provider reports it Idle, or Failed",
    MachineState.CONFIGURING: "its provider reports it Configured, or Failed",
    MachineState.DRAINING: "it is Idle when its pods are gone or the grace ends",
    MachineState.DELETING: "its provider reports it gone",
    MachineState.FAILED: "bigfleet machines clear helps it out; else the shard looks again",
}


def explained_machine(cycle: DecidedCycle, machine: str) -> MachineAnswer:
    """Raises NoSuchObject."""
    row = cycle.row_of(machine)
    views = cycle.views_of(row)
    steps = [
        *_standing(cycle, row),
        *(step for view in views for step in _action(cycle, row, view)),
        MachineStep("next", _next(cycle, row, views)),
    ]
    return MachineAnswer(
        cycle.given.cycle,
        machine_view(cycle, row),
        _sentence(cycle, row, views),
        tuple(steps),
        views,
        cycle.keep_rank(row)[0],
        _release_after(cycle, row),
    )


def explained_action(cycle: DecidedCycle, index: int) -> MachineAnswer:
    """Of the machine it is about. Raises NoSuchObject."""
    count = cycle.decision.action_count
    if not 0 <= index < count:
        there = f"it has 0 to {count - 1}" if count else "it decided nothing"
        raise NoSuchObject(f"no action/{cycle.given.cycle}.{index}: {there}")
    row = int(cycle.outcome.action_columns.row[index])
    return explained_machine(cycle, cycle.given.snapshot.ids[row])


def machine_view(cycle: DecidedCycle, row: int) -> MachineView:
    entry, holder = cycle.machine(row), cycle.holder(row)
    return MachineView(
        entry.machine,
        entry.machine.host.provider,
        claimed_by=cycle.outcome.key(holder) if holder >= 0 else None,
        idle_since=entry.marks.idle_since,
        reservation=cycle.given.memory.reservations.get(entry.machine.id),
        empty=entry.marks.empty,
    )


def _sentence(cycle: DecidedCycle, row: int, views: tuple[ActionView, ...]) -> str:
    machine, holder = cycle.machine(row).machine, cycle.holder(row)
    name = f"{machine_name(machine.id)} is {machine.state.label}"
    name += f" for cluster {machine.cluster}" if machine.cluster else ""
    if views:
        return f"{name}; {views[0].kind.label}: {views[0].reason}"
    if holder >= 0:
        return f"{name}, claimed by {cycle.need_name(holder)}; nothing is decided about it"
    return f"{name}; no Need claims it, and nothing is decided about it"


def _standing(cycle: DecidedCycle, row: int) -> Iterator[MachineStep]:
    machine, holder = cycle.machine(row).machine, cycle.holder(row)
    price = f"{machine.capacity_type.label} at {dollars_text(machine.price_per_hour)}/h"
    risk = machine.interruption_probability
    price += f", interrupted with probability {risk:g} an hour" if risk else ""
    yield MachineStep("state", f"{machine.state.label}, {price}")
    if holder >= 0:
        priority = int(cycle.outcome.needs.priority[holder])
        yield MachineStep("claim", f"claimed by {cycle.need_name(holder)} (priority {priority})")
    else:
        yield MachineStep("claim", "no Need claims it")
    place, of = cycle.keep_rank(row)
    if place:
        text = f"number {place} of {of} of its cluster: cheapest kept first"
        yield MachineStep("keep order", text)
    if kept := cycle.given.memory.reservations.get(machine.id):
        yield MachineStep("reserved", reservation_text(kept))
    if held := int(cycle.given.snapshot.columns.held[row]):
        yield MachineStep("held", f"held by {HELD_BY[held - 1].value}")


def reservation_text(kept: Reservation) -> str:
    until = f" until {instant_text(kept.expires_at)}" if kept.expires_at else ""
    return f"reserved for {need_name(kept.holder)} ({kept.kind.value}){until}"


# -- an action -------------------------------------------------------------------------------------


def _action(cycle: DecidedCycle, row: int, view: ActionView) -> Iterator[MachineStep]:
    said = f"action/{view.cycle}.{view.index} {view.kind.label}"
    yield MachineStep("action", said, machine_ids=(view.machine,))
    if view.disposition is not None:
        yield from _carried_out(cycle, view, view.disposition)
    match view.kind:
        case ActionKind.PREEMPT:
            yield from _preempted(cycle, row)
        case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
            yield from _acquired(cycle, row)
        case ActionKind.RECLAIM:
            yield from _reclaimed(cycle, row)
        case ActionKind.DELETE:
            yield MachineStep("next best", "none: every machine whose hold is over is released")


def _carried_out(
    cycle: DecidedCycle, view: ActionView, disposition: Disposition
) -> Iterator[MachineStep]:
    passed = ", ".join(rails_passed(disposition))
    yield MachineStep("rails", f"passed: {passed}" if passed else "it passed none")
    word, ended = disposition.name.lower().replace("_", "-"), cycle.ended_of(view.machine)
    if disposition is not Disposition.ENQUEUED:
        why = f": {view.outcome}" if view.outcome else ""
        yield MachineStep("disposition", f"{word}{why}")
        return
    yield MachineStep("disposition", word)
    if ended is None:
        yield MachineStep("outcome", "none seen yet")
    else:
        yield MachineStep("outcome", f"{ended.outcome}, seen at {instant_text(ended.at)}")
        yield from _statement(cycle, view, ended)


def _statement(cycle: DecidedCycle, view: ActionView, ended: ActionView) -> Iterator[MachineStep]:
    """What it was declared to cost is told where all statements are."""
    outcome = outcome_of(ended.outcome)
    taken = view.kind in (ActionKind.PREEMPT, ActionKind.RECLAIM)
    if taken and outcome is not None and outcome.succeeded:
        name = statement_id(cycle.name, view.machine)
        yield MachineStep("statement", f"{name}, in bigfleet reports invoices --statements")


def _preempted(cycle: DecidedCycle, row: int) -> Iterator[MachineStep]:
    need = cycle.preemptor(row)
    victim = Victim.of(cycle, row, need)
    priority = int(cycle.outcome.needs.priority[need])
    yield MachineStep("taken by", f"{cycle.need_name(need)} (priority {priority})")
    interruption = _penalty_text(victim.assigned.interruption_penalty)
    reclamation = _penalty_text(victim.assigned.reclamation_penalty)
    cost = f"interruption {interruption}, reclamation {reclamation}; declared, not billed"
    yield MachineStep("declared cost", cost)
    following = next_best_victim(cycle, need)
    if following is None:
        yield MachineStep("next best", "none: no other machine below its priority fits")
    else:
        text = f"{machine_name(following.machine)} of cluster {following.cluster}, priority"
        score, own = number_text(following.score), number_text(victim.score)
        text += f" {following.priority}, score {score} against {own}"
        yield MachineStep("next best", text, machine_ids=(following.machine,))
    yield MachineStep("buying", _buying(cycle, need))


def _penalty_text(dollars: float) -> str:
    return "pinned" if dollars == float("inf") else dollars_text(dollars)


def _buying(cycle: DecidedCycle, need: int) -> str:
    """A Need preempts only what free machines leave short: then none is left, or none may be
    taken."""
    taken = int(cycle.outcome.acquired.count[need])
    first = f"it takes {taken} free machines first; " if taken else ""
    columns = cycle.given.snapshot.columns
    free = cycle.eligible(need) & np.isin(columns.state, ACQUIRABLE)
    held = columns.held[free & (columns.held != 0)]
    if len(held):
        by = ", ".join(HELD_BY[code - 1].value for code in np.unique(held).tolist())
        return f"{first}{len(held)} more that fit cannot be bought now: held by {by}"
    left = int(np.count_nonzero(free & (cycle.outcome.credit.holder < 0)))
    if left:
        return f"{first}{left} more that fit are reserved, or in other domains than it may use"
    return f"{first}no other free machine fits"


def _acquired(cycle: DecidedCycle, row: int) -> Iterator[MachineStep]:
    """What else the Need could have taken, by effective cost."""
    need = cycle.holder(row)
    yield MachineStep("for", cycle.need_name(need))
    rows = _alternatives(cycle, row, need)
    if not len(rows):
        yield MachineStep("next best", "none: no other free machine fits")
        return
    costs = cycle.costs(need, rows)
    ids = cycle.given.snapshot.ids
    own = float(cycle.costs(need, np.array([row]))[0])
    named = [
        f"{ids[each]} at {dollars_text(float(cost))}"
        for each, cost in zip(rows[:_MOST_NAMED].tolist(), costs.tolist(), strict=False)
    ]
    text = f"{', '.join(named)} effective, against {dollars_text(own)}"
    names = tuple(ids[each] for each in rows[:_MOST_NAMED].tolist())
    yield MachineStep("next best", text, machine_ids=names)


def _alternatives(cycle: DecidedCycle, row: int, need: int) -> Int64s:
    """Free machines that fit and that no Need took: idle ones first, each state by cost, id."""
    columns, outcome = cycle.given.snapshot.columns, cycle.outcome
    free = cycle.eligible(need) & np.isin(columns.state, ACQUIRABLE) & (columns.held == 0)
    rows = np.flatnonzero(free & (outcome.credit.holder < 0))
    same = int(outcome.needs.same[need])
    if same >= 0:
        domain = outcome.kinds.domain[same][outcome.scene.supply.kind]
        rows = rows[domain[rows] == domain[row]]
    bought = columns.state[rows] == int(MachineState.SPECULATIVE)
    return rows[np.lexsort((rows, cycle.costs(need, rows), bought))]


def _reclaimed(cycle: DecidedCycle, row: int) -> Iterator[MachineStep]:
    """The machine that is kept and comes last, which would have left instead."""
    snapshot = cycle.given.snapshot
    cluster = int(snapshot.columns.cluster[row])
    start, end = snapshot.keep_starts[2 * cluster : 2 * cluster + 2].tolist()
    placed = snapshot.keep_order[start:end]
    kept = placed[cycle.outcome.credit.holder[placed] >= 0]
    if not len(kept):
        yield MachineStep("next best", "none: no machine of the cluster is claimed")
        return
    last = snapshot.ids[int(kept[-1])]
    price = cycle.machine(int(kept[-1])).machine.price_per_hour
    text = f"{machine_name(last)} at {dollars_text(price)}/h is the last that is kept"
    yield MachineStep("next best", text, machine_ids=(last,))


# -- next ------------------------------------------------------------------------------------------


def _next(cycle: DecidedCycle, row: int, views: tuple[ActionView, ...]) -> str:
    if views:
        return _after(cycle, views[0])
    state, machine = cycle.state(row), cycle.machine(row).machine
    if state is MachineState.CONFIGURED:
        if cycle.holder(row) >= 0:
            return "it stays while its Need asks for it and no higher Need is short"
        return f"it is reclaimed once cluster {machine.cluster} has reported"
    if state is MachineState.IDLE:
        after = _release_after(cycle, row)
        if after is not None:
            return f"released after {instant_text(after)} unless a Need takes it"
        return "a Need takes it; it is not released as it stands"
    return _NEXT.get(state, "nothing is known")


def _after(cycle: DecidedCycle, view: ActionView) -> str:
    if view.disposition not in (None, Disposition.ENQUEUED, Disposition.DEDUPED):
        return "nothing happens to it now; the next cycle decides anew"
    if cycle.ended_of(view.machine) is not None:
        return "the action has ended; the machine's story tells what came of it"
    match view.kind:
        case ActionKind.PREEMPT:
            wanting = "the Need" if view.need is None else need_name(view.need)
            grace = duration_text(view.grace_seconds)
            return f"its pods leave within {grace}; then it is reserved for {wanting}"
        case ActionKind.RECLAIM:
            grace = duration_text(view.grace_seconds)
            return f"its pods leave within {grace}; then it is Idle for any Need"
        case ActionKind.BOOTSTRAP:
            return f"it is configured for cluster {view.cluster}"
        case ActionKind.PROVISION:
            return f"it is created, then configured for cluster {view.cluster}"
        case ActionKind.DELETE:
            return "its provider deletes it; the slot may be bought again"


def _release_after(cycle: DecidedCycle, row: int) -> Instant | None:
    since = int(cycle.given.snapshot.columns.idle_since[row])
    hold = release_hold(cycle.given.options, cycle.machine(row).machine.capacity_type)
    if cycle.state(row) is not MachineState.IDLE or since == NEVER or not hold:
        return None
    return since + hold
