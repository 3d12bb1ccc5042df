"""A wrong setting is told with its name and the way to set it right."""

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.provider import Config, Secret
from bigfleet.provider.config import config_of


class Settings(Config):
    token: Secret
    size: int = 3


def problems_of(settings: dict[str, str]) -> list[str]:
    with pytest.raises(BadInput) as refused:
        config_of(Settings, settings)
    return [str(problem) for problem in refused.value.problems]


def test_a_missing_setting_is_told_with_the_flag_that_sets_it() -> None:
    assert problems_of({}) == [
        "token: the setting is missing: --set token=VALUE or --set token=@FILE"
    ]


def test_an_unknown_setting_is_told_with_those_there_are() -> None:
    assert problems_of({"token": "x", "sise": "4"}) == [
        "sise: no such setting; there are: token, size"
    ]


def test_every_misnamed_setting_is_told_at_once() -> None:
    assert [line.partition(":")[0] for line in problems_of({"a": "1", "b": "2"})] == [
        "a",
        "b",
        "token",
    ]


def test_a_value_of_the_wrong_kind_is_told_by_its_name() -> None:
    assert problems_of({"token": "x", "size": "big"}) == ["size: Expected `int`, got `str`"]
