"""Reasons as messages and back, cut to what may be told."""

from collections.abc import Mapping, Sequence
from itertools import islice

from bigfleet.admin.v1alpha1 import common_pb2 as pb
from bigfleet.model.cluster_reports import cut_text
from bigfleet.model.reasons import ToldReason
from bigfleet.wire.record_codecs import Conversion, RecordCodec

#: Facts and refs of a reason.
MOST_FACTS = 32


def _facts_told(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: cut_text(value) for name, value in islice(facts.items(), MOST_FACTS)}


def _refs_told(refs: Sequence[str]) -> list[str]:
    return [cut_text(name) for name in refs[:MOST_FACTS]]


REASON = RecordCodec(
    ToldReason,
    pb.Reason,
    text=Conversion(cut_text),
    facts=Conversion(_facts_told, dict),
    refs=Conversion(_refs_told, tuple),
)


def reason_message(reason: ToldReason) -> pb.Reason:
    return pb.Reason(
        code=reason.code,
        text=cut_text(reason.text),
        facts=_facts_told(reason.facts),
        refs=_refs_told(reason.refs),
    )
