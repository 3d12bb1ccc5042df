"""Answers about decided cycles: of the last one as it stands, of a past one from the journal.

All of it runs in a thread, off the cycle's path: what a cycle decided never changes.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from bigfleet.edge.logs import NullLog
from bigfleet.engine.engine_input import EngineInput
from bigfleet.explain.decided_cycle import DecidedCycle, NoSuchObject, SeveralObjects
from bigfleet.explain.judged_needs import told_with
from bigfleet.explain.machine_trace import explained_machine
from bigfleet.explain.need_trace import explain_need
from bigfleet.explain.why_not import (
    why_not_assigned,
    why_not_preempted,
    why_not_removed,
    why_not_satisfied,
)
from bigfleet.journal.decisions import explained
from bigfleet.journal.digests import output_digest
from bigfleet.journal.history import BrokenJournal, FoundCycle, cycle_at
from bigfleet.journal.notes import Ended, FoundDecisions, decisions_in, ended_actions
from bigfleet.journal.recorded_holds import judged_from_journal, recorded_states
from bigfleet.journal.segments import Segment, UnreadableJournal, segments_of
from bigfleet.model.explanations import ExplainNeedCall, NeedExplanation
from bigfleet.model.forecasts import Forecast
from bigfleet.model.machine_answers import (
    CycleCall,
    CycleInputs,
    CycleView,
    DecisionList,
    DecisionQuery,
    MachineAnswer,
    MachineCall,
    WhyNot,
    WhyNotCall,
    WhyNotQuestion,
)
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import ActionView, NeedListing, NeedQuery
from bigfleet.shard.driving.forecasts import Forecasts
from bigfleet.shard.ledgers.needs import NeedsLedger
from bigfleet.shard.state import ShardState

#: Actions in one answer.
MOST_ACTIONS = 1000
#: A list of decisions that takes longer to read from the journal is told in part.
READING_SECONDS = 5.0
#: Why past decisions were made is decided again, the newest first; for as long as this.
DECIDING_SECONDS = 2.0
_WITH_MACHINE = (WhyNotQuestion.ASSIGNED, WhyNotQuestion.REMOVED, WhyNotQuestion.PREEMPTED)
_WITH_NEED = (WhyNotQuestion.ASSIGNED, WhyNotQuestion.PREEMPTED, WhyNotQuestion.SATISFIED)
Asked = TypeVar("Asked")
T = TypeVar("T")


class Explanations:
    def __init__(
        self,
        state: ShardState,
        journal: Path | None,
        stopwatch: Callable[[], float] = lambda: 0.0,
        forecasts: Forecasts | None = None,
    ) -> None:
        """`journal`: the directory of past cycles; None: none are kept."""
        self._stopwatch = stopwatch
        self._state = state
        self._forecasts = forecasts or Forecasts(state, stopwatch, NullLog())
        self._journal = journal
        #: The last cycle, and what was computed of it.
        self._latest: DecidedCycle | None = None
        #: Past cycles are read one after the other: each is a whole fleet in memory.
        self._reading = asyncio.Lock()

    async def need(self, call: ExplainNeedCall) -> NeedExplanation:
        cycle, past = await self._asked(call.cycle)
        # Of the last cycle the ledger knows the state too, and what holds the Need back.
        ledger = self._state.decision_loop.ledger
        told = ledger if ledger.cycle == cycle.given.cycle else None
        answer = partial(
            _explained_need, ledger=told, past=past, forecasts=self._forecasts.forecasts
        )
        return await _answered(answer, cycle, call)

    async def machine(self, call: MachineCall) -> MachineAnswer:
        cycle = await self.decided(call.cycle)
        return await _answered(explained_machine, cycle, call.machine)

    async def why_not(self, call: WhyNotCall) -> WhyNot:
        if call.question is None:
            asked = ", ".join(question.name for question in WhyNotQuestion)
            raise Rejected(Code.INVALID_ARGUMENT, f"question: one of {asked}")
        if call.question in _WITH_MACHINE and not call.machine:
            raise Rejected(Code.INVALID_ARGUMENT, "machine_id: which machine is meant?")
        if call.question in _WITH_NEED and call.need is None:
            raise Rejected(Code.INVALID_ARGUMENT, "need: which Need is meant?")
        return await _answered(_why_not, await self.decided(call.cycle), call)

    async def decisions(self, query: DecisionQuery) -> DecisionList:
        """Of those the shard remembers; the journal is asked where older ones are wanted."""
        remembered = tuple(self._state.decision_loop.actions)
        ended = self._ended()
        found = [_with_end(view, ended) for view in remembered if query.matches(view)]
        most = min(query.limit or MOST_ACTIONS, MOST_ACTIONS)
        older = not remembered or query.from_cycle < remembered[0].cycle
        journal, left = self._journal, most - len(found)
        if journal is None or not (query.from_cycle and older and left > 0):
            return DecisionList(tuple(found[-most:]), len(found) > most or older)
        first = remembered[0].cycle if remembered else self._state.decision_loop.number + 1
        last = min(query.to_cycle or first, first - 1)
        if last < query.from_cycle:
            return DecisionList(tuple(found), older)
        asked, epoch = replace(query, to_cycle=last), self._state.epoch
        async with self._reading:
            read = partial(_past_decisions, most=left, stopwatch=self._stopwatch)
            before = await asyncio.to_thread(read, journal, epoch, asked)
        recorded = (_with_end(view, ended) for view in before.decisions)
        return DecisionList((*recorded, *found), before.truncated)

    async def cycle(self, call: CycleCall) -> CycleView:
        cycle, past = await self._asked(call.cycle)
        inputs = None if past is None else past.found.recorded.inputs
        return await _answered(partial(_cycle_view, inputs=inputs), cycle, call)

    async def decided(self, number: int) -> DecidedCycle:
        """Cycle 0 is the last that ended. Raises Rejected."""
        return (await self._asked(number))[0]

    async def _asked(self, number: int) -> "tuple[DecidedCycle, _Past | None]":
        """None: the last one, which need not be read."""
        finished = self._state.decision_loop.finished
        if finished is None:
            text = "no cycle has ended since the shard started; ask again in a moment"
            raise Rejected(Code.UNAVAILABLE, text, reason="no-cycle")
        if number in (0, finished.given.cycle):
            if self._latest is None or self._latest.given is not finished.given:
                name = f"{self._state.epoch}:{finished.given.cycle}"
                self._latest = DecidedCycle(
                    finished.given,
                    finished.decision,
                    name,
                    finished.actions,
                    nanos_of_phase=finished.nanos_of_phase,
                )
            self._latest.ended = self._ended()
            return self._latest, None
        if number < 0 or number > finished.given.cycle:
            text = f"no cycle {number} yet; the last is {finished.given.cycle}"
            raise Rejected(Code.NOT_FOUND, text)
        if self._journal is None:
            text = f"cycle {number} is past, and this shard keeps no journal"
            raise Rejected(Code.OUT_OF_RANGE, text)
        async with self._reading:
            past = await asyncio.to_thread(_past, self._journal, self._state.epoch, number)
        past.cycle.ended = {**past.cycle.ended, **self._ended()}
        return past.cycle, past

    async def needs(self, query: NeedQuery) -> NeedListing | None:
        """Of a past cycle, as far as the journal tells; None: it is the last one."""
        cycle, past = await self._asked(query.cycle)
        return None if past is None else await asyncio.to_thread(_past_needs, cycle, past, query)

    async def given(self, number: int) -> EngineInput:
        """What a past cycle was decided on. Raises Rejected."""
        finished = self._state.decision_loop.finished
        if finished is not None and number == finished.given.cycle:
            return finished.given
        if finished is not None and number > finished.given.cycle:
            text = f"no cycle {number} yet; the last is {finished.given.cycle}"
            raise Rejected(Code.NOT_FOUND, text)
        if self._journal is None:
            text = f"cycle {number} is past, and this shard keeps no journal"
            raise Rejected(Code.OUT_OF_RANGE, text)
        async with self._reading:
            found = await asyncio.to_thread(_found, self._journal, self._state.epoch, number)
        return found.recorded.given

    def _ended(self) -> Ended:
        return self._state.parts.outcomes.known()


async def _answered(
    answer: Callable[[DecidedCycle, Asked], T], cycle: DecidedCycle, asked: Asked
) -> T:
    try:
        return await asyncio.to_thread(answer, cycle, asked)
    except NoSuchObject as problem:
        raise Rejected(Code.NOT_FOUND, str(problem)) from None
    except SeveralObjects as problem:
        raise Rejected(Code.INVALID_ARGUMENT, str(problem)) from None


@dataclass(frozen=True, slots=True)
class _Past:
    """A cycle that was read from the journal."""

    cycle: DecidedCycle
    found: FoundCycle
    segments: list[Segment]


def _explained_need(
    cycle: DecidedCycle,
    call: ExplainNeedCall,
    *,
    ledger: NeedsLedger | None,
    past: _Past | None,
    forecasts: Mapping[int, Forecast],
) -> NeedExplanation:
    key = call.need
    if key.fingerprint:
        row = cycle.need_row_of_key(key)
    else:
        row = cycle.need_row(key.cluster, call.id_prefix)
    told = explain_need(cycle, row, call.max_candidates)
    known = ledger.row(row) if ledger is not None else None
    if ledger is not None and known is not None and known.state is not None:
        told = replace(told, forecast=ledger.forecast_of(row, forecasts))
        return told_with(told, known.state, known.reason, known.remedy)
    if past is None:
        return told
    try:
        return judged_from_journal(told, cycle, row, past.segments, past.found)
    except UnreadableJournal as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"cycle {call.cycle}: {problem}") from None


def _past_needs(cycle: DecidedCycle, past: _Past, query: NeedQuery) -> NeedListing:
    """What asks for them is told by clusters and not recorded."""
    if query.sources:
        text = "sources: what asks for a Need is not recorded; ask without, or of the last cycle"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    try:
        states = recorded_states(cycle, past.segments, past.found)
    except UnreadableJournal as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"cycle {query.cycle}: {problem}") from None
    given = cycle.given
    ledger = NeedsLedger(cycle.decision, given.cycle, given.at, states, cycle.facts, is_past=True)
    return ledger.answer(query)


def _why_not(cycle: DecidedCycle, call: WhyNotCall) -> WhyNot:
    row = cycle.row_of(call.machine) if call.machine else -1
    need = -1 if call.need is None else cycle.need_row_of_key(call.need)
    match call.question:
        case WhyNotQuestion.ASSIGNED:
            return why_not_assigned(cycle, row, need)
        case WhyNotQuestion.PREEMPTED:
            return why_not_preempted(cycle, row, need)
        case WhyNotQuestion.REMOVED:
            return why_not_removed(cycle, row)
        case _:
            return why_not_satisfied(cycle, need)


def _cycle_view(cycle: DecidedCycle, call: CycleCall, inputs: CycleInputs | None) -> CycleView:
    total = cycle.decision.action_count
    most = min(call.limit or MOST_ACTIONS, MOST_ACTIONS)
    places = np.arange(call.first_index, min(total, call.first_index + most))
    return CycleView(
        cycle.given.cycle,
        cycle.given.at,
        tuple(cycle.view_at(int(place)) for place in places),
        total,
        len(cycle.given.snapshot),
        len(cycle.outcome),
        len(cycle.outcome.queue),
        cycle.nanos_of_phase,
        output_digest(cycle.decision),
        inputs,
    )


def _found(journal: Path, epoch: int, number: int) -> FoundCycle:
    try:
        found = cycle_at(segments_of(journal), (epoch, number))
    except (UnreadableJournal, BrokenJournal) as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"cycle {number}: {problem}") from None
    if found is None:
        text = f"cycle {epoch}:{number} is not in the journal (any more)"
        raise Rejected(Code.OUT_OF_RANGE, text)
    return found


def _past(journal: Path, epoch: int, number: int) -> _Past:
    found = _found(journal, epoch, number)
    given, output = found.recorded.given, found.recorded.output
    actions = () if output is None else output.actions
    try:
        segments = segments_of(journal)
        ended = ended_actions(segments, (epoch, number), actions)
    except (UnreadableJournal, BrokenJournal) as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"cycle {number}: {problem}") from None
    nanos = None if output is None else output.nanos_of_phase
    cycle = DecidedCycle(given, given.decide(), found.name, actions, ended, nanos)
    return _Past(cycle, found, segments)


def _past_decisions(
    journal: Path,
    epoch: int,
    query: DecisionQuery,
    *,
    most: int,
    stopwatch: Callable[[], float],
) -> FoundDecisions:
    """What a damaged journal still has is not told in part: it says where it is damaged."""
    read_until = stopwatch() + READING_SECONDS
    try:
        segments = segments_of(journal)
        found = decisions_in(segments, epoch, query, most, lambda: stopwatch() > read_until)
        decided_until = stopwatch() + DECIDING_SECONDS
        with suppress(BrokenJournal):
            # What was decided is recorded all the same; only why is not known then.
            told = explained(segments, epoch, found.decisions, lambda: stopwatch() > decided_until)
            return replace(found, decisions=told)
        return found
    except UnreadableJournal as problem:
        raise Rejected(Code.OUT_OF_RANGE, f"cycles from {query.from_cycle} on: {problem}") from None


def _with_end(view: ActionView, ended: Ended) -> ActionView:
    known = ended.get((view.cycle, view.machine))
    return view if known is None else replace(view, outcome=known.outcome)
