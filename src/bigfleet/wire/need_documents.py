"""Needs as rows of JSON: the flat shape the older dashboard reads, and beside it the state.

Written by hand and from the messages as they came, as a page has thousands of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import NeedKey
from bigfleet.model.penalties import ENUM_NAMES
from bigfleet.model.profiles import WhenUnsatisfiable
from bigfleet.model.requirements import Operator
from bigfleet.model.shard_views import NeedCounts, NeedQuery
from bigfleet.v1alpha1 import capacity_pb2 as capacity
from bigfleet.v1alpha1 import shardread_pb2 as read
from bigfleet.wire.forecasts import FORECAST
from bigfleet.wire.need_listings import NEED_FRAME, full_frames_message
from bigfleet.wire.record_codecs import Document, message_document
from bigfleet.wire.rpcs import Page
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.shard_views import NEED_COUNTS

_OPERATORS = {
    int(each): "".join(word.capitalize() for word in each.name.split("_")) for each in Operator
}
_RULES: dict[int, Document] = {
    int(WhenUnsatisfiable.DO_NOT_SCHEDULE): {"whenUnsatisfiable": "DoNotSchedule"},
    int(WhenUnsatisfiable.SCHEDULE_ANYWAY): {"whenUnsatisfiable": "ScheduleAnyway"},
}
_UNSPECIFIED = "UNSPECIFIED"
_BUCKETS = {bucket: name.removeprefix("PENALTY_BUCKET_") for name, bucket in ENUM_NAMES.items()}
_REASONS = {number: name.removeprefix("UNMET_REASON_") for name, number in read.UnmetReason.items()}
_STATES = {int(each): each.label for each in NeedState}


#: Profiles whose words are remembered; a fleet has some hundreds.
_MOST_PROFILES = 4_096
T = TypeVar("T")


class NeedDocuments:
    """Profiles are shared by many Needs: what they say is made once."""

    def __init__(self) -> None:
        self._of_profile: dict[str, Document] = {}

    def read(self, content: bytes) -> Document:
        """Of a row as it came."""
        return self.document(pb.NeedRow.FromString(content))

    def document(self, row: pb.NeedRow) -> Document:
        view = row.view
        need, cluster, fingerprint = view.need, view.cluster_id, view.profile_fingerprint
        reasons = [_reason(each) for each in (row.reason, *row.further_reasons) if each.code]
        shown = {
            "clusterId": cluster,
            "needId": NeedKey(cluster, fingerprint, need.group).need_id,
            **self._profile(fingerprint, need),
            "aggregateResources": dict(need.aggregate_resources),
            "satisfied": view.satisfied,
            "claimedMachineCount": view.claimed_machine_count,
            "bootstrapCount": view.bootstrap_count,
            "provisionCount": view.provision_count,
            "sameSatisfiable": view.same_satisfiable,
            "acquisitionParked": view.acquisition_parked,
            "ageCyclesUnmet": view.age_cycles_unmet,
            "unmetReason": _REASONS.get(view.unmet_reason, _UNSPECIFIED),
            "reasons": reasons,
            "remedy": row.remedy,
            "arrivingMachines": row.arriving_machines,
            "source": list(row.sources),
            "eta": eta_document(row.forecast) if row.HasField("forecast") else None,
        }
        if (state := _STATES.get(row.state)) is not None:
            shown["state"] = state
        if row.since_unix_nanos:
            shown["sinceUnixNanos"] = row.since_unix_nanos
            shown["stuckPods"] = row.stuck_pods
        _add_optional(shown, view)
        return shown

    def _profile(self, fingerprint: str, need: capacity.CapacityNeed) -> Document:
        known = self._of_profile.get(fingerprint)
        if known is None:
            if len(self._of_profile) >= _MOST_PROFILES:
                self._of_profile.clear()
            known = self._of_profile[fingerprint] = _profile_document(fingerprint, need)
        return known


def eta_document(forecast: pb.Forecast) -> Document:
    """As a page shows it: with its sentence."""
    told = FORECAST.record(forecast)
    shown = message_document(forecast)
    left_out = ("need", "steps", "ofKind")
    kept = {name: value for name, value in shown.items() if name not in left_out}
    return {**kept, "path": told.path.label, "sentence": told.sentence}


def _profile_document(fingerprint: str, need: capacity.CapacityNeed) -> Document:
    shown: Document = {
        "priority": need.priority,
        "interruptionPenaltyBucket": _BUCKETS.get(need.interruption_penalty_bucket, _UNSPECIFIED),
        "reclamationPenaltyBucket": _BUCKETS.get(need.reclamation_penalty_bucket, _UNSPECIFIED),
        "profileFingerprint": fingerprint,
    }
    if need.requirements:
        shown["requirements"] = [
            {
                "key": each.key,
                "operator": _OPERATORS.get(each.operator, _OPERATORS[0]),
                **({"values": list(each.values)} if each.values else {}),
            }
            for each in need.requirements
        ]
    if need.spread:
        shown["spread"] = [
            {
                "topologyKey": each.topology_key,
                "maxSkew": each.max_skew,
                **(
                    {"whenUnsatisfiable": rule}
                    if (rule := _RULES.get(each.when_unsatisfiable))
                    else {}
                ),
            }
            for each in need.spread
        ]
    return shown


def _add_optional(shown: Document, view: read.NeedView) -> None:
    need = view.need
    if need.min_unit:
        shown["minUnit"] = dict(need.min_unit)
    if need.group:
        shown["group"] = need.group
    if view.arrival_unix_nanos:
        shown["arrivalUnixNanos"] = view.arrival_unix_nanos
    if view.same_domain:
        shown["sameDomain"] = view.same_domain
    if view.parked_age_cycles:
        shown["parkedAgeCycles"] = view.parked_age_cycles
    if not view.satisfied:
        shown["residualDeficit"] = _positive(view.residual_deficit.resources)
        if view.HasField("matching_supply"):
            supply = view.matching_supply
            shown["matchingSupply"] = {
                "idle": supply.idle,
                "configured": supply.configured,
                "speculative": supply.speculative,
                "capped": supply.capped,
            }
    if view.HasField("preemption"):
        shown["preemption"] = {
            "victimsFound": view.preemption.victims_found,
            "capacityFreed": _positive(view.preemption.capacity_freed.resources),
        }
    if view.same_candidates:
        shown["sameCandidates"] = [
            {
                "domain": each.domain,
                "coveragePerMille": each.coverage_per_mille,
                "satisfiable": each.satisfiable,
            }
            for each in view.same_candidates
        ]


def _positive(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in sorted(texts.items()) if text != "0"}


def _reason(told: shared.Reason) -> Document:
    return {
        "code": told.code,
        "text": told.text,
        "facts": dict(told.facts),
        "refs": list(told.refs),
    }


#: The same call by one that does not look into the rows.
_NEEDS = replace(
    ShardAdminClient.needs,
    request=full_frames_message,
    page=Page(NEED_FRAME, "need", bytes, lambda header, _rows: header),
)


async def listed_needs(
    client: ShardAdminClient, query: NeedQuery, shown: Callable[[bytes], T]
) -> tuple[Document, tuple[T, ...]]:
    """The head of a page of them, and what `shown` makes of the bytes of each row."""
    header, rows = await _NEEDS.rows(client, shown, query)
    counts: NeedCounts = NEED_COUNTS.record(header.counts)
    found: dict[str, Any] = {
        "cycle": header.cycle,
        "computedAtUnixNanos": header.computed_at_unix_nanos,
        "totalNeeds": header.total_needs,
        "matchingNeeds": header.matching,
        "needStates": {state.label: counts.count(state) for state in NeedState},
    }
    if query.cycle and header.unjudged:
        # Some of them may have been met.
        found["needStates"] |= {NeedState.MET.label: None, "unjudged": header.unjudged}
    if query.count_reasons:
        found["needReasons"] = [{"code": each.code, "needs": each.needs} for each in header.reasons]
    return found if header.cycle else {**found, "rebuilding": True}, rows
