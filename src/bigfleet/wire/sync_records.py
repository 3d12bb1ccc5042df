"""Records that only a sync carries, as messages and back: shortfalls, quotas, offers, back-offs.

A number of a later version is a ValueError where the record has no place for it.
"""

import math

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import (
    KEEP_MACHINES,
    KEEP_PER_MILLE,
    OfferingBackoff,
    OfferReply,
    OfferRequest,
    QuotaGrant,
    QuotaUsage,
    ShortfallDetail,
    TransferTier,
)
from bigfleet.wire.needs import (
    requirement_messages,
    requirements_of,
    resources_message,
    resources_of,
)
from bigfleet.wire.shard_reports import bucket_number, bucket_of
from bigfleet.wire.shard_views import number


def usage_message(usage: QuotaUsage) -> pb.QuotaUsage:
    return pb.QuotaUsage(
        provider=usage.provider,
        region=usage.region,
        allocated=usage.allocated,
        in_use=usage.in_use,
        wanted=usage.wanted,
        top_priority=usage.top_priority,
    )


def usage_of(message: pb.QuotaUsage) -> QuotaUsage:
    return QuotaUsage(
        message.provider,
        message.region,
        message.allocated,
        message.in_use,
        message.wanted,
        message.top_priority,
    )


def grant_message(grant: QuotaGrant) -> pb.QuotaGrant:
    return pb.QuotaGrant(
        provider=grant.provider,
        region=grant.region,
        allocated=grant.allocated,
        unlimited=grant.unlimited,
    )


def grant_of(message: pb.QuotaGrant) -> QuotaGrant:
    return QuotaGrant(message.provider, message.region, message.allocated, message.unlimited)


def backoff_message(backoff: OfferingBackoff) -> pb.OfferingBackoff:
    return pb.OfferingBackoff(
        offering=backoff.offering,
        kind=backoff.kind,
        attempt=backoff.attempt,
        until_unix_nanos=backoff.until,
    )


def backoff_of(message: pb.OfferingBackoff) -> OfferingBackoff:
    return OfferingBackoff(
        message.offering, message.kind, message.attempt, message.until_unix_nanos
    )


def shortfall_message(row: ShortfallDetail) -> pb.ShortfallDetail:
    return pb.ShortfallDetail(
        profile_fingerprint=row.fingerprint,
        requirements=requirement_messages(row.requirements),
        min_unit=resources_message(row.min_unit),
        deficit=resources_message(row.deficit),
        priority=row.priority,
        age_cycles=row.age_cycles,
        same=row.same,
        interruption_penalty_bucket=bucket_number(row.interruption_bucket),
    )


def shortfall_of(message: pb.ShortfallDetail) -> ShortfallDetail:
    return ShortfallDetail(
        message.profile_fingerprint,
        requirements_of(message.requirements),
        resources_of(message.min_unit),
        resources_of(message.deficit),
        message.priority,
        message.age_cycles,
        message.same,
        bucket_of(message.interruption_penalty_bucket),
    )


def offer_message(offer: OfferRequest) -> pb.OfferRequest:
    """Whole seconds: what is kept is kept a little longer rather than shorter.

    A donor that keeps nothing is written as -1 machines: two zeros mean that it was not said.
    """
    keeps_none = not (offer.keep_machines or offer.keep_per_mille)
    return pb.OfferRequest(
        transfer_id=offer.transfer,
        tier=number(offer.tier),
        requirements=requirement_messages(offer.requirements),
        min_unit=resources_message(offer.min_unit),
        deficit=resources_message(offer.deficit),
        priority=offer.priority,
        max_machines=offer.max_machines,
        provider_address=offer.provider_address,
        reserve_seconds=math.ceil(offer.reserve_seconds),
        keep_machines=-1 if keeps_none else offer.keep_machines,
        keep_per_mille=offer.keep_per_mille,
    )


def offer_of(message: pb.OfferRequest) -> OfferRequest:
    keeps = (max(0, message.keep_machines), max(0, message.keep_per_mille))
    if not (message.keep_machines or message.keep_per_mille):
        keeps = (KEEP_MACHINES, KEEP_PER_MILLE)
    return OfferRequest(
        message.transfer_id,
        TransferTier(message.tier),
        requirements_of(message.requirements),
        resources_of(message.min_unit),
        resources_of(message.deficit),
        message.priority,
        message.max_machines,
        message.provider_address,
        float(message.reserve_seconds),
        *keeps,
    )


def offer_reply_message(reply: OfferReply) -> pb.OfferReply:
    return pb.OfferReply(
        transfer_id=reply.transfer,
        machine_ids=reply.machine_ids,
        covered=resources_message(reply.covered),
        declined_reason=reply.declined_reason,
        drained=reply.drained,
        regions=reply.regions,
    )


def offer_reply_of(message: pb.OfferReply) -> OfferReply:
    return OfferReply(
        message.transfer_id,
        tuple(message.machine_ids),
        resources_of(message.covered),
        message.declined_reason,
        message.drained,
        tuple(message.regions),
    )
