"""Pause, Resume and ListPauses as a shard and the coordinator serve them alike, both ends."""

from collections.abc import Iterable

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.model.pauses import Pause, PauseScope
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import PauseCall, Paused, PauseList, ResumeCall, Resumed
from bigfleet.wire import shard_views as views
from bigfleet.wire.audits import audit_message, audit_of, name_of

#: Shards, clusters and kinds a scope may name.
MOST_NAMED = 10_000


def pause_call_of(request: shared.PauseRequest) -> PauseCall:
    """Raises Rejected for a contradictory request."""
    return PauseCall(
        audit_of(request.audit),
        _scope_of(request.scope),
        request.ttl_seconds,
        request.no_expiry,
        name_of("pause_id", request.pause_id),
    )


def pause_request(call: PauseCall) -> shared.PauseRequest:
    return shared.PauseRequest(
        scope=views.scope_message(call.scope),
        audit=audit_message(call.audit),
        ttl_seconds=call.ttl_seconds,
        no_expiry=call.no_expiry,
        pause_id=call.pause_id,
    )


def paused_message(paused: Paused) -> shared.PauseResponse:
    return shared.PauseResponse(
        pause=views.pause_message(paused.pause), active=_messages(paused.active)
    )


def paused_of(message: shared.PauseResponse) -> Paused:
    return Paused(views.pause_of(message.pause), _pauses(message.active))


def resume_call_of(request: shared.ResumeRequest) -> ResumeCall:
    return ResumeCall(audit_of(request.audit), name_of("pause_id", request.pause_id), request.all)


def resume_request(call: ResumeCall) -> shared.ResumeRequest:
    return shared.ResumeRequest(
        pause_id=call.pause_id, all=call.everything, audit=audit_message(call.audit)
    )


def resumed_message(resumed: Resumed) -> shared.ResumeResponse:
    return shared.ResumeResponse(
        removed=_messages(resumed.removed), active=_messages(resumed.active)
    )


def resumed_of(message: shared.ResumeResponse) -> Resumed:
    return Resumed(_pauses(message.removed), _pauses(message.active))


def pause_list_message(listed: PauseList) -> shared.ListPausesResponse:
    return shared.ListPausesResponse(pauses=_messages(listed.pauses), dry_run=listed.dry_run)


def pause_list_of(message: shared.ListPausesResponse) -> PauseList:
    return PauseList(_pauses(message.pauses), message.dry_run)


def _scope_of(message: shared.PauseScope) -> PauseScope:
    named = max(len(message.shard_ids), len(message.cluster_ids), len(message.kinds))
    if named > MOST_NAMED:
        text = f"the scope names {named} of a kind; {MOST_NAMED} are enough"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    try:
        scope = views.scope_of(message)
    except ValueError as problem:
        text = f"the scope names an action that is not known here: {problem}"
        raise Rejected(Code.INVALID_ARGUMENT, text) from None
    for name in (*scope.shard_ids, *scope.cluster_ids):
        name_of("the scope's name", name)
    return scope


def _messages(pauses: Iterable[Pause]) -> list[shared.Pause]:
    return [views.pause_message(pause) for pause in pauses]


def _pauses(messages: Iterable[shared.Pause]) -> tuple[Pause, ...]:
    return tuple(map(views.pause_of, messages))
