"""What a shard and the coordinator tell each other beside reports: SyncShard, both ways.

The reader of a request bounds what it takes. The reader of a reply leaves out what this version
cannot act on: an offer or a transfer of a kind it does not know, a pause of other actions only.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.actions import ActionKind
from bigfleet.model.coordination import SyncReply, SyncRequest, TransferState, TransferTier
from bigfleet.model.ownership import PROVIDER_KEY
from bigfleet.model.pauses import Pause, PauseSource
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire import coordination as records
from bigfleet.wire import shard_views as views
from bigfleet.wire import sync_records as rows
from bigfleet.wire.audits import bounded, name_of
from bigfleet.wire.machines import length_bytes
from bigfleet.wire.ownership_views import (
    ViewWriter,
    default_messages,
    override_message,
    override_of,
    view_of,
)
from bigfleet.wire.record_codecs import NOT_NEGATIVE, ByHand, Conversion, RecordCodec
from bigfleet.wire.shard_reports import most_of

#: Rows of a request, by its field: a shard holds half a million machines.
MOST_ROWS = {
    "cluster_ids": 20_000,
    "providers": 1_000,
    "shortfalls": 1_000,
    "quota_usage": 10_000,
    "offer_replies": 10_000,
    "returnable_machine_ids": 100_000,
    "held_overrides": 1_000_000,
    "backoffs": 10_000,
    "held_domains": 1_000_000,
    "held_defaults": 10_000,
}
#: Machines of one offer.
MOST_OFFERED = 10_000
#: Characters of a machine's id.
LONGEST_ID = 1024

#: Field 2 of SyncShardResponse.
_OWNERSHIP = b"\x12"
_TIERS = frozenset(int(tier) for tier in TransferTier)
_STATES = frozenset(int(state) for state in TransferState)


def _held_fields(request: SyncRequest) -> Mapping[str, Any]:
    """Pairs of domains, and those of default ownership."""
    shard, pairs = request.shard_id, request.held_pairs
    return {
        "held_domains": [
            contract.DomainAssignment(topology_key=key, topology_value=value, shard_id=shard)
            for key, value in pairs
            if key != PROVIDER_KEY
        ],
        "held_defaults": default_messages(
            (address, shard) for key, address in pairs if key == PROVIDER_KEY
        ),
    }


def _held_of(message: pb.SyncShardRequest) -> Mapping[str, Any]:
    pairs = ((row.topology_key, row.topology_value) for row in message.held_domains)
    defaults = ((PROVIDER_KEY, row.provider_address) for row in message.held_defaults)
    return {"held_pairs": tuple(chain(pairs, defaults))}


SYNC = RecordCodec(
    SyncRequest,
    pb.SyncShardRequest,
    ByHand(("held_pairs",), ("held_domains", "held_defaults"), _held_fields, _held_of),
    epoch="shard_epoch",
    providers=records.PROVIDER,
    shortfalls=rows.SHORTFALL,
    quota_usage=rows.USAGE,
    offer_replies=rows.OFFER_REPLY,
    returnable="returnable_machine_ids",
    # By hand: there may be half a million of them.
    held_overrides=Conversion(
        lambda held: map(override_message, held), lambda held: tuple(map(override_of, held))
    ),
    backoffs=rows.BACKOFF,
    rows_left_off=NOT_NEGATIVE,
)


def sync_bytes(request: SyncRequest) -> bytes:
    return SYNC.message(request).SerializeToString(deterministic=True)


def sync_of(message: pb.SyncShardRequest) -> SyncRequest:
    """Raises Rejected for what is too much."""
    for field, most in MOST_ROWS.items():
        most_of(field, len(getattr(message, field)), most)
    for field, name in _names(message):
        name_of(field, name)
    for reply in message.offer_replies:
        most_of("offer_replies.machine_ids", len(reply.machine_ids), MOST_OFFERED)
        for machine in reply.machine_ids:
            bounded("offer_replies.machine_ids", machine, LONGEST_ID)
        most_of("offer_replies.regions", len(reply.regions), MOST_OFFERED)
        for region in reply.regions:
            name_of("offer_replies.regions", region)
    return SYNC.record(message)


def sync_reply_bytes(reply: SyncReply, views_as_bytes: ViewWriter) -> bytes:
    """The view is not made of messages: it may have a hundred thousand rows."""
    head = pb.SyncShardResponse(coordinator_term=reply.term).SerializeToString()
    rest = pb.SyncShardResponse(
        quotas=rows.GRANT.messages(reply.quotas),
        pauses=views.PAUSE.messages(reply.pauses),
        offers=rows.OFFER.messages(reply.offers),
        transfers=records.TRANSFER.messages(reply.transfers),
        misbound=records.BINDING.messages(reply.misbound),
        providers=records.PROVIDER.messages(reply.providers),
        next_sync_millis=reply.next_sync_millis,
        backoffs=rows.BACKOFF.messages(reply.backoffs),
        merging=reply.merging,
    ).SerializeToString(deterministic=True)
    if reply.ownership is None:
        return head + rest
    parts = views_as_bytes.parts(reply.ownership)
    length = length_bytes(sum(map(len, parts)))
    return b"".join((head, _OWNERSHIP, length, *parts, rest))


def sync_reply_of(content: bytes) -> SyncReply:
    """Raises DecodeError where the bytes are not a SyncShardResponse."""
    message = pb.SyncShardResponse.FromString(content)
    return SyncReply(
        term=message.coordinator_term,
        ownership=view_of(message.ownership) if message.HasField("ownership") else None,
        quotas=rows.GRANT.records(message.quotas),
        pauses=tuple(_known_pauses(message)),
        offers=tuple(rows.OFFER.record(each) for each in message.offers if each.tier in _TIERS),
        transfers=tuple(
            records.TRANSFER.record(each)
            for each in message.transfers
            if each.tier in _TIERS and each.state in _STATES
        ),
        misbound=records.BINDING.records(message.misbound),
        providers=records.PROVIDER.records(message.providers),
        next_sync_millis=message.next_sync_millis,
        backoffs=rows.BACKOFF.records(message.backoffs),
        merging=message.merging,
    )


def _names(message: pb.SyncShardRequest) -> Iterator[tuple[str, str]]:
    """The texts that become part of a key in the coordinator's store."""
    yield "shard_id", message.shard_id
    yield from (("cluster_ids", cluster) for cluster in message.cluster_ids)
    for provider in message.providers:
        yield "providers.name", provider.name
        yield "providers.address", provider.address
        yield "providers.region", provider.region
    for usage in message.quota_usage:
        yield "quota_usage.provider", usage.provider
        yield "quota_usage.region", usage.region


def _known_pauses(message: pb.SyncShardResponse) -> Iterator[Pause]:
    for told in message.pauses:
        kinds = [kind for kind in told.scope.kinds if views.known(ActionKind, kind)]
        if told.scope.kinds and not kinds:
            continue
        told.scope.ClearField("kinds")
        told.scope.kinds.extend(kinds)
        if views.known(PauseSource, told.source) is None:
            told.source = shared.PAUSE_SOURCE_COORDINATOR
        yield views.PAUSE.record(told)
