"""Themes: what a generated fleet is mostly about, so that rare interplay is not rare."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeVar

from bigfleet.model.machines import MachineState as S
from bigfleet.model.profiles import Spread
from bigfleet.model.requirements import Requirement
from bigfleet.model.resources import Resources
from tests.generated.parts import (
    CAPACITIES,
    HIGHEST,
    INSTANCE_TYPES,
    LABELS,
    LOWEST,
    NODE_LABELS,
    NODE_REQUIREMENTS,
    NODE_SAMES,
    NODE_SPREADS,
    ONE_GANG_UNITS,
    PINS,
    PLAIN_REQUIREMENTS,
    PRICES,
    PRIORITIES,
    SAMES,
    UNIT,
    shape,
)
from tests.generated.parts import SPREADS as SPREAD_PARTS

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
    machines: int = 25
    #: How many different machines the providers sell at most.
    offerings: int = 3
    requirements: tuple[tuple[Requirement, ...], ...] = PLAIN_REQUIREMENTS
    gang_units: tuple[Resources, ...] = ONE_GANG_UNITS
    instance_types: tuple[str, ...] = INSTANCE_TYPES
    capacities: tuple[Resources, ...] = CAPACITIES
    prices: tuple[float, ...] = PRICES
    labels: tuple[dict[str, str], ...] = LABELS
    sames: tuple[tuple[Requirement, ...], ...] = SAMES
    spreads: tuple[tuple[Spread, ...], ...] = SPREAD_PARTS
    need_priorities: tuple[int, ...] = (100, 1_000)
    stamped_priorities: tuple[int, ...] = (100, 1_000)
    #: Whose the bound machines are; empty: as their stamps say.
    owners: tuple[str, ...] = ()

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
    offerings=6,
    prices=(2.0, 1.0),
)
PINNED = Theme(
    "gangs that pin instance types",
    ("gang",),
    (S.IDLE, S.IDLE, S.SPECULATIVE, S.CONFIGURED),
    3,
    2,
    profiles=2,
    units=8,
    offerings=8,
    requirements=PINS,
    instance_types=("r6", "m5", ""),
    capacities=(UNIT, shape(cpu=8, gibibytes=32)),
    prices=(2.0, 1.0),
    # Racks r3 and r1; the second says its type in a label as well.
    labels=(LABELS[2], LABELS[8], LABELS[0]),
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
FULL_HOSTS = Theme(
    "more gangs than their hosts hold",
    ("gang",),
    (S.CONFIGURED, S.IDLE, S.SPECULATIVE, S.CREATING, S.DRAINING),
    2,
    1,
    profiles=1,
    units=2,
    machines=5,
    # A machine holds half of a gang of two, or two such gangs.
    gang_units=(shape(cpu=2, gibibytes=8),),
    capacities=(shape(cpu=2, gibibytes=8), shape(cpu=8, gibibytes=32)),
    need_priorities=(100, 1_000_000),
)
PREEMPTION = Theme(
    "everything is bound",
    ("plain", "gang", "gang", "spread"),
    (S.CONFIGURED, S.CONFIGURED, S.CONFIGURED, S.CONFIGURED, S.DRAINING, S.IDLE, S.SPECULATIVE),
    3,
    3,
    need_priorities=(500_000, 1_000_000, 1_000, HIGHEST),
    # Gaps of exactly 100,000, 500,000 and 900,000 among them.
    stamped_priorities=(1_000, 100, 500_000, LOWEST, 100_000, 400_000),
)
FULL_RACKS = Theme(
    "gangs before racks that are full",
    ("gang",),
    (*(S.CONFIGURED,) * 12, S.DRAINING, S.DRAINING),
    2,
    2,
    needs=3,
    profiles=2,
    units=4,
    machines=14,
    capacities=(UNIT, shape(cpu=8, gibibytes=32)),
    # Two racks, and machines whose label names none.
    labels=(LABELS[0], LABELS[1], LABELS[4]),
    need_priorities=(500_000, 1_000_000),
    stamped_priorities=(100, 1_000),
    owners=("gamma", "gamma", "gamma", "beta"),
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
SPREAD_VICTIMS = Theme(
    "even spread over what is bound",
    ("spread",),
    (S.CONFIGURED, S.CONFIGURED, S.DRAINING, S.DRAINING, S.IDLE),
    3,
    2,
    needs=3,
    profiles=2,
    need_priorities=(1_000, 500_000),
    stamped_priorities=(0, 100, 1_000),
)
NODE_NAMES = Theme(
    "node by node",
    ("plain", "plain", "gang", "spread"),
    (S.IDLE, S.IDLE, S.CONFIGURED, S.SPECULATIVE, S.CONFIGURING, S.DRAINING),
    6,
    3,
    requirements=NODE_REQUIREMENTS,
    labels=NODE_LABELS,
    sames=NODE_SAMES,
    spreads=NODE_SPREADS,
    need_priorities=(1_000, 100, 500_000),
)
THEMES = (
    GANGS,
    PREEMPTION,
    FULL_RACKS,
    FOLDS,
    ANYTHING,
    SPREADS,
    PINNED,
    FULL_HOSTS,
    SPREAD_VICTIMS,
    NODE_NAMES,
)


def one_in(chance: Random, many: int) -> bool:
    return chance.randrange(many) == 0
