"""Phases: how long machines take to be created, configured, drained and deleted.

Measured from the step this shard made to the end that was seen: in a final answer, a Get or a
List. A machine found in the middle of a phase is counted when it ends, but not measured.
"""

from bigfleet.edge.counts import SLOW
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.shard.effects import Effects

S = MachineState

PHASE_OF_STATE = {
    S.CREATING: "create",
    S.CONFIGURING: "configure",
    S.DRAINING: "drain",
    S.DELETING: "delete",
}
#: Where a phase that failed to begin leaves the machine: as it was before.
_BEFORE = {
    S.CREATING: S.SPECULATIVE,
    S.CONFIGURING: S.IDLE,
    S.DRAINING: S.CONFIGURED,
    S.DELETING: S.IDLE,
}


class Phases:
    """Watches the machines."""

    def __init__(self, effects: Effects) -> None:
        self._counts = effects.counts
        #: When a machine came into its phase, of machines seen to enter it.
        self._entered: dict[str, Instant] = {}

    def on_change(self, before: Machine | None, after: Machine | None, at: Instant) -> None:
        was = before.state if before else None
        now = after.state if after else None
        if was is now:
            return
        if before is not None and before.state in PHASE_OF_STATE:
            self._leave(before, now, at)
        if before is not None and after is not None and after.state in PHASE_OF_STATE:
            self._entered[after.id] = at

    def aborted(self, phase: str) -> None:
        """A phase that ended before the machine entered its state."""
        self._counts.add("phase_completions_total", phase=phase, result="aborted")

    def _leave(self, before: Machine, now: MachineState | None, at: Instant) -> None:
        phase = PHASE_OF_STATE[before.state]
        result = _result(before.state, now)
        entered = self._entered.pop(before.id, None)
        if entered is not None and result == "success":
            seconds = max(0, at - entered) / SECOND
            self._counts.observe(f"{phase}_phase_seconds", seconds, SLOW)
        self._counts.add("phase_completions_total", phase=phase, result=result)
        if phase == "delete" and result == "success":
            self._counts.add("idle_releases_total")


def _result(phase: MachineState, now: MachineState | None) -> str:
    if now is S.FAILED:
        return "failed"
    # A machine that vanished while it was drained or deleted is gone, not finished.
    if now is None or now is _BEFORE[phase]:
        return "aborted"
    if phase is S.DELETING and now is not S.SPECULATIVE:
        return "aborted"
    return "success"
