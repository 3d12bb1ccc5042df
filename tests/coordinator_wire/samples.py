"""One of everything the coordinator keeps, shows and is told, with no field left empty."""

import hashlib

from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import (
    ClusterBinding,
    CoordinatorEvent,
    CoordinatorStatus,
    DomainAssignment,
    OfferingBackoff,
    OfferReply,
    OfferRequest,
    PendingInstruction,
    ProviderEntry,
    QuotaAllocation,
    QuotaGrant,
    QuotaUsage,
    ReportedShortfall,
    ReportView,
    ShardEntry,
    ShortfallDetail,
    ShortfallList,
    ShortfallView,
    SyncReply,
    SyncRequest,
    Transfer,
    TransferState,
    TransferTier,
)
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    InstructionAck,
    InstructionKind,
    ReportReply,
    ShardReport,
)
from bigfleet.model.needs import Need
from bigfleet.model.ownership import PROVIDER_KEY, MachineOverride, OwnershipView
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.profiles import Profile
from bigfleet.model.reasons import ToldReason
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary, ShortfallRow
from bigfleet.wire.coordinator_handlers import Snapshot, SnapshotMeta

ZONE = "topology.kubernetes.io/zone"
RACK = "topology.bigfleet/rack"
FOUR = Resources.parse({"cpu": "4"})
A3 = Requirement.of("node.kubernetes.io/instance-type", Operator.IN, ["a3"])
PROFILE = Profile.of([A3], (), 5, 2)
SUMMARY = ShardSummary(3, 1, {"a3": 3}, {"z-a": 2, "z-b": 1}, "p:9000")
REPORT = ShardReport(
    "shard-0",
    7,
    11,
    2,
    "h:7780",
    SUMMARY,
    (ShortfallRow(Need("", PROFILE, FOUR), FOUR, 6),),
    (InstructionAck("i1", AckOutcome.FAILED, "no room"),),
)
INSTRUCTIONS = (
    CoordinatorInstruction(
        "i1", InstructionKind.ASSIGN_DOMAIN, 3, 1, topology_key=ZONE, topology_value="z-a"
    ),
    CoordinatorInstruction(
        "i2", InstructionKind.UNASSIGN_DOMAIN, 3, 2, topology_key=ZONE, topology_value="z-b"
    ),
    CoordinatorInstruction(
        "tx-1/release", InstructionKind.REASSIGN_SPECULATIVE, 3, 3, machine_ids=("m-1", "m-2")
    ),
    CoordinatorInstruction(
        "tx-2/drain",
        InstructionKind.CROSS_SHARD_DRAIN,
        3,
        4,
        machine_ids=("m-3",),
        preemptor_priority=-5,
    ),
    CoordinatorInstruction(
        "tx-2/adopt",
        InstructionKind.TRANSFER_OWNERSHIP,
        3,
        5,
        machine_ids=("m-3",),
        from_shard="shard-0",
        to_shard="shard-1",
    ),
)
REPLY = ReportReply(3, True, INSTRUCTIONS)
PROVIDER = ProviderEntry("sim", "p:9000", "eu", True, ("shard-0", "shard-1"))
BINDING = ClusterBinding("shop", "shard-0", "h:7780", 12)
BACKOFF = OfferingBackoff("sim/a3/z-a/Spot", "stockout", 2, 13)
TRANSFER = Transfer(
    "t1",
    TransferTier.DRAIN,
    "shard-0",
    "shard-1",
    TransferState.RELEASING,
    ("m-3", "m\x00"),
    PROFILE.fingerprint,
    5,
    14,
    15,
    "shard-1 is short of 4 cpu",
    45,
)
PAUSE = Pause(
    "p-1",
    PauseSource.RPC,
    PauseScope(("shard-0",), ("shop",), (ActionKind.RECLAIM,), True),
    "ada",
    "drill",
    16,
    17,
    "bigfleet://admin",
)
VIEW = OwnershipView.of(
    5,
    (ZONE, RACK),
    {(ZONE, "z-a"): "shard-0", (ZONE, "z-b"): "", (RACK, "r\x00"): "shard-1"},
    [MachineOverride("m-1", "shard-1", "shard-0", "t1"), MachineOverride("m-2", "", "shard-0")],
    {"p:9000": "shard-0", "q:9000": ""},
)
SYNC = SyncRequest(
    shard_id="shard-0",
    epoch=2,
    cycle=7,
    ownership_revision=4,
    cluster_ids=("shop", "ml"),
    providers=(PROVIDER,),
    shortfalls=(
        ShortfallDetail(PROFILE.fingerprint, (A3,), Resources.parse({"cpu": "2"}), FOUR, 5, 6),
    ),
    quota_usage=(QuotaUsage("sim", "eu", 10, 8, 3, 5),),
    offer_replies=(OfferReply("t1", ("m-3",), FOUR, "too few", True, ("eu",)),),
    returnable=("m-9",),
    held_overrides=(MachineOverride("m-1", "", "shard-0", "t1"),),
    backoffs=(BACKOFF,),
    held_pairs=((ZONE, "z-a"), (PROVIDER_KEY, "p:9000")),
)
SYNCED = SyncReply(
    term=3,
    ownership=VIEW,
    quotas=(QuotaGrant("sim", "eu", 12), QuotaGrant("sim", "us", 0, True)),
    pauses=(PAUSE,),
    offers=(
        OfferRequest("t1", TransferTier.IDLE, (A3,), FOUR, FOUR, 5, 8, "p:9000", 60.0, 3, 250),
    ),
    transfers=(TRANSFER,),
    misbound=(BINDING,),
    providers=(PROVIDER,),
    next_sync_millis=500,
    backoffs=(BACKOFF,),
    merging=True,
)
STATUS = CoordinatorStatus(
    "c-0", True, "c:7790", 3, "etcd", 18, 2, 3, 4, 5, 6, True, "1.2", "no space"
)
SHARDS = (ShardEntry("shard-0", "h:7780", 1, 2), ShardEntry("shard-1", "i:7780", 1))
DOMAINS = (DomainAssignment(ZONE, "z-a", "shard-0"), DomainAssignment(ZONE, "z-b", ""))
DEFAULT_OWNERS = (("p:9000", "shard-0"), ("q:9000", ""))
REPORT_VIEW = ReportView("shard-0", 7, 19, SUMMARY, (ReportedShortfall(FOUR, 5, 6, 2),))
QUOTA = QuotaAllocation("sim", "eu", 20, {"shard-0": 12}, {"shard-0": 8, "shard-1": 0})
PENDING = PendingInstruction("shard-0", INSTRUCTIONS[4], 2, 20, AckOutcome.FAILED, "no room")
SHORTFALL = ShortfallView(
    "shard-0",
    PROFILE.fingerprint,
    FOUR,
    5,
    6,
    ToldReason("rebalance.open", "transfer t1 is under way for it", {"transfer": "t1"}, ("x/y",)),
    "t1",
    24,
)
SHORTFALLS = ShortfallList((SHORTFALL,), 2, ("shard-1",))
EVENT = CoordinatorEvent(21, 22, 3, "transfer.begun", "t1", "it begins", "bigfleet://admin")


def snapshot_of(data: bytes) -> Snapshot:
    checksum = hashlib.sha256(data).hexdigest()
    return Snapshot(SnapshotMeta("s-1", 18, 3, len(data), 1, "sqlite", checksum, 23), data)
