"""A token passes exactly when it is above every token that passed before it."""

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model.provider_calls import Token
from bigfleet.provider.ledger.fences import Fences, Mark, MarkKey, is_stale, mark_of

INT64 = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63)])
)
PAIRS = st.tuples(INT64, INT64)
#: Few of each, so that keys meet again.
KEYS = st.tuples(st.sampled_from(["a", "b", "\0"]), st.sampled_from(["m-0", "m-1", "gone"]))


@given(st.lists(PAIRS, max_size=40))
def test_the_mark_is_the_greatest_pair_that_passed(pairs: list[tuple[int, int]]) -> None:
    mark: Mark | None = None
    for number, (epoch, sequence) in enumerate(pairs):
        token = Token("a", epoch, sequence)
        assert is_stale(token, mark) == any((epoch, sequence) <= p for p in pairs[:number])
        if not is_stale(token, mark):
            mark = mark_of(token)


@given(st.lists(st.tuples(KEYS, PAIRS), max_size=40))
def test_a_mark_touches_no_other_shard_and_no_other_machine(
    steps: list[tuple[tuple[str, str], tuple[int, int]]],
) -> None:
    fences = Fences({"m-0", "m-1"}.__contains__)
    oracle: dict[tuple[str, str], Mark] = {}
    for key, pair in steps:
        fences.advance(MarkKey(*key), Mark(*pair), now=0)
        oracle[key] = Mark(*pair)
    for key, mark in oracle.items():
        assert fences.mark(MarkKey(*key), now=0) == mark
    assert dict(fences.all()) == oracle


def test_the_first_contact_of_a_shard_is_never_stale() -> None:
    assert not is_stale(Token("a", -5, -7), None)


def test_an_absent_token_is_never_stale() -> None:
    assert not is_stale(Token(), Mark(9, 9))


def test_an_empty_shard_with_numbers_is_a_token_like_any_other() -> None:
    assert is_stale(Token("", 0, 1), Mark(0, 1))
