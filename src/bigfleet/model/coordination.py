"""What a shard and people exchange with the coordinator, beside reports: records of our own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from bigfleet.model.coordinator_calls import AckOutcome, CoordinatorInstruction
from bigfleet.model.machines import Instant
from bigfleet.model.ownership import MachineOverride, OwnershipView, Pair
from bigfleet.model.pauses import Pause
from bigfleet.model.penalties import UNSPECIFIED, Bucket
from bigfleet.model.reasons import ToldReason
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary

#: What a shard goes by where a coordinator does not say: machines a donor keeps at least, in
#: number and in thousandths of what fits, and how long a receiver keeps what came for a shortfall.
KEEP_MACHINES, KEEP_PER_MILLE = 2, 100
HOLD_SECONDS = 120


class TransferTier(IntEnum):
    IDLE = 1
    SPECULATIVE = 2
    DRAIN = 3
    RETURN = 4

    @property
    def label(self) -> str:
        return self.name.lower()


class TransferState(IntEnum):
    OFFERED = 1
    DRAINING = 2
    RELEASING = 3
    GRANTED = 4
    DONE = 5
    CANCELLED = 6

    @property
    def label(self) -> str:
        return self.name.lower()

    @property
    def open(self) -> bool:
        return self not in (TransferState.DONE, TransferState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Transfer:
    id: str
    tier: TransferTier
    from_shard: str
    to_shard: str
    state: TransferState
    machine_ids: tuple[str, ...] = ()
    fingerprint: str = ""
    priority: int = 0
    created_at: Instant = 0
    updated_at: Instant = 0
    #: A sentence: why it was begun, and after its end why it ended.
    reason: str = ""
    #: How long its receiver keeps the machines for the shortfall, from their arrival.
    hold_seconds: int = HOLD_SECONDS


def release_id(transfer: str) -> str:
    """Of the instruction to the donor."""
    return f"tx-{transfer}/release"


def adopt_id(transfer: str) -> str:
    """Of the instruction to the receiver."""
    return f"tx-{transfer}/adopt"


def drain_id(transfer: str) -> str:
    """Of the instruction that makes the donor drain first."""
    return f"tx-{transfer}/drain"


def transfer_of(instruction_id: str) -> tuple[str, str]:
    """Transfer and step of an instruction's id; two empty texts where it is of no transfer."""
    head, slash, step = instruction_id.rpartition("/")
    return (head.removeprefix("tx-"), step) if slash and head.startswith("tx-") else ("", "")


@dataclass(frozen=True, slots=True)
class ShortfallDetail:
    """One fingerprint over all clusters of a shard."""

    fingerprint: str
    requirements: tuple[Requirement, ...] = ()
    min_unit: Resources = Resources()
    deficit: Resources = Resources()
    priority: int = 0
    age_cycles: int = 0
    same: bool = False
    interruption_bucket: Bucket = UNSPECIFIED


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    #: A provider's name, and a region.
    provider: str
    region: str
    allocated: int = 0
    in_use: int = 0
    #: Slots wanted beyond what is allocated.
    wanted: int = 0
    #: Of what is wanted.
    top_priority: int = 0


@dataclass(frozen=True, slots=True)
class QuotaGrant:
    provider: str
    region: str
    allocated: int = 0
    unlimited: bool = False


@dataclass(frozen=True, slots=True)
class OfferRequest:
    """Asks a donor what it could give."""

    transfer: str
    tier: TransferTier
    requirements: tuple[Requirement, ...] = ()
    min_unit: Resources = Resources()
    deficit: Resources = Resources()
    priority: int = 0
    max_machines: int = 64
    provider_address: str = ""
    reserve_seconds: float = 60.0
    #: What the donor keeps of its free machines that fit: so many, or that part, the larger.
    keep_machines: int = KEEP_MACHINES
    keep_per_mille: int = KEEP_PER_MILLE


@dataclass(frozen=True, slots=True)
class OfferReply:
    transfer: str
    machine_ids: tuple[str, ...] = ()
    covered: Resources = Resources()
    #: Empty: the machines are reserved.
    declined_reason: str = ""
    #: The machines were occupied and are free now.
    drained: bool = False
    #: Of each machine, in the order of their ids, for the quotas that move with them.
    regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    name: str
    address: str
    region: str = ""
    supports_delete: bool = False
    attached_shards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterBinding:
    cluster: str
    shard: str
    #: Where that shard is reached.
    address: str = ""
    bound_at: Instant = 0


