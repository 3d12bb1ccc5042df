"""Durations, sizes, switches and lists, as text and as plain data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.cli.settings.keys import Key, Shape
from bigfleet.cli.settings.values import BadValue, text_of, value_of
from bigfleet.model.durations import seconds_of, short_text


@pytest.mark.parametrize(
    ("shape", "said", "value"),
    [
        (Shape.DURATION, "500ms", 0.5),
        (Shape.DURATION, "1h30m", 5400.0),
        (Shape.DURATION, "2d", 172800.0),
        (Shape.DURATION, 90, 90.0),
        (Shape.DURATION, "1.5", 1.5),
        (Shape.SIZE, "64MiB", 64 * 1024**2),
        (Shape.SIZE, "1.5 KiB", 1536),
        (Shape.SIZE, "2MB", 2_000_000),
        (Shape.SIZE, "10m", 10_000_000),
        (Shape.SIZE, 4096, 4096),
        (Shape.SWITCH, "True", True),
        (Shape.SWITCH, "off", False),
        (Shape.SWITCH, True, True),
        (Shape.NUMBER, "0.05", 0.05),
        (Shape.NUMBER, 1, 1.0),
        (Shape.COUNT, "12", 12),
        (Shape.TEXT, 0, "0"),
        (Shape.TEXTS, "a=h:1, b=h:2", ("a=h:1", "b=h:2")),
        (Shape.TEXTS, ["a,b"], ("a,b",)),
        (Shape.TEXTS, [], ()),
        (Shape.RECORDS, '{"key": "a"}', ({"key": "a"},)),
        (Shape.RECORDS, ['{"key": "a"}', '[{"key": "b"}]'], ({"key": "a"}, {"key": "b"})),
        (Shape.RECORDS, [{"key": "a"}], ({"key": "a"},)),
    ],
)
def test_a_value_is_read(shape: Shape, said: object, value: object) -> None:
    assert value_of(Key("s", ("k",), shape, None), said) == value


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (Shape.DURATION, "-1s"),
        (Shape.DURATION, "1 s"),
        (Shape.DURATION, "nan"),
        (Shape.DURATION, True),
        (Shape.DURATION, [1]),
        (Shape.SIZE, "-1"),
        (Shape.SIZE, "1XB"),
        (Shape.SIZE, True),
        (Shape.SWITCH, 1),
        (Shape.SWITCH, "yep"),
        (Shape.NUMBER, "nan"),
        (Shape.NUMBER, "inf"),
        (Shape.NUMBER, True),
        (Shape.COUNT, 1.0),
        (Shape.COUNT, True),
        (Shape.COUNT, "1e3"),
        (Shape.TEXT, 1.5),
        (Shape.TEXT, False),
        (Shape.TEXTS, 7),
        (Shape.RECORDS, "a=b"),
        (Shape.RECORDS, [7]),
        (Shape.TEXTS, {"a": 1}),
    ],
)
def test_nonsense_is_refused(shape: Shape, said: object) -> None:
    with pytest.raises(BadValue):
        value_of(Key("s", ("k",), shape, None), said)


@given(st.integers(0, 10**10))
def test_a_duration_reads_back_as_it_was_written(millis: int) -> None:
    again = seconds_of(short_text(millis / 1000))
    assert again is not None
    assert round(again * 1000) == millis


@given(st.integers(0, 2**50))
def test_a_size_reads_back_as_it_was_written(size: int) -> None:
    key = Key("s", ("k",), Shape.SIZE, 0)
    assert value_of(key, text_of(key, size)) == size
