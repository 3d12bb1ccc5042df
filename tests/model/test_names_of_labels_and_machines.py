"""Which texts are names of labels, resources and machines, and what is said of the others."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model import syntax

KEYS = ("zone", "a", "A_b.c-9", "nvidia.com/gpu", "topology.bigfleet/rack", "x" * 63)
NOT_KEYS = (
    "",
    "/a",
    "a/",
    "a/b/c",
    "A.b/c",
    "-a",
    "a-",
    "x" * 64,
    "a b",
    "a\n",
    "zöne",
    "a:b",
    "..",
)
VALUES = ("", "eu-1a", "m6i.large", "A_b", "7", "x" * 63)
NOT_VALUES = ("x" * 64, "-a", "a.", "a b", "a\nb", "a\n", "$(id)", "a;b", "a/b", "\x1b[31m", "ä")
IDS = ("m-1", "aws/spot/m6i.large/eu-1a/007", "vm..1", "i:7@b", "x" * 253)
NOT_IDS = (
    "", "x" * 254, "a b", "a\nb", "../etc/passwd", "a/../b", "a/..", "..", "a\\..\\b",
    "\x1b[2J", "m\x00", "m\x7f", "mäc", "a\u202eb",
)  # fmt: skip


@pytest.mark.parametrize("text", KEYS)
def test_a_label_key_is_one(text: str) -> None:
    assert syntax.why_not_label_key(text) is None


@pytest.mark.parametrize("text", NOT_KEYS)
def test_what_is_not_a_label_key_is_refused_with_the_fix(text: str) -> None:
    why = syntax.why_not_label_key(text)
    assert why is not None
    assert "write a Kubernetes label key" in why


@pytest.mark.parametrize("text", VALUES)
def test_a_label_value_is_one(text: str) -> None:
    assert syntax.why_not_label_value(text) is None


@pytest.mark.parametrize("text", NOT_VALUES)
def test_what_is_not_a_label_value_is_refused_with_the_fix(text: str) -> None:
    why = syntax.why_not_label_value(text)
    assert why is not None
    assert "write a Kubernetes label value" in why


@pytest.mark.parametrize("text", IDS)
def test_a_machine_id_is_one(text: str) -> None:
    assert syntax.why_not_machine_id(text) is None


@pytest.mark.parametrize("text", NOT_IDS)
def test_what_is_not_a_machine_id_is_refused(text: str) -> None:
    assert syntax.why_not_machine_id(text) is not None


@given(st.text(max_size=80))
def test_no_sentence_carries_what_was_refused_as_it_was(text: str) -> None:
    for check in (syntax.why_not_label_key, syntax.why_not_label_value, syntax.why_not_machine_id):
        why = check(text) or ""
        assert why.isascii()
        assert why.isprintable()


@given(st.lists(st.sampled_from((*IDS, *NOT_IDS)) | st.text(max_size=6), max_size=4))
def test_many_ids_at_once_are_never_taken_for_better_than_each_of_them(texts: list[str]) -> None:
    if syntax.are_machine_ids(texts):
        assert all(syntax.why_not_machine_id(text) is None for text in texts)


def test_many_ordinary_ids_are_taken_at_once() -> None:
    assert syntax.are_machine_ids([f"sim--spot--std-8--eu-1a--{i:03}" for i in range(1000)])
    assert syntax.are_machine_ids([])


@given(st.from_regex(syntax.LABEL_KEY_PATTERN, fullmatch=True).filter(lambda key: len(key) < 200))
def test_what_the_custom_resources_pattern_takes_is_a_key(text: str) -> None:
    assert (syntax.why_not_label_key(text) is None) == (not text.endswith("\n"))


def test_a_text_that_is_too_long_is_not_remembered() -> None:
    before = syntax._why_not_label_value.cache_info().currsize
    assert syntax.why_not_label_value("v" * 10_000) is not None
    assert syntax._why_not_label_value.cache_info().currsize == before


def test_the_patterns_end_where_the_text_ends() -> None:
    assert re.fullmatch(syntax.LABEL_VALUE_PATTERN[1:-1], "a\n") is None
