"""Series of subjects that are gone are dropped, for every kind of subject."""

from bigfleet.edge.counts import Counts


def test_every_kind_of_series_of_a_subject_is_dropped_and_no_other() -> None:
    counts = Counts()
    for shard in ("a", "b"):
        counts.add("calls_total", 2, shard=shard)
        counts.set("depth", 3, shard=shard)
        counts.observe("seconds", 0.1, shard=shard)
    for name in ("calls_total", "depth", "seconds", "never_counted"):
        counts.drop(name, shard="a")
    assert counts.series == 3
    assert (counts.of("calls_total", shard="b"), counts.of("depth", shard="b")) == (2, 3)
    assert list(counts.histograms) == [("seconds", (("shard", "b"),))]


def test_a_counter_that_was_dropped_begins_anew() -> None:
    counts = Counts()
    counts.add("calls_total", 2, shard="a")
    counts.drop("calls_total", shard="a")
    counts.add("calls_total", shard="a")
    assert counts.of("calls_total", shard="a") == 1
