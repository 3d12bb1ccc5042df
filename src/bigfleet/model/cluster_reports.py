"""What our operator tells its shard of a cluster, and how the cluster's Needs stand in return.

Counts, a few examples, and the ids of machines whose Nodes say something the provider cannot know.
Every list has a bound, and a report has 4 MiB at most.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bigfleet.model.actions import UnmetReason
from bigfleet.model.forecasts import Forecast
from bigfleet.model.machines import Instant
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import resources_text
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import RollupRefusal

#: How often an operator reports; a shard takes three missed reports for silence.
REPORT_INTERVAL_SECONDS = 10
STALE_AFTER = 3 * REPORT_INTERVAL_SECONDS * SECOND
MOST_EXAMPLES = 20
MOST_PHASES = 32
#: Bytes of any text.
LONGEST_TEXT = 1024
MOST_STANDINGS = 2_000
#: Machine ids in each list of a report; a cluster has far fewer.
MOST_MACHINES = 50_000
LONGEST_MACHINE_ID = 253
#: Instructions a report may name as refused: beyond that people have read enough.
MOST_REFUSED = 500
#: Needs a report may tell stuck pods of, and Needs it may ask for by name.
MOST_NAMED_NEEDS = 2_000


@dataclass(frozen=True, slots=True)
class UnplacedPod:
    """A pod for which there is capacity, and which the cluster's scheduler has not placed."""

    #: namespace/name.
    pod: str
    need_id: str
    #: The scheduler's own words.
    text: str


class LostCause(StrEnum):
    """Why a cluster gives a machine up."""

    NEVER_JOINED = "never_joined"
    NODE_GONE = "node_gone"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class LostMachine:
    machine_id: str
    cause: LostCause


@dataclass(frozen=True, slots=True)
class StuckNeed:
    """A Need whose machines are all there while some of its pods wait."""

    fingerprint: str
    group: str
    pods: int


class DemandSource(StrEnum):
    """What CapacityRequests are made for."""

    #: Or by hand, or by a program of yours.
    POD = "pod"
    BUFFER = "buffer"
    PROVISIONING_REQUEST = "provisioning-request"


@dataclass(frozen=True, slots=True)
class NeedSources:
    """A Need that not only pods ask for: its CapacityRequests by what they are made for."""

    fingerprint: str
    group: str
    pods: int = 0
    buffers: int = 0
    provisioning_requests: int = 0

    @property
    def sources(self) -> tuple[DemandSource, ...]:
        counts = (self.pods, self.buffers, self.provisioning_requests)
        return tuple(source for source, count in zip(DemandSource, counts, strict=True) if count)


@dataclass(frozen=True, slots=True)
class RefusedReclaim:
    """An instruction that a cluster does not obey now: pods would have no place to go."""

    machine_id: str
    instruction_id: str
    #: Why, for people.
    text: str


@dataclass(frozen=True, slots=True)
class PodCounts:
    """Pods of a cluster, without those of DaemonSets, which follow its Nodes."""

    #: On a Node, and not ended.
    running: int = 0
    #: Without a Node.
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class ClusterPods:
    """How the pods of one cluster fare."""

    cluster: str
    running: int
    waiting: int
    #: Of those that wait: the machines of their Needs are there.
    stuck: int


