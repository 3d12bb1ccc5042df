"""Durations, sizes, switches and lists, as text and as plain data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.cli.settings.keys import Key, ValueForm
from bigfleet.cli.settings.values import BadValue, text_of, value_of
from bigfleet.model.durations import seconds_of, short_text


@pytest.mark.parametrize(
    ("shape", "said", "value"),
    [
        (ValueForm.DURATION, "500ms", 0.5),
        (ValueForm.DURATION, "1h30m", 5400.0),
        (ValueForm.DURATION, "2d", 172800.0),
        (ValueForm.DURATION, 90, 90.0),
        (ValueForm.DURATION, "1.5", 1.5),
        (ValueForm.SIZE, "64MiB", 64 * 1024**2),
        (ValueForm.SIZE, "1.5 KiB", 1536),
        (ValueForm.SIZE, "2MB", 2_000_000),
        (ValueForm.SIZE, "10m", 10_000_000),
        (ValueForm.SIZE, 4096, 4096),
        (ValueForm.SWITCH, "True", True),
        (ValueForm.SWITCH, "off", False),
        (ValueForm.SWITCH, True, True),
        (ValueForm.NUMBER, "0.05", 0.05),
        (ValueForm.NUMBER, 1, 1.0),
        (ValueForm.COUNT, "12", 12),
        (ValueForm.TEXT, 0, "0"),
        (ValueForm.TEXTS, "a=h:1, b=h:2", ("a=h:1", "b=h:2")),
        (ValueForm.TEXTS, ["a,b"], ("a,b",)),
        (ValueForm.TEXTS, [], ()),
        (ValueForm.RECORDS, '{"key": "a"}', ({"key": "a"},)),
        (ValueForm.RECORDS, ['{"key": "a"}', '[{"key": "b"}]'], ({"key": "a"}, {"key": "b"})),
        (ValueForm.RECORDS, [{"key": "a"}], ({"key": "a"},)),
    ],
)
def test_a_value_is_read(shape: ValueForm, said: object, value: object) -> None:
    assert value_of(Key("s", ("k",), shape, None), said) == value


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (ValueForm.DURATION, "-1s"),
        (ValueForm.DURATION, "1 s"),
        (ValueForm.DURATION, "nan"),
        (ValueForm.DURATION, True),
        (ValueForm.DURATION, [1]),
        (ValueForm.SIZE, "-1"),
        (ValueForm.SIZE, "1XB"),
        (ValueForm.SIZE, True),
        (ValueForm.SWITCH, 1),
        (ValueForm.SWITCH, "yep"),
        (ValueForm.NUMBER, "nan"),
        (ValueForm.NUMBER, "inf"),
        (ValueForm.NUMBER, True),
        (ValueForm.COUNT, 1.0),
        (ValueForm.COUNT, True),
        (ValueForm.COUNT, "1e3"),
        (ValueForm.TEXT, 1.5),
        (ValueForm.TEXT, False),
        (ValueForm.TEXTS, 7),
        (ValueForm.RECORDS, "a=b"),
        (ValueForm.RECORDS, [7]),
        (ValueForm.TEXTS, {"a": 1}),
    ],
)
def test_nonsense_is_refused(shape: ValueForm, said: object) -> None:
    with pytest.raises(BadValue):
        value_of(Key("s", ("k",), shape, None), said)


@given(st.integers(0, 10**10))
def test_a_duration_reads_back_as_it_was_written(millis: int) -> None:
    again = seconds_of(short_text(millis / 1000))
    assert again is not None
    assert round(again * 1000) == millis


@given(st.integers(0, 2**50))
def test_a_size_reads_back_as_it_was_written(size: int) -> None:
    key = Key("s", ("k",), ValueForm.SIZE, 0)
    assert value_of(key, text_of(key, size)) == size
