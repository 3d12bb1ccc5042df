"""Answers about one machine and one cycle, as messages and back."""

from typing import Any

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.machine_answers import (
    Check,
    CycleCall,
    CycleView,
    DecisionList,
    DecisionQuery,
    MachineAnswer,
    MachineCall,
    MachineStep,
    WhyNot,
    WhyNotCall,
)
from bigfleet.wire.machine_views import ACTION, MACHINE_VIEW, NEED_KEY
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.record_codecs import NOT_NEGATIVE, Document, RecordCodec

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
DECISION_LIST = RecordCodec(DecisionList, pb.ListDecisionsResponse, decisions=ACTION)
CYCLE_CALL = RecordCodec(
    CycleCall, pb.GetCycleRequest, limit=NOT_NEGATIVE, first_index=NOT_NEGATIVE
)
CYCLE_VIEW = RecordCodec(CycleView, pb.GetCycleResponse, actions=ACTION)


def why_not_document(answer: WhyNot, cycle: str) -> Document:
    """`cycle`: with its epoch."""
    return {
        "cycle": cycle,
        "sentence": answer.sentence,
        "blocking": CHECK.document(answer.blocking) if answer.blocking else None,
        "checks": [CHECK.document(check) for check in answer.checks],
        "wouldChange": list(answer.would_change),
    }
