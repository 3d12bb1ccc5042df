"""The run of one action between its decision and its outcome, and the four verbs a run is made of.

A verb takes a machine from one resting place to the next. Whether the provider does it at once or
takes its time, the places are the same: before, moving, after.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.actions import Action
from bigfleet.model.machines import Assigned, Host, Instant, Machine, MachineState
from bigfleet.model.metadata import encode
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.provider_calls import (
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    Mutation,
    Token,
)
from bigfleet.model.shard_views import ActionView

S = MachineState


class RunStage(Enum):
    QUEUED = "queued"
    #: The operator was asked for the bootstrap blob.
    AWAITING_BLOB = "awaiting blob"
    #: The blob is here, the line to the provider is taken.
    AWAITING_LINE = "awaiting line"
    CALLING = "calling"
    #: The call broke off: only a Get can tell what came of it.
    UNKNOWN = "unknown"
    #: Accepted; the end is seen in an answer, a Get or a List. No longer pending.
    UNDER_WAY = "under way"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Blob:
    #: Full of secrets: never printed, never stored.
    user_data: bytes = field(repr=False)
    #: None: no bound.
    expires: Instant | None = None

    def is_spent(self, at: Instant) -> bool:
        return self.expires is not None and at >= self.expires


@dataclass(slots=True)
class ActionRun:
    view: ActionView
    action: Action
    provider: str
    #: Told the outcome and why, once.
    on_end: Callable[[ActionOutcome, str, Instant], None]
    stage: RunStage = RunStage.QUEUED
    verb: "ProviderStep | None" = None
    #: Of a Drain: what is left for the machine's pods.
    grace_seconds: int = 0
    #: Whether an answer was lost on the way.
    was_unknown: bool = False
    polls: int = 0
    next_poll_at: Instant = 0
    request_id: str = ""
    blob: Blob | None = None

    @property
    def machine(self) -> str:
        return self.action.machine

    @property
    def is_pending(self) -> bool:
        return self.stage not in (RunStage.UNDER_WAY, RunStage.OVER)


@dataclass(frozen=True, slots=True)
class ProviderStep:
    name: str
    before: MachineState
    moving: MachineState
    after: MachineState
    #: How a run ends that the provider refused.
    refusal: ActionOutcome

    def call(self, run: ActionRun, token: Token) -> Mutation:
        action, machine = run.action, run.machine
        match self.moving:
            case S.CREATING:
                return CreateCall(machine, token)
            case S.CONFIGURING:
                content = run.blob.user_data if run.blob else b""
                stamp = encode(whole_stamp(action))
                return ConfigureCall(machine, action.cluster, content, token, stamp)
            case S.DRAINING:
                return DrainCall(machine, run.grace_seconds, token)
            case _:
                return DeleteCall(machine, token)

    def reached(self, machine: Machine, state: MachineState, run: ActionRun) -> bool:
        """Whether the machine is at that place of this run; bound for others it never is."""
        if machine.state is not state:
            return False
        bound = state in (S.CONFIGURING, S.CONFIGURED, S.DRAINING)
        return not bound or machine.cluster == run.action.cluster

    def as_before(self, machine: Machine) -> Machine:
        """As if nothing had happened."""
        if self.before is S.CONFIGURED:
            return replace(machine, state=self.before)
        return unbound(machine, self.before)

    def as_moving(self, machine: Machine, run: ActionRun) -> Machine:
        match self.moving:
            case S.CREATING:
                stamp = order_stamp(run.action)
                return replace(machine, state=self.moving, host=Host(), cluster="", assigned=stamp)
            case S.CONFIGURING:
                cluster, stamp = run.action.cluster, order_stamp(run.action)
                return replace(machine, state=self.moving, cluster=cluster, assigned=stamp)
            case S.DRAINING:
                return replace(machine, state=self.moving, cluster=run.action.cluster)
            case _:
                return replace(machine, state=self.moving, cluster="", assigned=Assigned())

    def as_after(self, machine: Machine, run: ActionRun) -> Machine:
        if self.after is S.CONFIGURED:
            cluster, stamp = run.action.cluster, whole_stamp(run.action)
            return replace(machine, state=self.after, cluster=cluster, assigned=stamp)
        return unbound(machine, self.after)


CREATE = ProviderStep("Create", S.SPECULATIVE, S.CREATING, S.IDLE, ActionOutcome.PROVIDER_ERROR)
CONFIGURE = ProviderStep(
    "Configure", S.IDLE, S.CONFIGURING, S.CONFIGURED, ActionOutcome.CONFIGURE_ERROR
)
DRAIN = ProviderStep("Drain", S.CONFIGURED, S.DRAINING, S.IDLE, ActionOutcome.DRAIN_ERROR)
DELETE = ProviderStep("Delete", S.IDLE, S.DELETING, S.SPECULATIVE, ActionOutcome.DELETE_ERROR)


def unbound(machine: Machine, state: MachineState) -> Machine:
    """Serving no cluster: no binding, no stamp, and no host where the state has none."""
    host = Host() if state is S.SPECULATIVE else machine.host
    return replace(machine, state=state, host=host, cluster="", assigned=Assigned(), last_error="")


def order_stamp(action: Action) -> Assigned:
    """Whose machine this is going to be; what it is worth to them is stamped when it is theirs."""
    return Assigned(
        cluster=action.cluster,
        need_fingerprint=action.source_profile.fingerprint if action.source_profile else "",
        group=action.source_group,
    )


def whole_stamp(action: Action) -> Assigned:
    profile, stamp = action.source_profile, order_stamp(action)
    if profile is None:
        return stamp
    return replace(
        stamp,
        priority=profile.priority,
        interruption_penalty=upper_bound_dollars(profile.interruption_bucket),
        reclamation_penalty=upper_bound_dollars(profile.reclamation_bucket),
    )
