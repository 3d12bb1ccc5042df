"""Alerts cover what the specification ships, and every query asks for an exposed metric."""

import re
from typing import Any

import pytest

from bigfleet.shard.settings import DeadlineSettings, RailSettings, SessionSettings
from tests.architecture.tree import ROOT
from tests.charts.charts import BIGFLEET, OPERATOR
from tests.charts.metric_names import exposed, named_in

ALERTS = {rule["alert"]: rule for chart in (BIGFLEET, OPERATOR) for rule in chart.alerts}
DASHBOARDS = BIGFLEET.dashboards | OPERATOR.dashboards
#: Each alert the specification ships, and what it must look at.
SHIPPED = {
    "BigFleetIdentityRejected": "bigfleet_shard_session_identity_rejected_total",
    "BigFleetFencedAction": "bigfleet_shard_action_execute_outcomes_total",
    "BigFleetListQuarantined": "bigfleet_shard_list_quarantined",
    "BigFleetRollupQuarantined": "bigfleet_shard_rollup_quarantined",
    "BigFleetPausedForAnHour": "bigfleet_shard_actuation_paused",
    "BigFleetShortfallAboveBatch": "bigfleet_shard_shortfalls_by_priority",
    "BigFleetUrgentNeedsBlocked": "bigfleet_shard_needs",
    "BigFleetNeedsBlocked": "bigfleet_shard_needs",
    "BigFleetNeedsShort": "bigfleet_shard_needs",
    "BigFleetMachinesStuck": "bigfleet_shard_machines_stuck",
    "BigFleetProviderBreakerOpen": "bigfleet_shard_provider_breaker_open",
    "BigFleetCycleSlow": "bigfleet_shard_cycle_duration_seconds_bucket",
    "BigFleetCycleVerySlow": "bigfleet_shard_cycle_duration_seconds_bucket",
    "BigFleetOutboxStalled": "bigfleet_shard_outbox_oldest_age_seconds",
    "BigFleetJournalDegraded": "bigfleet_shard_journal_degraded",
    "BigFleetStatementsDegraded": "bigfleet_shard_statements_degraded",
    "BigFleetNoLeader": "bigfleet_coordinator_is_leader",
    "BigFleetShardStale": "bigfleet_coordinator_shards_stale",
    "BigFleetRebalanceWithoutProgress": "bigfleet_coordinator_rebalance_blocked",
    "BigFleetCertificateEnds": "bigfleet_tls_certificate_expiry_timestamp_seconds",
    "BigFleetBuysAndGivesBack": "bigfleet_shard_actions_total",
    "BigFleetSnapshotOld": "bigfleet_coordinator_snapshot_age_seconds",
    "BigFleetCoordinatorStoreErrors": "bigfleet_coordinator_store_errors_total",
    "BigFleetProviderStoreFails": "bigfleet_provider_store_failures_total",
    "BigFleetProviderFenced": "bigfleet_provider_fenced_total",
    "BigFleetProviderDescribeQuarantined": "bigfleet_provider_describe_quarantined",
    "BigFleetProviderOperationsFail": "bigfleet_provider_operations_total",
    "BigFleetReportsCut": "bigfleet_shard_coordinator_rows_left_off_total",
    "BigFleetMetricsCut": "bigfleet_metrics_series_left_off",
    "BigFleetOperatorRollupsRefused": "bigfleet_operator_rollup_refused",
}
HOW_LONG = {
    "BigFleetPausedForAnHour": "1h",
    "BigFleetShortfallAboveBatch": "5m",
}
RAILS, DEADLINES, SESSION = RailSettings(), DeadlineSettings(), SessionSettings()
#: Seconds until a scrape and an evaluation have seen something.
SEEN_AFTER = 60.0
#: Seconds for which what an alert is about lasts, where settings end it.
AT_LEAST: dict[str, float] = {
    "BigFleetListQuarantined": RAILS.list_guard_min_hold,
    "BigFleetRollupQuarantined": RAILS.rollup_guard_min_hold,
    "BigFleetPausedForAnHour": RAILS.pause_default_ttl,
    "BigFleetOutboxStalled": SESSION.stall_timeout,
    "BigFleetRebalanceWithoutProgress": 3600.0,
    "BigFleetMachinesStuck": DEADLINES.creating + DEADLINES.configuring,
    "BigFleetRollupsRejected": 10.0,
    "BigFleetOperatorRollupsRefused": 600.0,
}


