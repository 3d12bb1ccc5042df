"""Themes: what a generated fleet is mostly about, so that rare interplay is not rare."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeVar

from bigfleet.model.machines import MachineState as S
from tests.generated.parts import HIGHEST, LOWEST, PRIORITIES

T = TypeVar("T")
Kind = Literal["plain", "gang", "spread"]


@dataclass(frozen=True, slots=True)
class Theme:
    name: str
    kinds: tuple[Kind, ...]
    states: tuple[S, ...]
    #: How many of each list of parts are used: small means many equal machines and many ties.
    variety: int
    clusters: int
    needs: int = 10
    #: How many profiles share the Needs, and how many units one Need asks for at most.
    profiles: int = 4
    units: int = 6
    need_priorities: tuple[int, ...] = (100, 1_000)
    stamped_priorities: tuple[int, ...] = (100, 1_000)

    def among(self, chance: Random, parts: Sequence[T]) -> T:
        """One of the theme's share of these parts; the first as often as all others together."""
        few = parts[: self.variety]
        return few[0] if chance.random() < 0.5 else chance.choice(few)


_EVERYWHERE = (
    S.IDLE,
    S.CONFIGURED,
    S.SPECULATIVE,
    S.CREATING,
    S.CONFIGURING,
    S.DRAINING,
    S.DELETING,
    S.FAILED,
)
ANYTHING = Theme(
    "anything",
    ("plain", "gang", "spread"),
    _EVERYWHERE,
    12,
    4,
    need_priorities=PRIORITIES,
    stamped_priorities=PRIORITIES,
)
GANGS = Theme(
    "gangs compete for racks",
    ("gang", "gang", "gang", "plain"),
    (S.IDLE, S.IDLE, S.CONFIGURED, S.SPECULATIVE, S.CONFIGURING, S.CREATING, S.DRAINING),
    2,
    2,
)
FOLDS = Theme(
    "gangs that one machine may hold",
    ("gang", "gang", "plain"),
    (S.CONFIGURED, S.IDLE, S.SPECULATIVE, S.CREATING, S.DRAINING),
    2,
    2,
    profiles=2,
    units=2,
    need_priorities=(100, 1_000_000),
)
PREEMPTION = Theme(
    "everything is bound",
    ("plain", "gang", "gang", "spread"),
    (S.CONFIGURED, S.CONFIGURED, S.CONFIGURED, S.CONFIGURED, S.DRAINING, S.IDLE, S.SPECULATIVE),
    3,
    3,
    need_priorities=(500_000, 1_000_000, 1_000, HIGHEST),
    stamped_priorities=(1_000, 100, 500_000, LOWEST),
)
SPREADS = Theme(
    "even spread",
    ("spread", "spread", "plain"),
    (S.CONFIGURED, S.IDLE, S.SPECULATIVE, S.DRAINING),
    3,
    2,
    needs=5,
    need_priorities=(1_000, 100, 500_000),
    stamped_priorities=(0, 100, 1_000),
)
THEMES = (GANGS, PREEMPTION, FOLDS, ANYTHING, SPREADS)


def one_in(chance: Random, many: int) -> bool:
    return chance.randrange(many) == 0
