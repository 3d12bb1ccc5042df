"""What people set and see of a shard's verifier."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.shard_admin import Audit


@dataclass(frozen=True, slots=True)
class VerifierPolicy:
    #: `CRON for DURATION [cluster=A,B] [zone=A,B] [kind=Reclaim,Delete]`, UTC.
    freeze_windows: tuple[str, ...] = ()
    #: Dollars per hour; 0: no ceiling.
    spend_ceiling: float = 0.0
    #: Part of a cluster's machines in one zone that may be reclaimed within a minute; 0: any.
    reclaim_zone_fraction: float = 0.5


@dataclass(frozen=True, slots=True)
class VerifierIncident:
    """A veto of something the engine must never produce."""

    at: Instant
    cycle: int
    #: V1, V2, V4, V9 or V12.
    invariant: str
    kind: ActionKind
    machine: str
    cluster: str
    #: A sentence.
    text: str


@dataclass(frozen=True, slots=True)
class VerifierView:
    enabled: bool
    policy: VerifierPolicy
    #: Who set the policy; None: it is that of the settings.
    set_by: Audit | None = None
    set_at: Instant | None = None
    #: Freeze windows that are open now.
    open_freezes: tuple[str, ...] = ()
    #: Dollars per hour that count against the ceiling, as of the last cycle.
    spend_per_hour: float = 0.0
    #: Vetoes since the shard started, by invariant.
    vetoes: Mapping[str, int] = field(default_factory=dict)
    #: Since the shard started.
    incidents: int = 0
    #: Newest last; not all of them.
    last_incidents: tuple[VerifierIncident, ...] = ()
    #: Why the verifier itself fails; empty: it works.
    error: str = ""


@dataclass(frozen=True, slots=True)
class PolicySet:
    #: In force now.
    policy: VerifierPolicy
    #: A sentence.
    text: str
