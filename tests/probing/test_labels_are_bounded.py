"""However many names tenants and providers choose, and however long they are, a metric has few
series, and what is gone makes room."""

import pytest

from bigfleet.edge.counts import LONGEST_VALUE, MOST_SERIES, MOST_VALUES, OTHER, Counts

MANY = 5 * MOST_VALUES


def values_of(counts: Counts, name: str, label: str) -> list[str]:
    tables = (counts.counters, counts.gauges, counts.histograms)
    series = [labels for table in tables for known, labels in table if known == name]
    return [dict(labels)[label] for labels in series]


@pytest.mark.parametrize("verb", ["add", "set", "observe"])
def test_names_beyond_the_most_share_one_series(verb: str) -> None:
    counts = Counts()
    for number in range(MANY):
        getattr(counts, verb)("seen", 1, cluster=f"c-{number}", reason="size")
    shown = values_of(counts, "seen", "cluster")
    assert len(shown) == MOST_VALUES + 1
    assert shown[-1] == OTHER


def test_nothing_that_is_counted_is_lost_among_the_others() -> None:
    counts = Counts()
    for number in range(MANY):
        counts.add("seen_total", 2, cluster=f"c-{number}")
    assert sum(counts.counters.values()) == 2 * MANY
    assert counts.of("seen_total", cluster=OTHER) == 2 * (MANY - MOST_VALUES)


def test_a_name_that_has_its_series_keeps_it() -> None:
    counts = Counts()
    counts.add("seen_total", cluster="first")
    for number in range(MANY):
        counts.add("seen_total", cluster=f"c-{number}")
    counts.add("seen_total", cluster="first")
    assert counts.of("seen_total", cluster="first") == 2


def test_a_subject_that_is_gone_makes_room_for_another() -> None:
    counts = Counts()
    for number in range(MOST_VALUES):
        counts.add("seen_total", cluster=f"c-{number}")
    counts.drop("seen_total", cluster="c-0")
    counts.add("seen_total", cluster="next")
    counts.add("seen_total", cluster="one too many")
    assert counts.of("seen_total", cluster="next") == 1
    assert counts.of("seen_total", cluster=OTHER) == 1


def test_labels_that_are_few_each_are_bounded_together() -> None:
    counts = Counts()
    for first in range(MOST_VALUES):
        for second in range(2 * MOST_SERIES // MOST_VALUES):
            counts.set("depth", 1, left=f"l-{first}", right=f"r-{second}")
    assert counts.series == MOST_SERIES + 1


def test_a_long_name_is_cut() -> None:
    counts = Counts()
    counts.add("seen_total", cluster="x" * 200_000)
    (shown,) = values_of(counts, "seen_total", "cluster")
    assert len(shown) == LONGEST_VALUE
    counts.drop("seen_total", cluster="x" * 200_000)
    assert counts.series == 0


def test_every_series_of_a_cluster_goes_with_it_and_no_other() -> None:
    counts = Counts()
    for reason in ("size", "rows"):
        counts.add("refused_total", cluster="shop", reason=reason)
    counts.add("refused_total", cluster="bank", reason="size")
    counts.drop_all_with("refused_total", cluster="shop")
    assert list(counts.counters) == [("refused_total", (("cluster", "bank"), ("reason", "size")))]


def test_of_a_gauge_the_largest_rows_are_shown_and_the_sum_of_the_rest() -> None:
    counts = Counts()
    rows = {(f"r-{number}",): float(number) for number in range(MANY)}
    counts.show("wanted", ("resource",), rows)
    assert counts.series == MOST_VALUES + 1
    assert counts.of("wanted", resource=f"r-{MANY - 1}") == MANY - 1
    assert counts.of("wanted", resource=OTHER) == sum(range(MANY - MOST_VALUES))
    counts.show("wanted", ("resource",), {("cpu",): 4.0})
    assert counts.gauges == {("wanted", (("resource", "cpu"),)): 4.0}


def test_rows_that_come_first_are_shown_however_small_they_are() -> None:
    counts = Counts()
    rows = {(f"r-{number}",): 1e12 for number in range(MANY)} | {("cpu",): 4.0}
    counts.show("wanted", ("resource",), rows, first=("cpu",))
    assert counts.of("wanted", resource="cpu") == 4.0


def test_a_copy_does_not_change_with_what_it_was_made_of() -> None:
    counts = Counts()
    counts.add("seen_total")
    counts.set("depth", 1)
    counts.observe("seconds", 0.1)
    copied = counts.copy()
    counts.add("seen_total")
    counts.observe("seconds", 0.1)
    copied.set("depth", 7)
    assert (copied.of("seen_total"), counts.of("depth")) == (1, 1)
    assert copied.histograms["seconds", ()].count == 1
