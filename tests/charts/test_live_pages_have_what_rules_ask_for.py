"""Each process is started, and its page compared with what rules and dashboards ask of it: names of
metrics, labels they are grouped and selected by, and values that rules wait for."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from bigfleet.provider.metrics import ProviderMetrics
from tests.charts.charts import BIGFLEET, OPERATOR
from tests.charts.test_alerts_and_dashboards_watch_what_is_counted import queries_of
from tests.coordinator_process.rig import coordinated
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import JumpingClock
from tests.operator_system.rig import operating as operated
from tests.podwatch.rig import running
from tests.shard_system.demand import LOW
from tests.shard_system.operators import operating
from tests.shard_system.rig import offered, page, provided, sharded
from tests.shard_system.waiting import until

#: What a scraper adds.
OF_TARGETS = {"namespace", "pod", "container", "job", "instance"}
#: Metrics whose rows come with their subject. Their labels are read in the source.
WITH_THEIR_SUBJECT = {
    "bigfleet_coordinator_instruction_failures_total": {"kind", "outcome"},
    "bigfleet_coordinator_quota_allocated": {"provider", "region"},
    "bigfleet_coordinator_quota_total": {"provider", "region"},
    "bigfleet_coordinator_rebalance_blocked": {"layer"},
    "bigfleet_coordinator_snapshot_age_seconds": set(),
    "bigfleet_coordinator_transfers_total": {"tier", "result"},
    "bigfleet_operator_acknowledge_duration_seconds_bucket": {"le"},
    "bigfleet_operator_bootstrap_renders_total": {"outcome"},
    "bigfleet_operator_eviction_blocked_total": {"budget_namespace"},
    "bigfleet_operator_node_state_update_duration_seconds_bucket": {"phase", "le"},
    "bigfleet_provider_fenced_total": {"shard"},
    "bigfleet_provider_internal_errors_total": {"method"},
    "bigfleet_shard_coordinator_rows_left_off_total": {"field"},
    "bigfleet_shard_delete_phase_seconds_bucket": {"le"},
    "bigfleet_shard_drain_phase_seconds_bucket": {"le"},
    "bigfleet_shard_eviction_seconds_bucket": {"kind", "le"},
    "bigfleet_shard_failed_machines": {"cause"},
    "bigfleet_shard_provider_rpc_errors_total": {"provider", "rpc", "code"},
    "bigfleet_shard_regret_dollars_per_hour": set(),
    "bigfleet_shard_regret_ratio": set(),
    "bigfleet_shard_rollup_quarantined": {"cluster"},
    "bigfleet_tls_certificate_expiry_timestamp_seconds": set(),
}
_SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
_SELECTOR = re.compile(r"\b((?:bigfleet|process)_[a-z0-9_]+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"')
_GROUPED = re.compile(r"\bby \(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Asked:
    query: str
    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    grouped_by: frozenset[str]

    def labels(self) -> set[str]:
        return ({name for name, _, _ in self.matchers} | self.grouped_by) - OF_TARGETS


def asked_of(query: str) -> Iterator[Asked]:
    groups = {name.strip() for each in _GROUPED.findall(query) for name in each.split(",")}
    for metric, inside in _SELECTOR.findall(query):
        matchers = tuple(_MATCHER.findall(inside))
        # A query of two metrics may group one of them by labels of its own.
        yield Asked(query, metric, matchers, frozenset(groups))


RULES = [
    asked
    for chart in (BIGFLEET, OPERATOR)
    for rule in chart.alerts
    for asked in asked_of(rule["expr"])
]
PANELS = [
    asked
    for chart in (BIGFLEET, OPERATOR)
    for dashboard in chart.dashboards.values()
    for query in queries_of(dashboard)
    for asked in asked_of(query)
]

Page = dict[str, list[dict[str, str]]]


def rows_of(text: str) -> Page:
    """Labels of every sample, by its name; names without samples are there too."""
    found: Page = defaultdict(list)
    for family in text_string_to_metric_families(text):
        for suffix in {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(
            family.type, [""]
        ):
            found[family.name + suffix] += []
        for sample in family.samples:
            found[sample.name].append(dict(sample.labels))
    return found


def compare(text: str, *prefixes: str) -> None:
    """Prints everything that is asked for and not there."""
    rows = rows_of(text)
    wrong: list[str] = []
    for asked in (*RULES, *PANELS):
        if not asked.metric.startswith(prefixes):
            continue
        if asked.metric not in rows and asked.metric not in WITH_THEIR_SUBJECT:
            wrong.append(f"{asked.metric} is not exported: {asked.query}")
            continue
        there = rows.get(asked.metric, [])
        if not there and asked.metric not in WITH_THEIR_SUBJECT:
            wrong.append(f"{asked.metric} has no row yet: {asked.query}")
            continue
        known = {name for row in there for name in row} | WITH_THEIR_SUBJECT.get(
            asked.metric, set()
        )
        if missing := asked.labels() - known:
            wrong.append(f"{asked.metric} has no label {missing}: {asked.query}")
    for asked in RULES:
        there = rows.get(asked.metric, [])
        if asked.metric.startswith(prefixes) and there:
            wrong += [
                f"{asked.metric} never has {name}{how}{value}: {asked.query}"
                for name, how, value in asked.matchers
                if how in ("=", "=~")
                and name not in OF_TARGETS
                and not any(re.fullmatch(value, row.get(name, "")) for row in there)
            ]
    assert not wrong, "\n".join(wrong)


async def test_a_shard_exports_what_is_asked_of_it(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("ON_DEMAND", 4)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
        operating("shop", shard.address) as operator,
    ):
        await operator.wants(1, LOW)
        await until(operator.configured, lambda: shard.log.said[-5:])
        age = ("provider_list_age_seconds", (("provider", "p0"),))
        await until(lambda: age in shard.process.state.effects.counts.gauges)
        compare(
            (await shard.page("/metrics"))[1], "bigfleet_shard_", "bigfleet_metrics_", "process_"
        )
        compare(provider.server.metrics.text().decode(), "bigfleet_provider_")


async def test_a_coordinator_exports_what_is_asked_of_it(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        await rig.reported()
        await rig.synced()
        compare((await rig.page("/metrics"))[1], "bigfleet_coordinator_", "process_")


async def test_an_operator_exports_what_is_asked_of_it(tmp_path: Path) -> None:
    async with FakeApiServer() as server, operated(tmp_path, server, JumpingClock()) as rig:
        await rig.until(lambda: ("rollup_duration_seconds", ()) in rig.operator.counts.histograms)
        compare(await rig.metrics(), "bigfleet_operator_", "process_")


async def test_a_pod_controller_exports_what_is_asked_of_it() -> None:
    async with FakeApiServer() as server, running(server) as process:
        text = (await page(process.metrics_port, "/metrics"))[1]
        compare(text, "bigfleet_podwatch_", "bigfleet_unschedulable_", "process_")


def test_no_row_is_awaited_that_nothing_asks_for() -> None:
    asked = {each.metric for each in (*RULES, *PANELS)}
    assert WITH_THEIR_SUBJECT.keys() - asked == set()


def test_a_provider_shows_its_failures_before_the_first_one() -> None:
    rows = rows_of(ProviderMetrics().text().decode())
    assert rows["bigfleet_provider_store_failures_total"] == [{}]
