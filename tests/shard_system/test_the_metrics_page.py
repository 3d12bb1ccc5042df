"""The page shows what was counted, in the form a scraper reads, and nothing it has no name for."""

import pytest

from bigfleet.edge.counts import Counts
from bigfleet.shard.metrics import ShardMetrics


def test_a_page_shows_counters_gauges_and_histograms() -> None:
    counts = Counts()
    counts.add("cycles_total", 3)
    counts.set("active_sessions", 2)
    counts.observe("cycle_duration_seconds", 0.25)
    page = ShardMetrics(counts, lambda: None, "1.2.3").text().decode()
    assert "bigfleet_shard_cycles_total 3.0" in page
    assert "bigfleet_shard_active_sessions 2.0" in page
    assert 'bigfleet_shard_cycle_duration_seconds_bucket{le="+Inf"} 1.0' in page
    assert 'bigfleet_build_info{version="1.2.3"} 1.0' in page
    assert "process_resident_memory_bytes" in page
    assert "certificate_expiry" not in page


def test_a_page_says_when_the_certificate_ends() -> None:
    page = ShardMetrics(Counts(), lambda: None, "", lambda: 1_900_000_000.0).text().decode()
    assert "bigfleet_tls_certificate_expiry_timestamp_seconds 1.9e+09" in page


def test_a_count_outside_the_catalogue_is_an_error() -> None:
    counts = Counts()
    counts.add("cycles_totle")
    with pytest.raises(KeyError):
        ShardMetrics(counts, lambda: None, "").text()
