"""Under default settings every shipped alert can fire: its condition lasts longer than its `for`,
and one that lasts shorter than two scrapes is kept in sight."""

import re
from dataclasses import dataclass, field

import pytest

from bigfleet.edge.counts import Counts
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.reconciling.comparison import Rule
from bigfleet.shard.ingest.ingest import Ingest
from bigfleet.shard.metrics import PREFIX
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.charts.charts import BIGFLEET, OPERATOR
from tests.ingest.rig import START, Rig, rollup

ALERTS = {rule["alert"]: rule for chart in (BIGFLEET, OPERATOR) for rule in chart.alerts}
#: As Prometheus does it by default: a minute between two scrapes.
SCRAPE_SECONDS = 60
ROLLUP_SECONDS = 10
_UNITS = {"s": 1, "m": 60, "h": 3600}
_RAILS, _SHARD, _PROVIDER = RailSettings(), ShardSettings(), ProviderOptions(provider="p")
#: Seconds that a condition lasts before the process itself ends it, at the least.
LASTS = {
    "bigfleet_shard_list_quarantined": _RAILS.list_guard_min_hold,
    "bigfleet_shard_rollup_quarantined": _RAILS.rollup_guard_min_hold,
    "bigfleet_shard_actuation_paused": _RAILS.pause_default_ttl,
    # From the age that the rule names to the age at which the session is ended.
    "bigfleet_shard_outbox_oldest_age_seconds": _SHARD.session.stall_timeout - 15,
    "bigfleet_provider_describe_quarantined": Rule().span_seconds,
    # The process ends itself by then.
    "bigfleet_coordinator_store_errors_total": 30.0,
}
_GAUGE = re.compile(r"(\w+)(?:\{[^}]*\})? > ")
_OVER_TIME = re.compile(r"max_over_time\((\w+)\[(\d+)m\]\) > 0")
_GROWN = re.compile(r'increase\((\w+)(?:\{(\w+)="(\w+)"\})?\[(\d+)m\]\) > 0')


def seconds_of(span: str) -> int:
    return int(span[:-1]) * _UNITS[span[-1]]


@pytest.mark.parametrize("alert", ALERTS)
def test_no_alert_waits_longer_than_its_condition_lasts(alert: str) -> None:
    rule = ALERTS[alert]
    waits = seconds_of(rule.get("for", "0s"))
    for metric in _GAUGE.findall(rule["expr"]):
        lasts = LASTS.get(metric)
        if lasts is not None:
            # The first scrape that sees it may be a whole interval late.
            assert waits + SCRAPE_SECONDS <= lasts or waits == 0, metric


@pytest.mark.parametrize("alert", ALERTS)
def test_what_lasts_shorter_than_two_scrapes_is_kept_in_sight(alert: str) -> None:
    expression = ALERTS[alert]["expr"]
    short = {name for name, lasts in LASTS.items() if lasts < 2 * SCRAPE_SECONDS}
    shown = {name for name in short if name in expression}
    kept = {name for name, _ in _OVER_TIME.findall(expression)}
    kept |= {name for name, _, _, _ in _GROWN.findall(expression)}
    # A stalled session is counted when it ends, in another clause of the same rule.
    kept |= {"bigfleet_shard_outbox_oldest_age_seconds"} if "stalled" in expression else set()
    assert shown <= kept


@dataclass(slots=True)
class Scraper:
    """Sees the counts once a minute, and evaluates the clauses of a rule on what it saw."""

    seen: list[tuple[Instant, Counts]] = field(default_factory=list)

    def scrape(self, ingest: Ingest, counts: Counts, at: Instant) -> None:
        ingest.measure(counts)
        self.seen.append((at, counts.copy()))

    def fires(self, expression: str, at: Instant) -> bool:
        clauses = [each.strip() for each in expression.split(" or ")]
        return any(self._over_time(each, at) or self._grown(each, at) for each in clauses)

    def _over_time(self, clause: str, at: Instant) -> bool:
        if (found := _OVER_TIME.fullmatch(clause)) is None:
            return False
        name, since = found[1].removeprefix(PREFIX), at - int(found[2]) * 60 * SECOND
        rows = [counts.gauges for when, counts in self.seen if when >= since]
        return any(value > 0 for gauges in rows for (n, _), value in gauges.items() if n == name)

    def _grown(self, clause: str, at: Instant) -> bool:
        if (found := _GROWN.fullmatch(clause)) is None:
            return False
        name, labels = found[1].removeprefix(PREFIX), {found[2]: found[3]}
        since = at - int(found[4]) * 60 * SECOND
        values = [counts.of(name, **labels) for when, counts in self.seen if when >= since]
        return bool(values) and values[-1] > values[0]


def test_a_held_rollup_that_comes_and_goes_between_two_scrapes_raises_the_alert() -> None:
    rig, scraper = Rig(), Scraper()
    rig.effects.counts.add("rollups_total", 0, result="held")
    rule = ALERTS["BigFleetRollupQuarantined"]
    assert "for" not in rule
    fired = []
    for second in range(0, 300, ROLLUP_SECONDS):
        rows = 200 if second < 70 else 2
        rig.ingest.on_rollup("shop", rollup(rows, "shop"), START + second * SECOND)
        if second % SCRAPE_SECONDS == 0:
            scraper.scrape(rig.ingest, rig.effects.counts, START + second * SECOND)
        if scraper.fires(rule["expr"], START + second * SECOND):
            fired.append(second)
    assert rig.rows() == 2, "it was held and then believed"
    assert not any(rig.ingest.quarantines())
    assert fired[0] == 120, "the first scrape after it"
    assert fired[-1] == 290, "and long enough for people to see it"