@dataclass(frozen=True, slots=True)
class OfferingBackoff:
    offering: str
    kind: str
    attempt: int
    until: Instant


@dataclass(frozen=True, slots=True)
class SyncRequest:
    shard_id: str
    epoch: int
    cycle: int
    ownership_revision: int = 0
    cluster_ids: tuple[str, ...] = ()
    providers: tuple[ProviderEntry, ...] = ()
    shortfalls: tuple[ShortfallDetail, ...] = ()
    quota_usage: tuple[QuotaUsage, ...] = ()
    offer_replies: tuple[OfferReply, ...] = ()
    returnable: tuple[str, ...] = ()
    #: Overrides the shard has persisted, and (with an empty shard) machines it has released.
    held_overrides: tuple[MachineOverride, ...] = ()
    backoffs: tuple[OfferingBackoff, ...] = ()
    #: Only while the coordinator merges after a restore: pairs whose owner this shard is, default
    #: ownership as PROVIDER_KEY pairs included, lingering ones too.
    held_pairs: tuple[Pair, ...] = ()
    #: It has heard that the coordinator merges: `held_pairs` and `held_overrides` are all it holds.
    #: Without it, an empty list says nothing.
    tells_all: bool = False
    #: Rows of this call and of the report before it that did not fit into their messages.
    rows_left_off: int = 0


@dataclass(frozen=True, slots=True)
class SyncReply:
    term: int
    #: None: what the shard has is the newest.
    ownership: OwnershipView | None = None
    quotas: tuple[QuotaGrant, ...] = ()
    pauses: tuple[Pause, ...] = ()
    offers: tuple[OfferRequest, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    misbound: tuple[ClusterBinding, ...] = ()
    providers: tuple[ProviderEntry, ...] = ()
    #: When to report and sync again; 0: at the usual time.
    next_sync_millis: int = 0
    backoffs: tuple[OfferingBackoff, ...] = ()
    #: The coordinator was restored from a snapshot and asks what every shard holds.
    merging: bool = False


# -- what people see -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CoordinatorStatus:
    replica_id: str
    is_leader: bool
    leader_address: str
    term: int
    backend: str
    store_revision: int = 0
    shards: int = 0
    clusters: int = 0
    domains: int = 0
    pending_instructions: int = 0
    open_transfers: int = 0
    rebalance_paused: bool = False
    version: str = ""
    store_error: str = ""


@dataclass(frozen=True, slots=True)
class ShardEntry:
    shard_id: str
    address: str
    registered_at: Instant
    #: None: not since this leader leads.
    last_heartbeat_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class DomainAssignment:
    key: str
    value: str
    #: Empty: it changes hands.
    shard: str


@dataclass(frozen=True, slots=True)
class ReportedShortfall:
    deficit: Resources
    priority: int
    age_cycles: int
    interruption_bucket: Bucket = UNSPECIFIED


@dataclass(frozen=True, slots=True)
class ReportView:
    """The last report of a shard, as people are shown it."""

    shard_id: str
    cycle: int
    received_at: Instant
    summary: ShardSummary
    shortfalls: tuple[ReportedShortfall, ...] = ()


@dataclass(frozen=True, slots=True)
class ShortfallView:
    """What a shard is short of, as its last sync told it, and what the last sweep made of it."""

    shard: str
    fingerprint: str
    deficit: Resources
    priority: int
    age_cycles: int
    #: Why no transfer is opened for it, or that one is under way.
    reason: ToldReason
    #: The one under way; empty: none.
    transfer: str = ""
    #: When the sweep made the reason; None: none of this leader has looked at it yet.
    swept_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class ShortfallList:
    #: The most urgent first.
    shortfalls: tuple[ShortfallView, ...] = ()
    #: Without the limit.
    total: int = 0
    #: Shards that have not synced since this replica leads: what they are short of is unknown.
    unknown_shards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaAllocation:
    provider: str
    region: str
    total: int
    per_shard: Mapping[str, int] = field(default_factory=dict)
    in_use: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingInstruction:
    shard: str
    instruction: CoordinatorInstruction
    attempts: int = 0
    created_at: Instant = 0
    last_outcome: AckOutcome = AckOutcome.UNSPECIFIED
    last_reason: str = ""


@dataclass(frozen=True, slots=True)
class CoordinatorEvent:
    revision: int
    at: Instant
    term: int
    kind: str
    subject: str
    #: A sentence.
    text: str
    peer: str = ""