@dataclass(frozen=True, slots=True)
class ClusterReport:
    cluster_id: str
    #: By the cluster's clock.
    at: Instant
    #: CapacityRequests and UpcomingNodes, by the phase in their status.
    requests_by_phase: Mapping[str, int] = field(default_factory=dict)
    upcoming_by_phase: Mapping[str, int] = field(default_factory=dict)
    nodes_ready: int = 0
    nodes_not_ready: int = 0
    #: Machines that were configured for the cluster and have no Node.
    nodes_missing: int = 0
    pods_covered_not_placed: int = 0
    #: Some of these pods.
    examples: tuple[UnplacedPod, ...] = ()
    #: CapacityRequests that cannot be translated.
    crs_skipped: int = 0
    #: Machines whose Node runs no pod but those of DaemonSets: all of them, sorted.
    empty_machines: tuple[str, ...] = ()
    #: Configured machines whose Node is missing or takes no pods yet: all of them, sorted.
    unusable_machines: tuple[str, ...] = ()
    lost: tuple[LostMachine, ...] = ()
    stuck: tuple[StuckNeed, ...] = ()
    #: Needs the reply must speak of, as (fingerprint, group).
    ask: tuple[tuple[str, str], ...] = ()
    refused: tuple[RefusedReclaim, ...] = ()
    #: Needs that not only pods ask for; all others are the pods'.
    sources: tuple[NeedSources, ...] = ()
    #: None: its operator does not count them.
    pods: PodCounts | None = None

    @property
    def nodes(self) -> int:
        return self.nodes_ready + self.nodes_not_ready

    @property
    def requests(self) -> int:
        return sum(self.requests_by_phase.values())

    @property
    def acknowledged(self) -> int:
        return self.requests_by_phase.get("Acknowledged", 0)


@dataclass(frozen=True, slots=True)
class ReceivedReport:
    """A report as its shard has it."""

    report: ClusterReport
    #: By the shard's clock.
    received_at: Instant
    #: Newer ones are overdue.
    stale: bool = False


@dataclass(frozen=True, slots=True)
class NeedStanding:
    """What the last cycle did for a Need, under the key with which the cluster asked for it."""

    fingerprint: str
    group: str
    satisfied: bool
    #: None where it is satisfied.
    reason: UnmetReason | None = None
    sentence: str = ""
    #: Machines that serve it and are not Configured yet.
    arriving: int = 0
    #: The aggregate this answer is about, as the cluster sent it; None: the shard does not tell.
    wanted: Resources | None = None
    #: Capacity of the machines that count for it; of a folded gang its share.
    claimed: Resources = Resources()
    machines: int = 0
    #: None: the shard does not tell.
    state: NeedState | None = None
    #: When it came into that state.
    since: Instant = 0
    #: Gangs that are served together with it, itself included; 0: it is served alone.
    folded_members: int = 0
    #: Without its steps; None: the Need is met, or not forecast yet.
    forecast: Forecast | None = None

    def key(self, cluster: str) -> NeedKey:
        return NeedKey(cluster, self.fingerprint, self.group)


@dataclass(frozen=True, slots=True)
class ClusterReportReply:
    standings: tuple[NeedStanding, ...] = ()
    #: 0: nothing was computed yet.
    cycle: int = 0
    computed_at: Instant = 0
    #: Needs of the cluster, before the cut.
    total: int = 0
    #: Ids of open instructions that cannot be refused: preemptions, and repairs of lost machines.
    preemptions: tuple[str, ...] = ()
    #: Why the cluster's last roll-up was not taken; None: it was, or the shard does not tell.
    refused_rollup: RollupRefusal | None = None


def met_sentence(machines: int, arriving: int) -> str:
    if not machines:
        return "asks for nothing"
    served = f"served by {machines} machine{'s' if machines > 1 else ''}"
    return f"{served}, {arriving} of them on the way" if arriving else served


def unmet_sentence(deficit: Resources, age: int, reason: UnmetReason, *, parked: bool) -> str:
    """The columns of `bigfleet needs` in one line."""
    cycles = f" for {age} cycle{'s' if age > 1 else ''}" if age else ""
    waits = "; parked: keeps what it has, acquires nothing" if parked else ""
    return f"short of {resources_text(deficit.positive().texts())}{cycles}: {reason}{waits}"


def cut_text(text: str) -> str:
    """As much of it as may be told."""
    if text.isascii() and len(text) <= LONGEST_TEXT:
        return text
    content = text.encode(errors="replace")
    if len(content) <= LONGEST_TEXT:
        return content.decode()
    return content[: LONGEST_TEXT - 3].decode(errors="ignore") + "..."
