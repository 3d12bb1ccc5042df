"""What was found to thrash, as messages and back, with the trace that shows it."""

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.thrash import ThrashFinding, TraceAction
from bigfleet.wire.machine_views import NEED_KEY
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.record_codecs import RecordCodec

TRACE_ACTION = RecordCodec(
    TraceAction,
    pb.TraceAction,
    fingerprint="profile_fingerprint",
    preemptor=NEED_KEY,
    frees=RESOURCES,
    deficit=RESOURCES,
)
THRASH_FINDING = RecordCodec(
    ThrashFinding,
    pb.ThrashFinding,
    fingerprint="profile_fingerprint",
    witness=TRACE_ACTION,
)
