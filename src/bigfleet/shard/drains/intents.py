"""A drain intent: that a machine is to leave its cluster, how far that has come, and by when.

Kept across restarts as one row each; what is not kept is how often the operator has answered in
its present session, since every session begins with the instruction anew.
"""

from dataclasses import dataclass

import msgspec

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import ReclaimInstruction
from bigfleet.model.shard_views import ActionView, Disposition, DrainStage, DrainView

_RULES = {ActionKind.RECLAIM: Rule.EXCESS, ActionKind.PREEMPT: Rule.INVERSION}


@dataclass(slots=True)
class DrainIntent:
    instruction_id: str
    machine: str
    cluster: str
    #: What the operator calls the machine.
    node: str
    kind: ActionKind
    stage: DrainStage
    begun_at: Instant
    deadline: Instant
    preemptor_priority: int = 0
    acked: bool = False
    evicted: bool = False
    #: Whether the operator it was sent to says when it is done.
    says_when_done: bool = False
    #: Whether an operator was ever told.
    was_sent: bool = False
    #: Of the decision, for the record.
    cycle: int = 0
    index: int = 0
    reason: str = ""
    grace_seconds: int = 0
    #: Nothing runs there: the provider drains at once, and no operator is asked.
    without_pods: bool = False
    #: The machine is to be replaced: pods left on it at the deadline do not keep it.
    is_repair: bool = False
    #: Why the operator does not begin; empty: it has not said.
    refusal: str = ""
    #: Answers in the present session: the first says begun, the second done.
    answers: int = 0
    #: The provider's stage waits for its slot or its answer.
    is_called: bool = False

    def remaining_seconds(self, at: Instant) -> int:
        return max(0, -(-(self.deadline - at) // SECOND))

    def instruction(self, at: Instant) -> ReclaimInstruction:
        """A grace of 0 would be read as the default, so the least is a second."""
        grace = max(1, self.remaining_seconds(at))
        return ReclaimInstruction(self.instruction_id, (self.node,), grace, self.preemptor_priority)

    def view(self) -> DrainView:
        return DrainView(
            self.instruction_id, self.kind, self.stage, self.acked, self.evicted, self.deadline
        )

    def action(self) -> Action:
        return Action(
            self.kind,
            self.machine,
            self.cluster,
            _RULES[self.kind],
            self.grace_seconds,
            self.preemptor_priority,
        )

    def action_view(self) -> ActionView:
        return ActionView(
            self.cycle,
            self.index,
            self.kind,
            self.machine,
            self.cluster,
            reason=self.reason,
            grace_seconds=self.grace_seconds,
            preemptor_priority=self.preemptor_priority,
            disposition=Disposition.ENQUEUED,
        )

    def row(self) -> bytes:
        return msgspec.json.encode(self)


def intent_of(row: bytes) -> DrainIntent:
    """Raises msgspec.ValidationError or DecodeError for a malformed row."""
    intent = msgspec.json.decode(row, type=DrainIntent)
    intent.answers, intent.is_called = 0, False
    return intent