def seconds_of(span: str) -> float:
    return float(span[:-1]) * {"s": 1, "m": 60, "h": 3600}[span[-1]]


def queries_of(dashboard: dict[str, Any]) -> list[str]:
    panels = dashboard["panels"]
    asked = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    variables = dashboard["templating"]["list"]
    return asked + [each["query"]["query"] for each in variables if each["type"] == "query"]


def is_balanced(expression: str) -> bool:
    bare = re.sub(r'"[^"]*"', "", expression)
    return all(bare.count(pair[0]) == bare.count(pair[1]) for pair in ("()", "[]", "{}"))


@pytest.mark.parametrize(("alert", "metric"), SHIPPED.items(), ids=SHIPPED)
def test_every_alert_of_the_specification_is_shipped(alert: str, metric: str) -> None:
    assert metric in named_in(ALERTS[alert]["expr"])


@pytest.mark.parametrize(("alert", "span"), HOW_LONG.items(), ids=HOW_LONG)
def test_an_alert_waits_as_long_as_it_says(alert: str, span: str) -> None:
    assert ALERTS[alert]["for"] == span


@pytest.mark.parametrize(("alert", "lasts"), AT_LEAST.items(), ids=AT_LEAST)
def test_an_alert_can_fire_while_what_it_is_about_lasts(alert: str, lasts: float) -> None:
    """With the default settings. One that looks back in time may be later than what it saw."""
    rule = ALERTS[alert]
    looks_back = re.search(r"\b(max_over_time|increase|rate)\(", rule["expr"])
    waits = seconds_of(rule["for"]) if "for" in rule else 0.0
    if looks_back:
        assert waits < seconds_of(re.findall(r"\[(\w+)\]", rule["expr"])[0])
    else:
        assert waits + SEEN_AFTER <= lasts


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_asks_only_for_metrics_that_exist(alert: str) -> None:
    named = named_in(ALERTS[alert]["expr"])
    assert named
    assert named <= exposed()
    assert is_balanced(ALERTS[alert]["expr"])


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_what_happened_what_to_do_and_where_to_read_on(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert set(rule["annotations"]) == {"summary", "action", "page"}
    assert (ROOT / rule["annotations"]["page"]).exists()


@pytest.mark.parametrize("alert", ALERTS)
def test_what_is_on_its_way_is_not_an_alert(alert: str) -> None:
    states = re.findall(r'bigfleet_shard_needs\{[^}]*state=~?"([^"]*)"', ALERTS[alert]["expr"])
    assert len(states) == len(re.findall(r"bigfleet_shard_needs\b", ALERTS[alert]["expr"]))
    assert set(states) <= {"blocked", "short"}


def test_no_two_alerts_share_a_name() -> None:
    rules = [rule["alert"] for chart in (BIGFLEET, OPERATOR) for rule in chart.alerts]
    assert len(rules) == len(set(rules))


def test_there_is_a_dashboard_for_each_view() -> None:
    assert set(DASHBOARDS) == {"fleet", "shard", "coordinator", "operator"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_asks_only_for_metrics_that_exist(name: str) -> None:
    queries = queries_of(DASHBOARDS[name])
    assert queries
    assert {metric for query in queries for metric in named_in(query)} <= exposed()
    assert [query for query in queries if not named_in(query) or not is_balanced(query)] == []


@pytest.mark.parametrize("name", DASHBOARDS)
def test_the_panels_of_a_dashboard_do_not_cover_each_other(name: str) -> None:
    panels = DASHBOARDS[name]["panels"]
    squares = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(squares) == len(set(squares))
    assert max(x for x, _ in squares) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_dashboards_are_told_apart_by_their_uid() -> None:
    uids = {dashboard["uid"] for dashboard in DASHBOARDS.values()}
    assert len(uids) == len(DASHBOARDS)
