"""Records that only a sync carries, as messages and back: shortfalls, quotas, offers, back-offs.

A number of a later version is a ValueError where the record has no place for it.
"""

import math
from collections.abc import Mapping
from typing import Any

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
)
from bigfleet.wire.coordination import PENALTY_BUCKET
from bigfleet.wire.needs import RESOURCES, requirement_messages, requirements_of
from bigfleet.wire.record_codecs import ByHand, Conversion, RecordCodec


def _kept_fields(offer: OfferRequest) -> Mapping[str, Any]:
    """A donor that keeps nothing is written as -1 machines: two zeros mean that it was not said."""
    keeps_none = not (offer.keep_machines or offer.keep_per_mille)
    machines = -1 if keeps_none else offer.keep_machines
    return {"keep_machines": machines, "keep_per_mille": offer.keep_per_mille}


def _kept_of(message: pb.OfferRequest) -> Mapping[str, Any]:
    machines, per_mille = max(0, message.keep_machines), max(0, message.keep_per_mille)
    if not (message.keep_machines or message.keep_per_mille):
        machines, per_mille = KEEP_MACHINES, KEEP_PER_MILLE
    return {"keep_machines": machines, "keep_per_mille": per_mille}


_REQUIREMENTS = Conversion(requirement_messages, requirements_of)
_KEPT = ("keep_machines", "keep_per_mille")
#: Of a machine for a transfer, in seconds: a week. Longer is not a transfer.
_LONGEST_RESERVE = 7 * 24 * 3600
USAGE = RecordCodec(QuotaUsage, pb.QuotaUsage)
GRANT = RecordCodec(QuotaGrant, pb.QuotaGrant)
BACKOFF = RecordCodec(OfferingBackoff, pb.OfferingBackoff)
SHORTFALL = RecordCodec(
    ShortfallDetail,
    pb.ShortfallDetail,
    fingerprint="profile_fingerprint",
    requirements=_REQUIREMENTS,
    min_unit=RESOURCES,
    deficit=RESOURCES,
    interruption_bucket=PENALTY_BUCKET,
)
OFFER = RecordCodec(
    OfferRequest,
    pb.OfferRequest,
    ByHand(_KEPT, _KEPT, _kept_fields, _kept_of),
    requirements=_REQUIREMENTS,
    min_unit=RESOURCES,
    deficit=RESOURCES,
    # Whole seconds: what is kept is kept a little longer rather than shorter.
    reserve_seconds=Conversion(math.ceil, lambda asked: float(min(asked, _LONGEST_RESERVE))),
)
OFFER_REPLY = RecordCodec(OfferReply, pb.OfferReply, covered=RESOURCES)
