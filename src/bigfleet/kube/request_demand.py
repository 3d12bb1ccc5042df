"""What one CapacityRequest asks for, in the words of a roll-up, or why it cannot be said there.

One object must never cost the others: an object for which a shard would refuse the whole roll-up is
refused here, alone, with the field and what to write instead.

Keys and values are label syntax: a fingerprint joins them by `,`, `;`, `:` and `|` without escaping
(wire contract), and a bootstrap template prints them. No label of a machine can be anything else,
so nothing that could ever be met is refused for it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from bigfleet.kube.objects import (
    CapacityRequestSpec,
    CoLocation,
    LabelSelector,
    Quantity,
    SelectorTerm,
    SpreadConstraint,
)
from bigfleet.model.penalties import UNSPECIFIED, Bucket, bucket_label, bucket_of_dollars
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.quantities import BadQuantity, exactly, quantity_of
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import RollupLimits
from bigfleet.model.syntax import (
    shown,
    why_not_label_key,
    why_not_label_value,
    why_not_resource_name,
)

#: A pod's request has a few hundred bytes; one of this size is a mistake or an attack.
LARGEST_SPEC = 64 * 1024
#: What a shard takes of one row, unless it is set otherwise there.
LIMITS = RollupLimits()
#: Resource names of one request; of all requests together a shard takes 64.
MOST_RESOURCES = 32
_INT32 = range(-(2**31), 2**31)
_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_WITH_VALUES = (Operator.IN, Operator.NOT_IN)
_COMPARING = ("Gt", "Lt")
#: How msgspec names a place: "... - at `$.requirements[1].key`".
_PLACE = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<field>.*)`)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TranslatedDemand:
    """What one unit (a pod) of a request asks for."""

    #: With a Same where the request is co-located.
    profile: Profile
    #: The gang's id; empty where there is none.
    group: str
    unit: Resources
    #: Bytes as a row of its own, where that was counted.
    size: int = 0

    @property
    def buckets(self) -> tuple[Bucket, Bucket]:
        """Of interruption and of reclamation."""
        return self.profile.interruption_bucket, self.profile.reclamation_bucket

    @property
    def bucket_labels(self) -> tuple[str, str]:
        interruption, reclamation = self.buckets
        return bucket_label(interruption), bucket_label(reclamation)


@dataclass(frozen=True, slots=True)
class Untranslatable:
    #: One of a few words: a label of `crs_skipped_total`.
    reason: str
    #: Where it stands: `spec.requirements[1].operator`.
    field: str
    #: What is wrong and what to write instead.
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


class _Refusal(Exception):
    def __init__(self, reason: str, field: str, text: str) -> None:
        super().__init__(text)
        self.found = Untranslatable(reason, f"spec.{field}" if field else "spec", text)


def translate(spec: bytes) -> TranslatedDemand | Untranslatable:
    """`spec`: JSON as the API server has it."""
    try:
        return _demand_of(_read(spec))
    except _Refusal as refusal:
        return refusal.found


_DECODER = msgspec.json.Decoder(CapacityRequestSpec)


def _read(spec: bytes) -> CapacityRequestSpec:
    if len(spec) > LARGEST_SPEC:
        text = f"it has {len(spec)} bytes and may have {LARGEST_SPEC}; shorten its lists"
        raise _Refusal("too_large", "", text)
    try:
        return _DECODER.decode(spec)
    except msgspec.MsgspecError as problem:
        place = _PLACE.fullmatch(str(problem))
        what, field = (place["what"], place["field"]) if place else (str(problem), "")
        text = f"{what}; write it as the CapacityRequest's schema says"
        raise _Refusal("malformed", field or "", text) from None


def _demand_of(spec: CapacityRequestSpec) -> TranslatedDemand:
    _fits("requirements", "requirements", len(spec.requirements), LIMITS.max_requirements - 1)
    _fits("spreads", "topologySpread", len(spec.topology_spread), LIMITS.max_requirements)
    requirements = [_requirement(i, term) for i, term in enumerate(spec.requirements)]
    group = ""
    if spec.co_location is not None:
        same, group = _gang_of(spec.co_location)
        requirements.append(same)
    if spec.priority not in _INT32:
        text = f"{spec.priority} is not an int32; priorities lie in -2147483648 to 2147483647"
        raise _Refusal("priority", "priority", text)
    profile = Profile.of(
        requirements,
        _spread(spec.topology_spread),
        spec.priority,
        _bucket("interruptionPenalty", spec.interruption_penalty),
        _bucket("reclamationPenalty", spec.reclamation_penalty),
    )
    unit = _unit(spec.resources)
    _fits("resource names", "resources", len(unit.amounts), MOST_RESOURCES)
    return TranslatedDemand(profile, group, unit)


def _fits(what: str, field: str, count: int, most: int) -> None:
    """A shard refuses roll-ups with such a row whole: one request would cost all others theirs."""
    if count > most:
        raise _Refusal("too_large", field, f"{count} {what}, {most} fit; ask for less")


def _requirement(place: int, term: SelectorTerm) -> Requirement:
    where = f"requirements[{place}]"
    operator = _OPERATORS.get(term.operator)
    if operator is None:
        why = (
            "compares numbers, which machines are not chosen by: list the values with In"
            if term.operator in _COMPARING
            else "is not an operator: use In, NotIn, Exists or DoesNotExist"
        )
        text = f"{shown(term.operator)} on {shown(term.key)} {why}"
        raise _Refusal("operator", f"{where}.operator", text)
    _named("key", f"{where}.key", term.key)
    if operator not in _WITH_VALUES:
        # Values of Exists and DoesNotExist mean nothing: equal demands have equal identities.
        return Requirement(term.key, operator)
    if not term.values:
        text = f"{term.operator} on {term.key} lists no values; name at least one"
        raise _Refusal("values", f"{where}.values", text)
    _fits("values", f"{where}.values", len(term.values), LIMITS.max_values)
    for i, value in enumerate(term.values):
        if wrong := why_not_label_value(value):
            raise _Refusal("values", f"{where}.values[{i}]", wrong)
    return Requirement.of(term.key, operator, term.values)


def _spread(constraints: Iterable[SpreadConstraint]) -> list[Spread]:
    """Only what binds: ScheduleAnyway is a wish, and a wish takes no machine."""
    found = []
    for place, constraint in enumerate(constraints):
        where = f"topologySpread[{place}]"
        if constraint.when_unsatisfiable == "ScheduleAnyway":
            continue
        if constraint.when_unsatisfiable != "DoNotSchedule":
            rule = shown(constraint.when_unsatisfiable)
            text = f"{rule} is neither DoNotSchedule nor ScheduleAnyway"
            raise _Refusal("spread", f"{where}.whenUnsatisfiable", text)
        if constraint.max_skew not in _INT32:
            text = f"{constraint.max_skew} is not an int32; a skew is a small number from 1 on"
            raise _Refusal("spread", f"{where}.maxSkew", text)
        _named("spread", f"{where}.topologyKey", constraint.topology_key)
        # Less than one is read as one by every shard; said here, both know the Need by one name.
        skew = max(1, constraint.max_skew)
        found.append(Spread(constraint.topology_key, skew, WhenUnsatisfiable.DO_NOT_SCHEDULE))
    return found


def _gang_of(together: CoLocation) -> tuple[Requirement, str]:
    """What holds a gang together on machines, and the name it goes by."""
    _named("co_location", "coLocation.topologyKey", together.topology_key)
    same = Requirement(together.topology_key, Operator.SAME)
    group = f"{together.topology_key}\0{canonical_selector(together.label_selector)}"
    size = len(group.encode(errors="surrogatepass"))
    _fits("bytes of its selector", "coLocation.labelSelector", size, LIMITS.max_group_bytes)
    return same, group


def canonical_selector(selector: LabelSelector | None) -> str:
    """One text per selector, the same from every operator there is (wire contract, section 2)."""
    if selector is None:
        return ""
    labels = "".join(f"{key}={value}," for key, value in sorted(selector.match_labels.items()))
    expressions = sorted(
        f"{term.key} {term.operator} {','.join(sorted(term.values))};"
        for term in selector.match_expressions
    )
    return f"{labels};{''.join(expressions)}"


def _bucket(field: str, penalty: Quantity | None) -> Bucket:
    if penalty is None:
        return UNSPECIFIED
    try:
        return _bucket_of(str(penalty))
    except BadQuantity as problem:
        raise _Refusal("quantity", field, f"{problem}, in dollars") from None


@lru_cache(1024)
def _bucket_of(dollars: str) -> Bucket:
    return bucket_of_dollars(float(exactly(dollars)))


def _unit(resources: dict[str, Quantity]) -> Resources:
    amounts: dict[str, int] = {}
    for name, quantity in resources.items():
        if wrong := why_not_resource_name(name):
            raise _Refusal("resource_name", f"resources[{shown(name)}]", wrong)
        try:
            amounts[name] = quantity_of(name, str(quantity))
        except BadQuantity as problem:
            raise _Refusal("quantity", f"resources[{name!r}]", str(problem)) from None
    return Resources.of(amounts)


def _named(reason: str, field: str, key: str) -> None:
    if not key:
        raise _Refusal(reason, field, "it is empty; name the label that machines are told apart by")
    if wrong := why_not_label_key(key):
        raise _Refusal(reason, field, wrong)
