"""A shard's verifier on the wire."""

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.shard_admin import Audit
from bigfleet.model.verifier_views import (
    PolicySet,
    VerifierIncident,
    VerifierPolicy,
    VerifierView,
)
from bigfleet.wire.record_codecs import RecordCodec

POLICY = RecordCodec(VerifierPolicy, pb.VerifierPolicy)
VERIFIER = RecordCodec(
    VerifierView,
    pb.GetVerifierResponse,
    policy=POLICY,
    set_by=RecordCodec(Audit, shared.Audit),
    last_incidents=RecordCodec(VerifierIncident, pb.VerifierIncident),
)
POLICY_SET = RecordCodec(PolicySet, pb.SetVerifierPolicyResponse, policy=POLICY)


def policy_request(
    policy: VerifierPolicy, from_settings: bool = False
) -> pb.SetVerifierPolicyRequest:
    return pb.SetVerifierPolicyRequest(policy=POLICY.message(policy), from_settings=from_settings)


def policy_arguments(request: pb.SetVerifierPolicyRequest) -> tuple[VerifierPolicy, bool]:
    return POLICY.record(request.policy), request.from_settings
