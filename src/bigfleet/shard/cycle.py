"""One cycle: a frozen input, the engine on it, and what came of it. Runs in a thread of its own.

Nothing here looks at the shard's live state: what the engine sees was frozen when the cycle began,
and what it decided is compared with the live state only when the cycle ends.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.engine.availability import Availability, availability_of
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.need_progress import NeedProgress, progress_of
from bigfleet.engine.needs_table import Renumbered
from bigfleet.explain.actions import bill_change, reasons_of_action
from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.model.actions import Action
from bigfleet.model.reasons import Reason
from bigfleet.shard.considered_actions import Considered, considered_of

#: The part in which proposals become claims.
BROKER = "commit"
#: The engine's own parts, under the names of the metrics catalogue.
PHASE_OF_PART = {
    "sort": "snapread",
    "match": "snapread",
    "fold": "phase1",
    "prepass": "phase1",
    "propose": "phase1",
    BROKER: "phase1",
    "unmet": "phase1",
    "phase2": "phase2",
    "phase3": "phase3",
    "emit": "emit",
    "memory": "emit",
}


@dataclass(frozen=True, slots=True)
class CycleInput(EngineInput):
    #: Providers that do not answer, for the hints; None: no cluster is connected.
    silent_providers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Deliberation:
    given: CycleInput
    decision: Decision
    #: Which of its actions are looked at one by one; those below are these.
    considered: Considered
    actions: tuple[Action, ...]
    #: Why, of each of the actions: the deciding one first, and its sentence.
    reasons: tuple[tuple[Reason, ...], ...]
    sentences: tuple[str, ...]
    #: Dollars per hour by which each changes the bill.
    bill_changes: tuple[float, ...]
    #: What explains the decision.
    facts: ColumnFacts
    seconds_of_phase: Mapping[str, float]
    #: What each Need still waits for.
    progress: NeedProgress
    #: Of Phase 1, what was spent at the broker.
    broker_seconds: float = 0.0
    #: None: no cluster is connected.
    availability: Availability | None = None
    #: The demand over new tables, where most of the old ones was history.
    renumbered: Renumbered | None = None


def deliberate(
    given: CycleInput, run_workers: RunWorkers, clock: Callable[[], float]
) -> Deliberation:
    """Decide, and say why; `clock` measures and decides nothing."""
    seconds: dict[str, float] = {}
    last, at_broker = clock(), 0.0

    def ended(part: str) -> None:
        nonlocal last, at_broker
        now = clock()
        if part == BROKER:
            at_broker += now - last
        phase = PHASE_OF_PART[part]
        seconds[phase] = seconds.get(phase, 0.0) + now - last
        last = now

    _ = given.needs.demand
    ended("sort")
    decision = given.decide(run_workers=run_workers, phase_ended=ended)
    considered = considered_of(decision.outcome)
    actions = decision.actions_at(considered.places)
    facts = ColumnFacts(decision, given.memory, given.options, given.now, str(given.cycle))
    reasons = tuple(reasons_of_action(facts, action) for action in actions)
    sentences = tuple(first.text for first, *_ in reasons)
    bill_changes = tuple(bill_change(facts, action) for action in actions)
    silent = given.silent_providers
    availability = None if silent is None else availability_of(decision.outcome, silent)
    progress = progress_of(decision)
    renumbered = given.needs.renumbered() if given.needs.mostly_garbage else None
    ended("emit")
    return Deliberation(
        given,
        decision,
        considered,
        actions,
        reasons,
        sentences,
        bill_changes,
        facts,
        seconds,
        progress,
        at_broker,
        availability,
        renumbered,
    )
