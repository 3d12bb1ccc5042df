"""The language of assertions: what it means, and what it refuses."""

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.simulation.expressions import BadExpression, Filters, expression_of
from bigfleet.simulation.figures import NAMES, NUMERIC

VALUES = {"cost_per_hour": 12.5, "shortfalls": 0.0, "evictions": 4.0}


def ask(name: str, filters: Filters) -> float:
    return VALUES.get(name, float(len(filters)))


def holds(text: str) -> bool:
    return expression_of(text, NAMES, NUMERIC).holds(ask)


@pytest.mark.parametrize(
    "text",
    [
        "cost_per_hour < 60",
        "shortfalls == 0 and evictions == 4",
        "shortfalls > 0 or evictions >= 4",
        "not shortfalls > 0",
        "2 + 3 * 4 = 14",
        "(2 + 3) * 4 == 20",
        "-1 < 0",
        "evictions / 2 - 1 == 1",
        "unmet(priority>=100, cluster=shop) == 2",
        "machines(zone=b, state=Configured, type=m5.2xlarge) == 3",
    ],
)
def test_what_is_true_holds(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize("text", ["evictions / shortfalls > 0", "evictions / shortfalls <= 0"])
def test_a_division_by_zero_is_never_true(text: str) -> None:
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a number or a name is missing at the end"),
        ("cost_per_hour <", "missing at the end"),
        ("cost < 5", "'cost' is not a name one can assert"),
        ("unmet(zone=a) < 5", "unmet cannot be filtered by 'zone'"),
        ("unmet(priority>=high) < 5", "priority is a number"),
        ("machines(zone>=b) < 5", "zone is compared with = or != only"),
        ("shortfalls == 0 0", "'0' is too much"),
        ("(shortfalls == 0", "a ) is missing"),
        ("shortfalls; evictions", "';' has no meaning"),
        ("__import__('os')", "has no meaning"),
        ("(" * 60 + "1" + ")" * 60, "more than 50 parentheses"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(BadExpression, match=re.escape(said)):
        expression_of(text, NAMES, NUMERIC)


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(BadExpression):
        assert expression_of(text, NAMES, NUMERIC).holds(ask) in (True, False)
