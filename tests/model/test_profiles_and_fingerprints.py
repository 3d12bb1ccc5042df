"""Worked cases N10-N15: equal demand has one fingerprint, different demand another."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.penalties import LABELS, PINNED
from bigfleet.model.profiles import (
    Profile,
    Spread,
    WhenUnsatisfiable,
    precedence_of_fingerprint,
)
from bigfleet.model.requirements import (
    INSTANCE_TYPE_KEY,
    RACK_KEY,
    ZONE_KEY,
    Operator,
    Requirement,
)

ON_TYPES = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["a3", "a2"])
ONE_RACK = Requirement.of(RACK_KEY, Operator.SAME)
OVER_ZONES = Spread(ZONE_KEY, 1, WhenUnsatisfiable.DO_NOT_SCHEDULE)
TRAINING = Profile.of([ONE_RACK, ON_TYPES], [OVER_ZONES], 1_000_000, LABELS["8192"], PINNED)

REQUIREMENTS = st.lists(
    st.builds(
        Requirement.of,
        st.sampled_from([INSTANCE_TYPE_KEY, ZONE_KEY, RACK_KEY]),
        st.sampled_from(Operator),
        st.lists(st.sampled_from(["a", "b", "c"]), max_size=4),
    ),
    max_size=5,
)
SPREADS = st.lists(
    st.builds(
        Spread,
        st.sampled_from([ZONE_KEY, RACK_KEY]),
        st.integers(1, 3),
        st.sampled_from(WhenUnsatisfiable),
    ),
    max_size=3,
)


def test_the_fingerprint_is_the_text_other_programs_compute() -> None:
    assert TRAINING.fingerprint == (
        "p=1000000|ipb=16|rpb=27|reqs=node.kubernetes.io/instance-type:1:a2,a3;"
        "topology.bigfleet/rack:5:;|spr=topology.kubernetes.io/zone:1:1;"
    )


def test_an_empty_profile_has_a_fingerprint_too() -> None:
    assert Profile().fingerprint == "p=0|ipb=0|rpb=0|reqs=|spr="


@given(
    REQUIREMENTS.flatmap(lambda written: st.tuples(st.just(written), st.permutations(written))),
    SPREADS,
)
def test_the_order_in_which_demand_is_written_does_not_matter(
    orders: tuple[list[Requirement], list[Requirement]], spread: list[Spread]
) -> None:
    written = Profile.of(orders[0], spread)
    again = Profile.of(orders[1], reversed(spread))
    assert again == written
    assert again.fingerprint == written.fingerprint


@given(REQUIREMENTS, SPREADS)
def test_a_requirement_said_twice_is_said_once(
    requirements: list[Requirement], spread: list[Spread]
) -> None:
    once, twice = Profile.of(requirements, spread), Profile.of(requirements * 2, spread)
    assert once.fingerprint == twice.fingerprint


CHANGES = {
    "priority": replace(TRAINING, priority=999_999),
    "interruption bucket": replace(TRAINING, interruption_bucket=LABELS["4096"]),
    "reclamation bucket": replace(TRAINING, reclamation_bucket=LABELS["8388608"]),
    "one more requirement": Profile.of(
        [*TRAINING.requirements, Requirement.of("gpu", Operator.EXISTS)],
        TRAINING.spread,
        *TRAINING.precedence,
    ),
    "no spread": replace(TRAINING, spread=()),
    "a wider skew": replace(TRAINING, spread=(replace(OVER_ZONES, max_skew=2),)),
    "a softer spread": replace(
        TRAINING,
        spread=(replace(OVER_ZONES, when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY),),
    ),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_every_part_of_identity_changes_the_fingerprint(changed: Profile) -> None:
    assert changed.fingerprint != TRAINING.fingerprint


def test_the_fingerprint_follows_when_a_profile_is_changed() -> None:
    assert replace(TRAINING, priority=7).fingerprint.startswith("p=7|ipb=16|rpb=27|")


def test_without_same_everything_else_stays() -> None:
    stripped = TRAINING.without_same()
    assert stripped == Profile.of([ON_TYPES], [OVER_ZONES], *TRAINING.precedence)
    assert stripped.same is None


def test_the_first_same_in_canonical_order_makes_the_gang() -> None:
    one_zone = Requirement.of(ZONE_KEY, Operator.SAME)
    assert Profile.of([one_zone, ONE_RACK]).same == ONE_RACK


def test_a_same_wins_over_a_spread() -> None:
    assert TRAINING.strict_spread is None
    assert TRAINING.without_same().strict_spread == OVER_ZONES


def test_only_a_strict_spread_binds_and_the_first_topology_key_wins() -> None:
    soft = Spread("a-key", 1, WhenUnsatisfiable.SCHEDULE_ANYWAY)
    over_racks = Spread(RACK_KEY, 2, WhenUnsatisfiable.DO_NOT_SCHEDULE)
    assert Profile.of(spread=[OVER_ZONES, over_racks, soft]).strict_spread == over_racks
    assert Profile.of(spread=[soft]).strict_spread is None


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, PINNED), st.integers(0, PINNED))
def test_precedence_can_be_read_from_the_fingerprint_alone(
    priority: int, interruption: int, reclamation: int
) -> None:
    profile = Profile.of([ON_TYPES], [], priority, interruption, reclamation)
    assert precedence_of_fingerprint(profile.fingerprint) == profile.precedence
    assert profile.precedence == (priority, interruption, reclamation)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p=1",
        "p=1|ipb=2|rpb=3",
        "ipb=2|p=1|rpb=3|reqs=|spr=",
        "p=x|ipb=2|rpb=3|reqs=|spr=",
        "p=1|ipb=-|rpb=3|reqs=|spr=",
        "p=" + "9" * 5000 + "|ipb=2|rpb=3|reqs=|spr=",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_a_text_that_is_not_a_fingerprint_has_no_precedence(text: str) -> None:
    assert precedence_of_fingerprint(text) is None
