"""Profiles and patterns: the rows a run consists of."""

import pytest

from bigfleet.conformance.catalogue import BY_ID, DEFAULT, ROWS, profiles_of, required, selected
from bigfleet.model.errors import BadInput


def ids(profiles: tuple[str, ...], prefix: str = "B") -> list[str]:
    return [row.id for row in selected(ROWS, profiles) if row.id.startswith(prefix)]


def test_ids_are_those_of_the_specification() -> None:
    assert len(BY_ID) == len(ROWS)
    assert {"B102", "B304"}.isdisjoint(BY_ID)
    assert not any(row.id.startswith("B6") for row in ROWS)


@pytest.mark.parametrize(
    ("profile", "count"),
    [("core", 69), ("cloud", 5), ("spot", 1), ("fault", 8), ("durable", 7), ("scale", 9)],
)
def test_a_profile_has_its_rows(profile: str, count: int) -> None:
    assert len(ids((profile,))) == count


def test_bare_metal_is_core_without_the_rows_of_delete() -> None:
    assert len(ids(("bare-metal",))) == 66
    assert {"B109", "B409", "B807"}.isdisjoint(ids(("bare-metal",)))


def test_every_profile_implies_the_baseline() -> None:
    assert len(ids(("durable",), "TestConformance_")) == 24
    assert required(BY_ID["TestConformance_FullLifecycle"], ("spot",))


def test_all_is_everything_but_bare_metal() -> None:
    assert "bare-metal" not in profiles_of("all")
    assert set(DEFAULT) < set(profiles_of("all"))
    assert len(ids(profiles_of("all"))) == 93


def test_list_rows_run_alone() -> None:
    assert all(row.exclusive for row in ROWS if row.id.startswith("B9"))


def test_patterns_choose_rows_of_any_profile() -> None:
    chosen = selected(ROWS, ("core",), ["B302", "X1[45]"])
    assert [row.id for row in chosen] == ["B302", "X14", "X15"]


def test_a_pattern_that_matches_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="B304"):
        selected(ROWS, ("core",), ["B304"])


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(BadInput, match="gold"):
        profiles_of("core,gold")
