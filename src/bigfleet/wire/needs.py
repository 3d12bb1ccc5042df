"""Needs, requirements and vectors as messages and back, without judgement.

What a reader does not know reads as UNSPECIFIED, text that is not an amount as zero: code that must
refuse such things, as the reader of roll-ups must, checks before it calls this.
"""

from collections.abc import Iterable
from sys import intern
from typing import cast

from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.syntax import cached_by_text
from bigfleet.v1alpha1 import capacity_pb2 as pb
from bigfleet.v1alpha1 import provider_pb2
from bigfleet.wire.record_codecs import Conversion

_OPERATORS = {int(operator): operator for operator in Operator}
_RULES = {int(rule): rule for rule in WhenUnsatisfiable}
#: Requirements, and how much text each may be: a few megabytes at most.
_REMEMBERED = 16_384
_LONGEST = 256


def requirements_of(
    messages: Iterable[pb.NodeSelectorRequirement],
) -> tuple[Requirement, ...]:
    return tuple(
        (_requirement if m.ByteSize() <= _LONGEST else _requirement_once)(
            m.key, m.operator, tuple(m.values)
        )
        for m in messages
    )


def _requirement_once(key: str, operator: int, values: tuple[str, ...]) -> Requirement:
    return Requirement.of(key, _OPERATORS.get(operator, Operator.UNSPECIFIED), values)


#: Two hundred shards ask a coordinator for the same things: equal ones are kept once.
_requirement = cached_by_text(_REMEMBERED)(_requirement_once)


def requirement_messages(
    requirements: Iterable[Requirement],
) -> list[pb.NodeSelectorRequirement]:
    return [
        pb.NodeSelectorRequirement(
            key=requirement.key,
            operator=cast(
                "pb.NodeSelectorRequirement.Operator.ValueType", requirement.operator.value
            ),
            values=requirement.values,
        )
        for requirement in requirements
    ]


def spread_of(message: pb.TopologySpread) -> Spread:
    """An unknown rule is UNSPECIFIED; a strict one allows a skew of at least one."""
    rule = _RULES.get(message.when_unsatisfiable, WhenUnsatisfiable.UNSPECIFIED)
    skew = message.max_skew
    if rule is WhenUnsatisfiable.DO_NOT_SCHEDULE and skew < 1:
        skew = 1
    return Spread(message.topology_key, skew, rule)


def profile_of(message: pb.CapacityNeed) -> Profile:
    return Profile.of(
        requirements_of(message.requirements),
        [spread_of(spread) for spread in message.spread],
        message.priority,
        message.interruption_penalty_bucket,
        message.reclamation_penalty_bucket,
    )


def need_of(message: pb.CapacityNeed, cluster: str, arrival_unix_nanos: int = 0) -> Need:
    return Need(
        cluster=cluster,
        profile=profile_of(message),
        aggregate=Resources.parse_leniently(message.aggregate_resources),
        min_unit=Resources.parse_leniently(message.min_unit),
        arrival_unix_nanos=arrival_unix_nanos,
        group=message.group,
    )


def need_message(need: Need) -> pb.CapacityNeed:
    profile = need.profile
    return pb.CapacityNeed(
        requirements=requirement_messages(profile.requirements),
        aggregate_resources=need.aggregate.texts(),
        priority=profile.priority,
        spread=[
            pb.TopologySpread(
                topology_key=spread.topology_key,
                max_skew=spread.max_skew,
                when_unsatisfiable=cast(
                    "pb.TopologySpread.WhenUnsatisfiable.ValueType",
                    spread.when_unsatisfiable.value,
                ),
            )
            for spread in profile.spread
        ],
        interruption_penalty_bucket=cast("pb.PenaltyBucket.ValueType", profile.interruption_bucket),
        reclamation_penalty_bucket=cast("pb.PenaltyBucket.ValueType", profile.reclamation_bucket),
        min_unit=need.min_unit.texts(),
        group=need.group,
    )


def resources_of(message: provider_pb2.Resources) -> Resources:
    # Every dimension's name comes as a text of its own, and there are only a few.
    texts = {intern(name): text for name, text in message.resources.items()}
    return Resources.parse_leniently(texts)


def resources_message(resources: Resources) -> provider_pb2.Resources | None:
    """None where there is nothing to say: an absent message is the empty vector."""
    return provider_pb2.Resources(resources=resources.texts()) if resources.amounts else None


#: In a table of fields.
RESOURCES = Conversion(resources_message, resources_of)
