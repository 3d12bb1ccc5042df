"""A roll-up that is too heavy is refused, and the refusal says which setting it is about."""

from collections.abc import Callable, Sequence

import pytest

from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup, RollupLimits, RollupRefused
from bigfleet.wire.rollups import RollupReader, rollup_bytes

UNIT = Resources.of({"cpu": 1000})
PLAIN = Profile()
LIMITS = RollupLimits(
    max_bytes=100_000,
    max_row_bytes=5_000,
    max_profiles=20,
    max_resource_names=3,
    max_requirements=4,
    max_values=10,
    max_group_bytes=30,
)


def need(profile: Profile = PLAIN, amount: Resources = UNIT, group: str = "") -> Need:
    return Need("shop", profile, amount, UNIT, 1, group)


def typed(*types: str) -> Requirement:
    return Requirement.of("node.kubernetes.io/instance-type", Operator.IN, types)


def read(
    needs: Sequence[Need], reader: RollupReader | None = None, limits: RollupLimits = LIMITS
) -> Rollup:
    content = rollup_bytes("shop", 1, needs)
    return (reader or RollupReader()).read(content, "shop", 1_000, limits)


def profiles(count: int) -> list[Need]:
    return [need(Profile.of(priority=number)) for number in range(count)]


def resource_names(count: int) -> list[Need]:
    """`cpu` is one of them: it is the unit of each row."""
    names = [f"example.com/{number}" for number in range(count - 1)]
    return [need(Profile.of(priority=1), Resources.of({name: 1}), name) for name in names]


def requirements(count: int) -> list[Need]:
    keys = [f"example.com/{number}" for number in range(count)]
    return [need(Profile.of([Requirement.of(key, Operator.EXISTS) for key in keys]))]


def spreads(count: int) -> list[Need]:
    rule = WhenUnsatisfiable.SCHEDULE_ANYWAY
    return [need(Profile.of(spread=[Spread(f"key-{n}", 1, rule) for n in range(count)]))]


def values(count: int) -> list[Need]:
    return [need(Profile.of([typed(*(f"type-{number}" for number in range(count)))]))]


def group(count: int) -> list[Need]:
    return [need(group="g" * count)]


@pytest.mark.parametrize(
    ("of", "limit", "setting"),
    [
        (profiles, 20, "rollup.max_profiles"),
        (resource_names, 3, "rollup.max_resource_names"),
        (requirements, 4, "rollup.max_requirements"),
        (spreads, 4, "rollup.max_requirements"),
        (values, 10, "rollup.max_values"),
        (group, 30, "rollup.max_group_bytes"),
    ],
)
def test_a_roll_up_at_the_limit_is_read_and_one_beyond_it_is_refused(
    of: Callable[[int], list[Need]], limit: int, setting: str
) -> None:
    assert read(of(limit)).needs
    with pytest.raises(RollupRefused) as refused:
        read(of(limit + 1))
    assert refused.value.reason == "too_heavy"
    assert setting in refused.value.text
    assert f"{limit + 1} sent, {limit} allowed" in refused.value.text


@pytest.mark.parametrize(
    ("sent", "setting"),
    [
        ([need(group="a" * 30, profile=Profile.of([typed("t" * 6_000)]))], "rollup.max_row_bytes"),
        ([need(Profile.of([typed("t" * 4_000)]), group=str(n)) for n in range(30)], "max_bytes"),
    ],
    ids=["of a row", "of all rows"],
)
def test_bytes_are_counted_before_anything_is_read(sent: list[Need], setting: str) -> None:
    with pytest.raises(RollupRefused) as refused:
        read(sent)
    assert refused.value.reason == "too_heavy"
    assert setting in refused.value.text


def test_what_was_accepted_before_stays_remembered_when_a_heavy_one_is_refused() -> None:
    reader = RollupReader()
    before = read(profiles(3), reader)
    with pytest.raises(RollupRefused):
        read(profiles(21), reader)
    after = read(profiles(3), reader)
    assert after.digest == before.digest
    assert all(one is other for one, other in zip(after.needs, before.needs, strict=True))


def test_a_refused_roll_up_that_comes_again_is_refused_without_reading_it() -> None:
    reader = RollupReader()
    for _ in range(2):
        with pytest.raises(RollupRefused):
            read(profiles(21), reader)
    size = reader.remembered_bytes
    with pytest.raises(RollupRefused, match="max_profiles"):
        read(profiles(21), reader)
    assert reader.remembered_bytes == size


def test_a_raised_limit_lets_the_same_roll_up_in() -> None:
    reader = RollupReader()
    with pytest.raises(RollupRefused):
        read(profiles(21), reader)
    assert len(read(profiles(21), reader, RollupLimits()).needs) == 21


def test_a_roll_up_knows_its_bytes() -> None:
    assert 0 < read(profiles(3)).size_bytes < read(profiles(6)).size_bytes


# -- what is remembered ---------------------------------------------------------------------------


def test_what_is_remembered_for_a_cluster_goes_with_it() -> None:
    reader = RollupReader()
    for cluster in ("evil", "shop"):
        content = rollup_bytes(cluster, 1, many(5_000 if cluster == "evil" else 10, cluster))
        reader.read(content, cluster, 10_000)
    assert reader.remembered_bytes > 200_000
    reader.forget("evil")
    assert reader.remembered_bytes < 5_000
    kept = reader.read(rollup_bytes("shop", 2, many(10, "shop")), "shop", 100)
    assert [n.arrival_unix_nanos for n in kept.needs] == [1] * 10


def test_roll_ups_that_always_differ_do_not_add_up() -> None:
    reader = RollupReader()
    sizes = []
    for time in range(12):
        rows = many(2_000, f"round-{time}")
        reader.read(rollup_bytes("shop", time, rows), "shop", 10_000)
        sizes.append(reader.remembered_bytes)
    assert max(sizes) <= 4 * sizes[0]


def test_demand_that_is_withdrawn_is_not_remembered() -> None:
    reader = RollupReader()
    reader.read(rollup_bytes("shop", 1, many(5_000, "shop")), "shop", 10_000)
    reader.read(rollup_bytes("shop", 2, []), "shop", 10_000)
    assert reader.remembered_bytes < 5_000


def many(count: int, word: str) -> list[Need]:
    return [
        need(
            Profile.of([typed(f"{word}-{number}")]), Resources.of({"cpu": number + 1}), str(number)
        )
        for number in range(count)
    ]
