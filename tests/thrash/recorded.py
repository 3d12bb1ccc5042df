"""Cycles of a shard or of a loop, as its journal has them."""

from bigfleet.engine.decision import Decision
from bigfleet.journal.history import RecordedCycle
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.journal import CycleOutput
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.model.thrash import ThrashFinding
from bigfleet.shard.cycle import CycleInput
from tests.shard_cases.rig import Rig


class RecordedRig(Rig):
    """A shard whose cycles are kept, as its driver hands them to the journal."""

    def end_cycle(self, given: CycleInput) -> None:
        super().end_cycle(given)
        finished = self.state.decision_loop.finished
        assert finished is not None
        self.cycles = [*getattr(self, "cycles", []), finished]

    cycles: list[FinishedCycle]


def recorded(finished: FinishedCycle) -> RecordedCycle:
    """Read back from a journal, without the way through a file."""
    output = CycleOutput(tuple(finished.actions), b"", b"")
    return RecordedCycle(finished.given, output, False, 1)


def all_enqueued(cycle: int, decision: Decision, at: int) -> tuple[ActionView, ...]:
    outcome = decision.outcome
    return tuple(
        ActionView(
            cycle,
            index,
            action.kind,
            action.machine,
            action.cluster,
            outcome.key(action.need) if action.need is not None else None,
            preemptor_priority=action.preemptor_priority,
            disposition=Disposition.ENQUEUED,
            at=at,
        )
        for index, action in enumerate(decision.actions)
    )


def without_provider(finding: ThrashFinding) -> tuple[object, ...]:
    """A journal does not know whose List a machine came from."""
    return (
        finding.number,
        finding.kind,
        finding.cluster,
        finding.fingerprint,
        finding.times,
        finding.first_at,
        finding.last_at,
        finding.held_until,
        [(each.name, each.kind, each.machine, each.holder, each.at) for each in finding.witness],
        [
            (each.done_at, each.preemptor, each.deficit, each.frees, each.domain)
            for each in finding.witness
        ],
        [(each.priority, each.hold_seconds) for each in finding.witness],
    )
