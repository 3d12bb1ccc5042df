"""Any record of the coordinator's line, for property tests."""

from typing import TypeVar

from hypothesis import strategies as st

from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import (
    ClusterBinding,
    OfferingBackoff,
    OfferReply,
    OfferRequest,
    ProviderEntry,
    QuotaGrant,
    QuotaUsage,
    ShortfallDetail,
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
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary, ShortfallRow

T = TypeVar("T")

text = st.text(
    alphabet=st.one_of(st.just("\x00"), st.characters(exclude_categories=["Cs"])), max_size=6
)
int32 = st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1])
int64 = st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1])
moments = st.integers(1, 2**63 - 1)
buckets = st.integers(0, 27)


def many(rows: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(rows, max_size=2).map(tuple)


names = st.lists(text, max_size=3).map(tuple)
requirements = many(
    st.builds(Requirement.of, text, st.sampled_from(Operator), st.lists(text, max_size=2))
)
resources = st.dictionaries(
    st.sampled_from(["cpu", "memory", "gpu"]), st.integers(1, 2**62 - 1), max_size=2
).map(Resources.of)
pairs = st.tuples(text, text)
overrides = st.builds(MachineOverride, text, text, text, text)
views = st.builds(
    OwnershipView.of,
    int64,
    names,
    st.dictionaries(pairs, text, max_size=4),
    st.lists(overrides, max_size=3),
    st.dictionaries(text, text, max_size=3),
)
providers = st.builds(ProviderEntry, text, text, text, st.booleans(), names)
backoffs = st.builds(OfferingBackoff, text, text, int32, int64)
transfers = st.builds(
    Transfer,
    text,
    st.sampled_from(TransferTier),
    text,
    text,
    st.sampled_from(TransferState),
    names,
    text,
    int32,
    int64,
    int64,
    text,
    st.sampled_from([-1, 1, 2**31 - 1]),
)
pauses = st.builds(
    Pause,
    text,
    st.sampled_from(PauseSource),
    st.builds(PauseScope, names, names, many(st.sampled_from(ActionKind)), st.booleans()),
    text,
    text,
    int64,
    st.none() | moments,
    text,
)
shortfalls = st.builds(
    ShortfallDetail, text, requirements, resources, resources, int32, int32, st.booleans(), buckets
)
kept = st.sampled_from([0, 1, 1000, 2**31 - 1])
offers = st.builds(
    OfferRequest,
    text,
    st.sampled_from(TransferTier),
    requirements,
    resources,
    resources,
    int32,
    int32,
    text,
    st.integers(0, 10_000).map(float),
    kept,
    kept,
)
syncs = st.builds(
    SyncRequest,
    text,
    int64,
    int64,
    int64,
    names,
    many(providers),
    many(shortfalls),
    many(st.builds(QuotaUsage, text, text, int32, int32, int32, int32)),
    many(st.builds(OfferReply, text, names, resources, text, st.booleans(), names)),
    names,
    many(overrides),
    many(backoffs),
    # Domains first, as they come back.
    st.tuples(many(pairs), many(st.tuples(st.just(PROVIDER_KEY), text))).map(lambda p: p[0] + p[1]),
)
sync_replies = st.builds(
    SyncReply,
    int64,
    st.none() | views,
    many(st.builds(QuotaGrant, text, text, int32, st.booleans())),
    many(pauses),
    many(offers),
    many(transfers),
    many(st.builds(ClusterBinding, text, text, text, int64)),
    many(providers),
    int64,
    many(backoffs),
    st.booleans(),
)


def _row(given: tuple[tuple[Requirement, ...], int, int, Resources, int]) -> ShortfallRow:
    required, priority, bucket, deficit, age = given
    return ShortfallRow(Need("", Profile.of(required, (), priority, bucket), deficit), deficit, age)


counts = st.dictionaries(text, int32, max_size=2)
reports = st.builds(
    ShardReport,
    text,
    int64,
    int64,
    int64,
    text,
    st.builds(ShardSummary, int32, int32, counts, counts, text),
    many(st.tuples(requirements, int32, buckets, resources, int32).map(_row)),
    many(st.builds(InstructionAck, text, st.sampled_from(AckOutcome), text)),
)
_domains = st.sampled_from([InstructionKind.ASSIGN_DOMAIN, InstructionKind.UNASSIGN_DOMAIN])
_stamp = {"id": text, "term": int64, "sequence": int64}
instructions = st.one_of(
    st.builds(
        CoordinatorInstruction, kind=_domains, topology_key=text, topology_value=text, **_stamp
    ),
    st.builds(
        CoordinatorInstruction,
        kind=st.just(InstructionKind.REASSIGN_SPECULATIVE),
        machine_ids=names,
        **_stamp,
    ),
    st.builds(
        CoordinatorInstruction,
        kind=st.just(InstructionKind.CROSS_SHARD_DRAIN),
        machine_ids=names,
        preemptor_priority=int32,
        **_stamp,
    ),
    st.builds(
        CoordinatorInstruction,
        kind=st.just(InstructionKind.TRANSFER_OWNERSHIP),
        machine_ids=names,
        from_shard=text,
        to_shard=text,
        **_stamp,
    ),
    st.builds(CoordinatorInstruction, kind=st.just(InstructionKind.UNKNOWN), **_stamp),
)
report_replies = st.builds(ReportReply, int64, st.booleans(), many(instructions))
