"""What an engine answers for one recorded cycle, in a form two engines can be compared by.

As plain texts and numbers: the other engine may be of another version, in another process.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.explain.actions import reasons_of_action
from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.explain.need_facts import need_name
from bigfleet.journal.digests import output_digest
from bigfleet.model.actions import ActionKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.profiles import precedence_of_fingerprint
from bigfleet.model.shard_views import ActionView

#: Of one cycle; a fleet that has just connected has tens of thousands of actions.
MOST_SENTENCES = 200
_BOUGHT = ActionKind.PROVISION.label
_GIVEN_BACK = ActionKind.DELETE.label
_TAKEN = (ActionKind.PREEMPT.label, ActionKind.RECLAIM.label)


@dataclass(frozen=True, slots=True)
class AnsweredAction:
    kind: str
    machine: str
    cluster: str
    #: The Need that acquires or preempts; empty: no Need does.
    need: str
    grace_seconds: int
    #: By which the bill changes: bought machines add, deleted ones subtract.
    dollars_per_hour: float
    #: Declared, never billed: what taking the machine from its workload costs by the workload's
    #: own word; 0 for a workload that forbids it, which has no amount.
    penalty_dollars: float
    #: Empty: not explained.
    sentence: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str, int]:
        return self.kind, self.machine, self.cluster, self.need, self.grace_seconds


@dataclass(frozen=True, slots=True)
class Answer:
    epoch: int
    cycle: int
    #: None: they were not recorded in full, and this engine decides otherwise.
    actions: tuple[AnsweredAction, ...] | None
    #: Needs that even preemption could not cover, with their priorities; None: not known.
    shortfalls: Mapping[str, int] | None
    #: Of the actions, in hexadecimal digits; empty: not known.
    digest: str = ""

    @property
    def name(self) -> str:
        return f"{self.epoch}:{self.cycle}"


def answer_of(
    epoch: int, given: EngineInput, decision: Decision, *, explained: bool = True
) -> Answer:
    """Of an engine that has just decided."""
    facts = ColumnFacts(decision, given.memory, given.options, given.now, f"{epoch}:{given.cycle}")
    actions = []
    for place, action in enumerate(decision.actions):
        key = None if action.need is None else decision.outcome.key(action.need)
        told = explained and place < MOST_SENTENCES
        sentence = reasons_of_action(facts, action)[0].text if told else ""
        actions.append(
            _answered(
                facts,
                action.kind,
                action.machine,
                action.cluster,
                key,
                action.grace_seconds,
                sentence,
            )
        )
    return Answer(
        epoch,
        given.cycle,
        tuple(actions),
        shortfalls_of(decision.memory.shortfalls),
        output_digest(decision).hex(),
    )


def recorded_answer(
    epoch: int,
    given: EngineInput,
    decision: Decision,
    views: Iterable[ActionView],
    shortfalls: Mapping[str, int] | None,
) -> Answer:
    """Of the engine that recorded them; `decision` is of any engine, for facts of machines."""
    facts = ColumnFacts(decision, given.memory, given.options, given.now, "")
    actions = tuple(
        _answered(
            facts,
            view.kind,
            view.machine,
            view.cluster,
            view.need,
            view.grace_seconds,
            view.reason,
        )
        for view in views
    )
    return Answer(epoch, given.cycle, actions, shortfalls)


def _answered(
    facts: ColumnFacts,
    kind: ActionKind,
    machine: str,
    cluster: str,
    need: NeedKey | None,
    grace_seconds: int,
    sentence: str,
) -> AnsweredAction:
    known = facts.machine_facts(machine)
    dollars = {_BOUGHT: known.price_per_hour, _GIVEN_BACK: -known.price_per_hour}
    declared = known.assigned.declared_dollars
    is_taken = kind.label in _TAKEN and math.isfinite(declared)
    return AnsweredAction(
        kind.label,
        machine,
        cluster,
        "" if need is None else need_name(need),
        grace_seconds,
        dollars.get(kind.label, 0.0),
        declared if is_taken else 0.0,
        sentence,
    )


def shortfalls_of(shortfalls: Iterable[NeedKey]) -> dict[str, int]:
    priority = {key: precedence_of_fingerprint(key.fingerprint) for key in shortfalls}
    return {need_name(key): (found or (0,))[0] for key, found in priority.items()}


# -- as lines, for an engine in another process ---------------------------------------------------


def line_of(answer: Answer) -> bytes:
    return orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE)


def answer_of_line(line: bytes) -> Answer:
    """Raises ValueError where the line is not an answer."""
    document: dict[str, Any] = orjson.loads(line)
    try:
        actions = tuple(AnsweredAction(**each) for each in document["actions"])
        epoch, cycle = int(document["epoch"]), int(document["cycle"])
        shortfalls, digest = dict(document["shortfalls"]), str(document["digest"])
        return Answer(epoch, cycle, actions, shortfalls, digest)
    except (KeyError, TypeError) as problem:
        raise ValueError(f"it is not the answer of an engine: {problem}") from None
