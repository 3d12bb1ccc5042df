"""A roll-up: the complete demand of one cluster, read and found sound, or refused with a reason."""

from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need


@dataclass(frozen=True, slots=True)
class Rollup:
    cluster_id: str
    timestamp_unix_nanos: int
    #: One per identity; arrival is the time of the roll-up that first had the row as it is.
    needs: tuple[Need, ...]
    #: Of the content without the timestamp: equal digests say the same.
    digest: bytes
    #: Bytes of its rows as they were sent.
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RollupLimits:
    """The most one roll-up may weigh in all."""

    max_bytes: int = 8 * 2**20
    max_row_bytes: int = 32 * 2**10
    max_profiles: int = 10_000
    max_resource_names: int = 64
    #: Of one profile; as many spreads are allowed beside them.
    max_requirements: int = 64
    #: Of one requirement.
    max_values: int = 1_000
    max_group_bytes: int = 1_024


def over_limit(what: str, sent: int, limit: int, setting: str) -> str:
    """The sentence of a refusal for weight: what was sent, what is allowed, what to set."""
    return f"{what}: {sent} sent, {limit} allowed; see {setting}"


@dataclass(frozen=True, slots=True)
class RollupRefusal:
    """That the last roll-up of a cluster was refused, for people and for its operator."""

    #: A label of the metric.
    reason: str
    #: Names field or setting, and fix.
    text: str
    #: Of the first one since a roll-up was taken.
    since: Instant
    times: int = 1


class RollupRefused(ValueError):
    """Refused whole. `reason` is a label of the metric, the text names field and fix."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
