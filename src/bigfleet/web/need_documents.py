"""Needs as rows of JSON: the flat shape the older dashboard reads, and beside it the state.

Written by hand, as a page has thousands of them.
"""

from typing import Any

from bigfleet.model.penalties import ENUM_NAMES
from bigfleet.model.profiles import Profile, WhenUnsatisfiable
from bigfleet.model.reasons import ToldReason
from bigfleet.model.requirements import Operator
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import NeedRow, NeedView

Document = dict[str, Any]
_UNSPECIFIED = "UNSPECIFIED"
_OPERATORS = {
    Operator.UNSPECIFIED: "Unspecified",
    Operator.IN: "In",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
    Operator.SAME: "Same",
}
_RULES = {
    WhenUnsatisfiable.DO_NOT_SCHEDULE: "DoNotSchedule",
    WhenUnsatisfiable.SCHEDULE_ANYWAY: "ScheduleAnyway",
}
_BUCKETS = {bucket: name.removeprefix("PENALTY_BUCKET_") for name, bucket in ENUM_NAMES.items()}


class NeedDocuments:
    """Profiles are shared by many Needs: what they say is made once for a page."""

    def __init__(self) -> None:
        self._of_profile: dict[str, Document] = {}

    def document(self, row: NeedRow) -> Document:
        view = row.view
        need = view.need
        shown = {
            "clusterId": need.cluster,
            "needId": need.key.need_id,
            **self._profile(need.profile),
            "aggregateResources": need.aggregate.texts(),
            "satisfied": view.satisfied,
            "claimedMachineCount": view.claimed,
            "bootstrapCount": view.bootstraps,
            "provisionCount": view.provisions,
            "sameSatisfiable": view.same_satisfiable,
            "acquisitionParked": view.parked,
            "ageCyclesUnmet": view.unmet_age,
            "unmetReason": view.unmet_reason.value if view.unmet_reason else _UNSPECIFIED,
            "state": row.state.label,
            "sinceUnixNanos": row.since,
            "reasons": [_reason(each) for each in (row.reason, *row.further) if each.code],
            "remedy": row.remedy,
            "arrivingMachines": row.arriving,
            "stuckPods": row.stuck_pods,
            "source": list(row.sources),
            "eta": None,
        }
        _add_optional(shown, view)
        return shown

    def _profile(self, profile: Profile) -> Document:
        known = self._of_profile.get(profile.fingerprint)
        if known is None:
            known = self._of_profile[profile.fingerprint] = _profile_document(profile)
        return known


def _profile_document(profile: Profile) -> Document:
    shown: Document = {
        "priority": profile.priority,
        "interruptionPenaltyBucket": _BUCKETS[profile.interruption_bucket],
        "reclamationPenaltyBucket": _BUCKETS[profile.reclamation_bucket],
        "profileFingerprint": profile.fingerprint,
    }
    if profile.requirements:
        shown["requirements"] = [
            {
                "key": each.key,
                "operator": _OPERATORS[each.operator],
                **({"values": list(each.values)} if each.values else {}),
            }
            for each in profile.requirements
        ]
    if profile.spread:
        shown["spread"] = [
            {
                "topologyKey": each.topology_key,
                "maxSkew": each.max_skew,
                **({"whenUnsatisfiable": rule} if (rule := _rule(each.when_unsatisfiable)) else {}),
            }
            for each in profile.spread
        ]
    return shown


def _rule(rule: WhenUnsatisfiable) -> str:
    return _RULES.get(rule, "")


def _add_optional(shown: Document, view: NeedView) -> None:
    need = view.need
    if need.min_unit.amounts:
        shown["minUnit"] = need.min_unit.texts()
    if need.group:
        shown["group"] = need.group
    if need.arrival_unix_nanos:
        shown["arrivalUnixNanos"] = need.arrival_unix_nanos
    if view.same_domain:
        shown["sameDomain"] = view.same_domain
    if view.parked_age:
        shown["parkedAgeCycles"] = view.parked_age
    if not view.satisfied:
        shown["residualDeficit"] = _positive(view.deficit)
        if view.supply is not None:
            supply = view.supply
            shown["matchingSupply"] = {
                "idle": supply.idle,
                "configured": supply.configured,
                "speculative": supply.speculative,
                "capped": supply.capped,
            }
    if view.victims:
        shown["preemption"] = {
            "victimsFound": view.victims,
            "capacityFreed": _positive(view.freed),
        }
    if view.same_candidates:
        shown["sameCandidates"] = [
            {
                "domain": each.domain,
                "coveragePerMille": each.per_mille,
                "satisfiable": each.satisfiable,
            }
            for each in view.same_candidates
        ]


def _positive(amounts: Resources) -> dict[str, str]:
    return amounts.positive().texts()


def _reason(told: ToldReason) -> Document:
    return {
        "code": told.code,
        "text": told.text,
        "facts": dict(told.facts),
        "refs": list(told.refs),
    }
