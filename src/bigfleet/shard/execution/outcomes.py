"""Outcomes: the one word every action ends with, counted and written to the audit log.

Counted is what happened in the end, not what a call was answered: an accepted Create ends here
when the machine is seen to stand, or to have failed.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from bigfleet.explain.failing_actions import FailingActions
from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.shard.effects import Effects
from bigfleet.shard.instructions import WriteAudit
from bigfleet.shard.journal_notes import outcome_note

#: Actions whose end can still be told without the journal.
REMEMBERED = 5000


class Outcomes:
    def __init__(self, effects: Effects, failing: FailingActions) -> None:
        """`failing`: remembers which Needs' actions fail."""
        self._effects = effects
        self._failing = failing
        #: By cycle and machine, which has one action a cycle; the oldest are forgotten first.
        self._ended: OrderedDict[tuple[int, str], ActionView] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ended)

    def known(self) -> Mapping[tuple[int, str], ActionView]:
        """How the last actions ended, by cycle and machine; a copy, for any thread."""
        return dict(self._ended)

    def end(
        self, view: ActionView, outcome: ActionOutcome, at: Instant, text: str = ""
    ) -> ActionView:
        """An action is over; `text` says why it did not go as wanted."""
        kind = view.kind.label
        ended = replace(view, outcome=outcome.value, disposition=Disposition.ENQUEUED, at=at)
        effects = self._effects
        effects.counts.add("action_execute_outcomes_total", kind=kind, outcome=outcome.value)
        effects.ask(WriteAudit(at, audit_line(ended)))
        self._remember(outcome_note(ended, text))
        if outcome.succeeded:
            self._failing.succeeded(view)
        elif outcome.failed:
            self._failing.failed(view, outcome.value, text, at)
        if outcome.failed:
            effects.log(
                "error" if outcome is ActionOutcome.FENCED else "warning",
                "action_failed",
                f"{kind} of {view.machine} ended as {outcome.value}" + (text and f": {text}"),
                machine=view.machine,
                cluster=view.cluster,
                cycle=view.cycle,
                kind=kind,
                outcome=outcome.value,
            )
        effects.wake()
        return ended

    def _remember(self, ended: ActionView) -> None:
        self._effects.note(ended)
        self._ended[ended.cycle, ended.machine] = ended
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)


def audit_line(view: ActionView) -> dict[str, str | int]:
    return {
        "time": instant_text(view.at),
        "cycle": view.cycle,
        "kind": view.kind.label,
        "machine": view.machine,
        "cluster": view.cluster,
        "reason": view.reason,
        "grace_seconds": view.grace_seconds,
        "disposition": view.disposition.name.lower() if view.disposition else "",
        "outcome": view.outcome,
    }
