"""A provider for tests that play it by hand: true to the contract, and told when to do what."""

from dataclasses import dataclass, field

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from tests.execution.rig import record_of

S = MachineState


@dataclass(slots=True)
class ManualProvider:
    state_of: dict[str, MachineState]
    cluster_of: dict[str, str] = field(default_factory=dict)
    #: Highest (epoch, sequence) seen of each machine.
    marks: dict[str, tuple[int, int]] = field(default_factory=dict)

    def record(self, machine: str) -> MachineRecord:
        return record_of(machine, self.state_of[machine], self.cluster_of.get(machine, ""))

    def carry_out(self, call: Mutation, *, at_once: bool) -> Ack | Rejected:
        """As the contract has it: fence, replay, position, then the work, or its beginning.

        A Configure for another cluster than the machine's is answered like a repeat, as some
        providers do: the record says whose it is.
        """
        machine, token = call.machine_id, (call.token.epoch, call.token.sequence)
        if token <= self.marks.get(machine, (0, 0)):
            return Rejected(Code.FAILED_PRECONDITION, "stale token")
        self.marks[machine] = token
        before, moving, after = _places(call)
        now = self.state_of[machine]
        if now in (moving, after):
            return Ack(f"op-{machine}", self.record(machine))
        if now is not before:
            return Rejected(Code.ABORTED, f"it is {now.label}")
        if isinstance(call, ConfigureCall):
            self.cluster_of[machine] = call.cluster_id
        self.state_of[machine] = moving
        if at_once:
            self.finish(machine)
        return Ack(f"op-{machine}", self.record(machine))

    def finish(self, machine: str) -> None:
        """What was begun is done; what was not, is not."""
        now = self.state_of[machine]
        self.state_of[machine] = _AFTER.get(now, now)
        if now in (S.DRAINING, S.DELETING):
            self.cluster_of.pop(machine, None)

    def break_down(self, machine: str) -> None:
        if self.state_of[machine] in _AFTER:
            self.state_of[machine] = S.FAILED

    def repair(self, machine: str) -> None:
        if self.state_of[machine] is S.FAILED:
            self.state_of[machine] = S.IDLE
            self.cluster_of.pop(machine, None)


_AFTER = {
    S.CREATING: S.IDLE,
    S.CONFIGURING: S.CONFIGURED,
    S.DRAINING: S.IDLE,
    S.DELETING: S.SPECULATIVE,
}


def _places(call: Mutation) -> tuple[MachineState, MachineState, MachineState]:
    if isinstance(call, CreateCall):
        return S.SPECULATIVE, S.CREATING, S.IDLE
    if isinstance(call, ConfigureCall):
        return S.IDLE, S.CONFIGURING, S.CONFIGURED
    if isinstance(call, DrainCall):
        return S.CONFIGURED, S.DRAINING, S.IDLE
    return S.IDLE, S.DELETING, S.SPECULATIVE
