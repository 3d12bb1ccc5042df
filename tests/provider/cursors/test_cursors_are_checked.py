"""A cursor reads back exactly or not at all."""

from hypothesis import assume, given
from hypothesis import strategies as st

from bigfleet.provider.ledger.published import Cursor, Delta, Walk, cursor_bytes, cursor_of

NUMBERS = st.integers(0, 10**18)
CURSORS: st.SearchStrategy[Cursor] = st.one_of(
    st.builds(Delta, NUMBERS), st.builds(Walk, NUMBERS, NUMBERS, NUMBERS)
)


@given(CURSORS)
def test_a_cursor_reads_back_as_it_was_written(cursor: Cursor) -> None:
    written = cursor_bytes(cursor, "abc")
    assert cursor_of(written, "abc") == cursor
    assert written.decode("ascii").isprintable()


@given(CURSORS)
def test_a_cursor_of_another_incarnation_is_none(cursor: Cursor) -> None:
    assert cursor_of(cursor_bytes(cursor, "abc"), "abd") is None


@given(CURSORS, st.data())
def test_an_altered_cursor_is_none(cursor: Cursor, data: st.DataObject) -> None:
    written = bytearray(cursor_bytes(cursor, "abc"))
    place = data.draw(st.integers(0, len(written) - 1))
    value = data.draw(st.integers(0, 255))
    assume(written[place] != value)
    written[place] = value
    assert cursor_of(bytes(written), "abc") is None


@given(CURSORS, st.binary(min_size=1, max_size=3))
def test_a_lengthened_or_shortened_cursor_is_none(cursor: Cursor, more: bytes) -> None:
    written = cursor_bytes(cursor, "abc")
    for altered in (written + more, more + written, written[: -len(more)], written[len(more) :]):
        assert cursor_of(altered, "abc") is None


@given(st.binary(max_size=80))
def test_junk_is_none(junk: bytes) -> None:
    assert cursor_of(junk, "abc") is None
