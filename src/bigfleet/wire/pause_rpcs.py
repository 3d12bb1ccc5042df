"""Pause, Resume and ListPauses as a shard and the coordinator serve them alike, both ends."""

from functools import partial

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.model.pauses import PauseScope
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import PauseCall, Paused, PauseList, ResumeCall, Resumed
from bigfleet.wire.audits import audit_message, audit_of, name_of
from bigfleet.wire.record_codecs import Conversion, RecordCodec
from bigfleet.wire.shard_views import PAUSE, SCOPE

#: Shards, clusters and kinds a scope may name.
MOST_NAMED = 10_000


def _scope_of(message: shared.PauseScope) -> PauseScope:
    named = max(len(message.shard_ids), len(message.cluster_ids), len(message.kinds))
    if named > MOST_NAMED:
        text = f"the scope names {named} of a kind; {MOST_NAMED} are enough"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    try:
        scope = SCOPE.record(message)
    except ValueError as problem:
        text = f"the scope names an action that is not known here: {problem}"
        raise Rejected(Code.INVALID_ARGUMENT, text) from None
    for name in (*scope.shard_ids, *scope.cluster_ids):
        name_of("the scope's name", name)
    return scope


_AUDIT = Conversion(audit_message, audit_of)
_PAUSE_ID = Conversion(read=partial(name_of, "pause_id"))
#: Reading either of them raises Rejected for a contradictory request.
PAUSE_CALL = RecordCodec(
    PauseCall,
    shared.PauseRequest,
    audit=_AUDIT,
    scope=Conversion(SCOPE.message, _scope_of),
    pause_id=_PAUSE_ID,
)
RESUME_CALL = RecordCodec(
    ResumeCall, shared.ResumeRequest, audit=_AUDIT, pause_id=_PAUSE_ID, everything="all"
)
PAUSED = RecordCodec(Paused, shared.PauseResponse, pause=PAUSE, active=PAUSE)
RESUMED = RecordCodec(Resumed, shared.ResumeResponse, removed=PAUSE, active=PAUSE)
PAUSE_LIST = RecordCodec(PauseList, shared.ListPausesResponse, pauses=PAUSE)
