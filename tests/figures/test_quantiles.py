"""Quantiles of a histogram, as people read them off a dashboard."""

import pytest

from bigfleet.model.figures import quantile

EDGES = (0.1, 0.2, 0.4)


def test_nothing_counted_has_no_quantile() -> None:
    assert quantile(EDGES, (), 0.99) is None
    assert quantile(EDGES, (0, 0, 0, 0), 0.99) is None


def test_a_quantile_lies_between_the_edges_of_its_count() -> None:
    assert quantile(EDGES, (0, 100, 0, 0), 0.5) == pytest.approx(0.15)
    assert quantile(EDGES, (99, 1, 0, 0), 0.99) == pytest.approx(0.1)
    assert quantile(EDGES, (98, 0, 2, 0), 0.99) == pytest.approx(0.3)


def test_what_is_above_all_edges_counts_as_the_last() -> None:
    assert quantile(EDGES, (0, 0, 0, 5), 0.99) == 0.4
