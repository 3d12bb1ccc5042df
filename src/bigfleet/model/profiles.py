"""Profile: the identity under which demand is aggregated, and its fingerprint."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from bigfleet.model.penalties import UNSPECIFIED, Bucket
from bigfleet.model.requirements import Operator, Requirement, canonical

_HEAD = re.compile(
    r"p=(?P<priority>-?[0-9]{1,10})\|ipb=(?P<interruption>[0-9]{1,2})"
    r"\|rpb=(?P<reclamation>[0-9]{1,2})\|"
)


class WhenUnsatisfiable(IntEnum):
    UNSPECIFIED = 0
    DO_NOT_SCHEDULE = 1
    SCHEDULE_ANYWAY = 2


@dataclass(frozen=True, slots=True, order=True)
class Spread:
    topology_key: str
    max_skew: int
    when_unsatisfiable: WhenUnsatisfiable


@dataclass(frozen=True, slots=True)
class Profile:
    """Canonical and without resources or counts: two equal profiles have one fingerprint."""

    requirements: tuple[Requirement, ...] = ()
    spread: tuple[Spread, ...] = ()
    priority: int = 0
    interruption_bucket: Bucket = UNSPECIFIED
    reclamation_bucket: Bucket = UNSPECIFIED
    #: Computed once; the key of aggregation, attribution and parking.
    fingerprint: str = field(init=False, compare=False, repr=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", _fingerprint_of(self))

    @classmethod
    def of(
        cls,
        requirements: Iterable[Requirement] = (),
        spread: Iterable[Spread] = (),
        priority: int = 0,
        interruption_bucket: Bucket = UNSPECIFIED,
        reclamation_bucket: Bucket = UNSPECIFIED,
    ) -> "Profile":
        """The canonical profile of these parts, which may come in any order."""
        return cls(
            canonical(requirements),
            tuple(sorted(spread)),
            priority,
            interruption_bucket,
            reclamation_bucket,
        )

    @property
    def same(self) -> Requirement | None:
        """The requirement that makes this a gang: the first Same in canonical order."""
        return next((r for r in self.requirements if r.operator is Operator.SAME), None)

    @property
    def strict_spread(self) -> Spread | None:
        """The spread that binds the engine: the first strict one, unless a Same wins over it."""
        if self.same is not None:
            return None
        strict = (
            s for s in self.spread if s.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE
        )
        return next(strict, None)

    @property
    def precedence(self) -> tuple[int, int, int]:
        """Who wins a contested machine: priority, then the two buckets, higher first."""
        return (self.priority, self.interruption_bucket, self.reclamation_bucket)

    def without_same(self) -> "Profile":
        return Profile(
            tuple(r for r in self.requirements if r.operator is not Operator.SAME),
            self.spread,
            self.priority,
            self.interruption_bucket,
            self.reclamation_bucket,
        )


def _fingerprint_of(profile: Profile) -> str:
    requirements = "".join(
        f"{r.key}:{r.operator.value}:{','.join(r.values)};" for r in profile.requirements
    )
    spread = "".join(
        f"{s.topology_key}:{s.max_skew}:{s.when_unsatisfiable.value};" for s in profile.spread
    )
    return (
        f"p={profile.priority}|ipb={profile.interruption_bucket}"
        f"|rpb={profile.reclamation_bucket}|reqs={requirements}|spr={spread}"
    )


def precedence_of_fingerprint(fingerprint: str) -> tuple[int, int, int] | None:
    """The precedence written at the head of a fingerprint, None if the text is not one."""
    head = _HEAD.match(fingerprint)
    if head is None:
        return None
    return (int(head["priority"]), int(head["interruption"]), int(head["reclamation"]))
