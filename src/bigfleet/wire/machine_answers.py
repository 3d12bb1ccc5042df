"""Answers about one machine and one cycle, as messages and back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.machine_answers import (
    Check,
    CycleCall,
    CycleInputs,
    CycleView,
    DecisionList,
    DecisionQuery,
    MachineAnswer,
    MachineCall,
    MachineStep,
    WhyNot,
    WhyNotCall,
)
from bigfleet.model.shard_views import ActionView
from bigfleet.wire.machine_views import ACTION, MACHINE_VIEW, NEED_KEY
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.reasons import REASON
from bigfleet.wire.record_codecs import NOT_NEGATIVE, ByHand, Document, RecordCodec


def decisions_in_full(attribute: str) -> ByHand:
    """Actions with their details, which are a list of their own: the journal and the lists of
    machines carry actions too, and are as long as they are."""

    def write(record: Any) -> Mapping[str, Any]:
        views: Sequence[ActionView] = getattr(record, attribute)
        return {attribute: ACTION.messages(views), "details": list(map(_detail_of, views))}

    def read(message: Any) -> Mapping[str, Any]:
        views, details = ACTION.records(getattr(message, attribute)), message.details
        if len(details) != len(views):
            # Of an older shard.
            return {attribute: views}
        return {attribute: tuple(map(_in_full, views, details))}

    return ByHand((attribute,), (attribute, "details"), write, read)


def _detail_of(view: ActionView) -> pb.DecisionDetail:
    return pb.DecisionDetail(
        reasons=REASON.messages(each.told for each in view.reasons),
        bill_change_known=view.bill_change is not None,
        bill_change_per_hour=view.bill_change or 0.0,
    )


def _in_full(view: ActionView, detail: pb.DecisionDetail) -> ActionView:
    known = detail.bill_change_known
    return replace(
        view,
        reasons=REASON.records(detail.reasons),
        bill_change=detail.bill_change_per_hour if known else None,
    )


CHECK: RecordCodec[Check, Any] = RecordCodec(Check, shared.Check)
WHY_NOT_CALL = RecordCodec(WhyNotCall, pb.WhyNotRequest, need=NEED_KEY)
WHY_NOT = RecordCodec(WhyNot, pb.WhyNotResponse, blocking=CHECK, checks=CHECK)
STEP = RecordCodec(MachineStep, pb.ExplainStep, covered=RESOURCES, remaining=RESOURCES)
MACHINE_CALL = RecordCodec(MachineCall, pb.ExplainMachineRequest)
MACHINE_ANSWER = RecordCodec(
    MachineAnswer,
    pb.ExplainMachineResponse,
    machine=MACHINE_VIEW,
    steps=STEP,
    actions=ACTION,
)
DECISION_QUERY = RecordCodec(
    DecisionQuery, pb.ListDecisionsRequest, need=NEED_KEY, limit=NOT_NEGATIVE
)
DECISION_LIST = RecordCodec(DecisionList, pb.ListDecisionsResponse, decisions_in_full("decisions"))
CYCLE_CALL = RecordCodec(
    CycleCall, pb.GetCycleRequest, limit=NOT_NEGATIVE, first_index=NOT_NEGATIVE
)
CYCLE_INPUTS = RecordCodec(CycleInputs, pb.CycleInputs)
CYCLE_VIEW = RecordCodec(
    CycleView,
    pb.GetCycleResponse,
    decisions_in_full("actions"),
    nanos_of_phase="phase_nanos",
    inputs=CYCLE_INPUTS,
)


def why_not_document(answer: WhyNot, cycle: str) -> Document:
    """`cycle`: with its epoch."""
    return {
        "cycle": cycle,
        "sentence": answer.sentence,
        "blocking": CHECK.document(answer.blocking) if answer.blocking else None,
        "checks": [CHECK.document(check) for check in answer.checks],
        "wouldChange": list(answer.would_change),
    }
