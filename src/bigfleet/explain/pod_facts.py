"""What is known of one pod: from its own cluster, and from the shard that serves the cluster.

Collected by the command line. What could not be read says so; an absent fact is never a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.model.explanations import NeedExplanation
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import MachineView, NeedRow

ACKNOWLEDGED = "Acknowledged"


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """An Event that BigFleet wrote, or a note of the pod controller that becomes one."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class PodFacts:
    #: namespace/name.
    name: str
    #: Empty: no Node has it.
    node: str = ""
    has_ended: bool = False
    is_leaving: bool = False
    #: The scheduler's own words; empty: it has said nothing.
    scheduler_text: str = ""
    #: The scheduler has found no Node for it.
    is_unschedulable: bool = False
    #: Why the pod controller asks for nothing, by its own rules; empty: it asks.
    why_not_demand: str = ""
    #: Why it does not ask yet; empty: it does, or never will.
    why_not_yet: str = ""
    #: What of the pod is not translated.
    notes: tuple[ToldEvent, ...] = ()
    events: tuple[ToldEvent, ...] = ()
    #: Claims of its volumes, which may keep it to machines that are not the fleet's.
    claims: tuple[str, ...] = ()
    #: The ProvisioningRequest whose booking it uses; empty: none.
    booking: str = ""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A CapacityRequest."""

    #: namespace/name.
    name: str
    #: `pod shop/web-1`, `CapacityBuffer spare`; empty: people made it.
    made_for: str = ""
    phase: str = "Pending"
    is_leaving: bool = False
    #: What it asks for.
    unit: Resources = Resources()
    #: None: it cannot be translated.
    key: NeedKey | None = None
    #: The field, and what to write instead; empty: it can be.
    untranslatable: str = ""
    #: Which of several required node affinity terms it asks for: `2/3`; empty: there is one.
    term: str = ""
    #: Further CapacityRequests of the pod, which the pod controller deletes.
    others: int = 0
    events: tuple[ToldEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class ControllerFacts:
    """The lease that the pod controller of the cluster holds."""

    #: Empty: the lease is there and no replica holds it.
    holder: str = ""
    #: Seconds since it was renewed; None: it never was.
    renewed_seconds: float | None = None
    #: Seconds after which another replica may take it.
    duration_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The line between the cluster's operator and its shard."""

    is_connected: bool
    #: Seconds since the last roll-up was taken; None: none was.
    rollup_seconds: float | None = None
    #: Why the last roll-up was not taken; empty: it was.
    refused_rollup: str = ""


@dataclass(frozen=True, slots=True)
class UpcomingFacts:
    """An UpcomingNode."""

    name: str
    phase: str = ""
    #: Empty: it has none yet.
    node: str = ""
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The Node a pod is bound to."""

    name: str
    #: Empty: it is not a machine of the fleet.
    machine: str = ""
    is_there: bool = True
    is_ready: bool = True
    is_cordoned: bool = False


@dataclass(frozen=True, slots=True)
class ShardFacts:
    """What the shard of the cluster knows."""

    session: SessionFacts | None = None
    #: Needs of the request's profile: the one it is in, or those that pods of its sizes ask in.
    needs: tuple[NeedRow, ...] = ()
    #: What the operator asks for beside them, for pods that find no place.
    margins: tuple[NeedRow, ...] = ()
    explanation: NeedExplanation | None = None
    #: `3:18231`.
    cycle: str = ""
    #: Of the Needs and of their margins, as far as they are known by name.
    machines: tuple[MachineView, ...] = ()
    #: By machine: why the cluster does not give it back now.
    refused_reclaims: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChainFacts:
    cluster: str
    #: None: the request was not made for a pod, or the pod is gone.
    pod: PodFacts | None = None
    request: RequestFacts | None = None
    #: Why it is not known whether there is a request; empty: it is.
    requests_unread: str = ""
    #: None: it was not asked, or could not be read.
    controller: ControllerFacts | None = None
    #: Why the controller is unknown; empty: it is known, or has no lease.
    controller_unread: str = ""
    #: None: no shard has answered, or there is nothing to ask it about.
    shard: ShardFacts | None = None
    #: By machine.
    upcoming: Mapping[str, UpcomingFacts] = field(default_factory=dict)
    #: Why UpcomingNodes are not known; empty: they are.
    upcoming_unread: str = ""
    node: NodeFacts | None = None
