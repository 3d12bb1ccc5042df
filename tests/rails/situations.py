"""Actions and the circumstances in which their fate is decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause
from bigfleet.model.profiles import Profile
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import Disposition, DrainView
from bigfleet.shard.rails.caps import PreemptWindow, ReclaimWindow
from bigfleet.shard.rails.dispositions import Disposed, Limits, dispose

START: Instant = 1_700_000_000 * SECOND
_RULE = {
    ActionKind.BOOTSTRAP: Rule.IDLE,
    ActionKind.PROVISION: Rule.SPECULATIVE,
    ActionKind.PREEMPT: Rule.INVERSION,
    ActionKind.RECLAIM: Rule.EXCESS,
    ActionKind.DELETE: Rule.RELEASE,
}


def action(kind: ActionKind, machine: str, cluster: str = "shop", priority: int = 0) -> Action:
    """`priority` is that of the Need behind it."""
    serves = kind in (ActionKind.BOOTSTRAP, ActionKind.PROVISION)
    return Action(
        kind,
        machine,
        "" if kind is ActionKind.DELETE else cluster,
        _RULE[kind],
        preemptor_priority=priority if kind is ActionKind.PREEMPT else 0,
        source_profile=Profile(priority=priority) if serves else None,
    )


def reclaims(cluster: str, count: int) -> list[Action]:
    return [action(ActionKind.RECLAIM, f"{cluster}-{i}", cluster) for i in range(count)]


def preempts(cluster: str, count: int, word: str = "", gang: int | None = None) -> list[Action]:
    """`gang`: the Need that takes their whole domain."""
    victims = (
        action(ActionKind.PREEMPT, f"{cluster}-{word}{i}", cluster, priority=9)
        for i in range(count)
    )
    return [replace(victim, need=gang, whole_domain=gang is not None) for victim in victims]


@dataclass
class Shard:
    """A shard as the rails see it; a test says what is unusual about it."""

    pending: set[str] = field(default_factory=set)
    drains: dict[str, DrainView] = field(default_factory=dict)
    pause: Pause | None = None
    states: dict[str, MachineState] = field(default_factory=dict)
    configured: Mapping[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    resting: dict[str, Reason] = field(default_factory=dict)
    held: dict[str, Reason] = field(default_factory=dict)
    vetoed: dict[str, Reason] = field(default_factory=dict)
    limits: Limits = Limits(room=1000)
    window: ReclaimWindow = field(default_factory=ReclaimWindow)
    preempted: PreemptWindow = field(default_factory=PreemptWindow)

    def dispose(self, *actions: Action, at: Instant = START) -> Disposed:
        return dispose(actions, self, self.limits, self.window, self.preempted, at)

    def rulings(self, *actions: Action, at: Instant = START) -> list[Disposition]:
        return [ruling.disposition for ruling in self.dispose(*actions, at=at).rulings]

    # -- what the rails ask ----------------------------------------------------------------------

    def is_pending(self, machine: str) -> bool:
        return machine in self.pending

    def drain_of(self, machine: str) -> DrainView | None:
        return self.drains.get(machine)

    def why_suppressed(self, kind: ActionKind, cluster: str) -> Pause | None:
        return self.pause

    def state_of(self, machine: str) -> MachineState | None:
        return self.states.get(machine)

    def configured_of(self, cluster: str) -> int:
        return self.configured.get(cluster, 0)

    def provider_of(self, machine: str) -> str:
        return "acme"

    def breaker_open(self, provider: str) -> bool:
        return provider in self.broken

    def is_owned(self, machine: str) -> bool:
        return True

    def promised(self, machine: str) -> str:
        return ""

    def why_backed_off(self, action: Action, at: Instant) -> Reason | None:
        return self.resting.get(action.machine)

    def why_held(self, action: Action, at: Instant) -> Reason | None:
        return self.held.get(action.machine)

    def vetoes(self, actions: Sequence[Action], at: Instant) -> Mapping[int, Reason]:
        return {
            i: self.vetoed[a.machine] for i, a in enumerate(actions) if a.machine in self.vetoed
        }
