"""Drills: a provider down for ten minutes, a fleet paused, a quota used up, an operator gone, a
dry-run. At every step everything people look at says the same, and it is true."""

from dataclasses import dataclass, field, replace

import pytest

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.cli.shard_verbs.status import demand_text, headline_of
from bigfleet.model.coordination import QuotaGrant
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.shard_views import NeedCounts, NeedQuery
from bigfleet.shard.driving.need_rows import NeedRowBytes
from bigfleet.shard.ledgers.needs import NeedSourcesTold
from bigfleet.shard.rails.pauses import PauseRequest
from bigfleet.up.lines import met_text
from bigfleet.up.reports import report_of
from bigfleet.wire.need_listings import NEED_ROW
from tests.hazards.virtual_fleet import CLOUD, bound, need
from tests.need_states.alerting import Alerting
from tests.need_states.virtual_shard import (
    ARRIVING,
    BANK,
    BLOCKED,
    MET,
    SHOP,
    SHORT,
    VirtualShard,
    idle,
    slot,
)

SERVED = need(BANK, 1, 5000)
WANTED = need(SHOP, 2, 2000)
TEN_MINUTES = 600
URGENT, ANY = "BigFleetUrgentNeedsBlocked", "BigFleetNeedsBlocked"
BREAKER = "BigFleetProviderBreakerOpen"


@dataclass(slots=True)
class OutageRig:
    fleet: VirtualShard
    alerting: Alerting = field(default_factory=Alerting)
    #: What a page is sent, from cycle to cycle.
    sent: NeedRowBytes = field(default_factory=NeedRowBytes)

    def run(self, seconds: int) -> None:
        """Looks at everything while something has just changed, and every tenth second after."""
        for second in range(seconds):
            self.fleet.run(1)
            self.fleet.state.measure()
            self.alerting.look(self.fleet.state.effects.counts, self.fleet.at)
            if second < 10 or second % 10 == 0 or second == seconds - 1:
                self.says_one_thing()

    def firing(self) -> set[str]:
        return self.alerting.firing(self.fleet.at)

    def says_one_thing(self) -> None:
        """Listing, rows that keep their bytes, counts, status, live view, metrics and replies to
        operators agree."""
        fleet = self.fleet
        ledger = fleet.state.decision_loop.ledger
        rows, counts = ledger.listing().rows, ledger.counts()
        sent = self.sent.listing(ledger, NeedQuery(), NeedSourcesTold()).rows
        assert [NEED_ROW.record(pb.NeedRow.FromString(each)) for each in sent] == list(rows)
        of_rows = {state: sum(row.state is state for row in rows) for state in NeedState}
        assert counts == NeedCounts.of(of_rows)
        status = fleet.state.status()
        assert status.need_states == counts
        gauges = {
            state: sum(
                fleet.counted("needs", state=state.label, priority_class=name)
                for name in ("critical", "service", "batch", "other")
            )
            for state in NeedState
        }
        assert gauges == of_rows
        told = {
            standing.key(cluster): (standing.state, standing.since)
            for cluster in (SHOP, BANK)
            for standing in ledger.standings(cluster).standings
        }
        assert told == {row.view.need.key: (row.state, row.since) for row in rows}
        all_met = counts.total > 0 and counts.met == counts.total
        assert (met_text(report_of(fleet.state, ())) == "all demand met") is all_met
        assert ("all" in demand_text(status)) is all_met
        for row in rows:
            held_back = row.state in (BLOCKED, SHORT)
            assert bool(row.remedy) is held_back, row.reason
            assert row.reason.text

    def state_of(self, wanted: Need) -> NeedState:
        return self.fleet.state_of(wanted)


def settled(*machines: str) -> OutageRig:
    """Bank has what it wants; what is free is what the test names."""
    fleet = VirtualShard([bound("b-1", BANK), *map(idle, machines)], {})
    fleet.report(BANK, SERVED)
    drill = OutageRig(fleet)
    drill.run(2)
    assert drill.state_of(SERVED) is MET
    return drill


def test_a_provider_is_down_for_ten_minutes_and_comes_back() -> None:
    drill = settled("m-1", "m-2", "m-3")
    fleet = drill.fleet
    fleet.report(SHOP, WANTED)
    drill.run(5)
    assert drill.state_of(WANTED) is MET
    fleet.down = True
    drill.run(30)
    assert fleet.counted("provider_breaker_open", provider=CLOUD) == 1
    assert (drill.state_of(WANTED), drill.state_of(SERVED)) == (MET, MET), "they have theirs"
    more = replace(WANTED, aggregate=WANTED.min_unit.times(3))
    fleet.report(SHOP, more)
    drill.run(2)
    row = fleet.row(more)
    assert (row.state, row.reason.code) == (BLOCKED, "rail.breaker")
    assert "UNAVAILABLE: connection refused" in row.reason.text
    assert "bigfleet status" in row.remedy
    assert drill.state_of(SERVED) is MET
    since = row.since
    drill.run(298)
    assert BREAKER in drill.firing()
    assert URGENT not in drill.firing(), "it has not been blocked for five minutes yet"
    drill.run(TEN_MINUTES - 330)
    assert fleet.row(more).since == since
    assert drill.firing() == {BREAKER, URGENT}
    assert fleet.counted("needs_oldest_seconds", state="blocked") == (fleet.at - since) / SECOND
    assert "1 met, 1 blocked" in headline_of(fleet.state.status(), fleet.at)
    fleet.down = False
    drill.run(4)
    assert drill.state_of(more) in (ARRIVING, MET)
    drill.run(6)
    assert drill.state_of(more) is MET
    assert drill.firing() == set()


def test_an_outage_that_begins_while_machines_are_on_their_way() -> None:
    drill = settled("m-1", "m-2")
    fleet = drill.fleet
    fleet.hangs = True
    fleet.report(SHOP, WANTED)
    drill.run(3)
    assert drill.state_of(WANTED) is ARRIVING
    fleet.down, fleet.hangs = True, False
    drill.run(10)
    row = fleet.row(WANTED)
    assert (row.state, row.reason.code) == (BLOCKED, "rail.breaker")
    drill.run(60)
    assert fleet.row(WANTED).since == row.since
    fleet.down = False
    drill.run(10)
    assert drill.state_of(WANTED) is MET


def test_an_outage_while_victims_drain() -> None:
    drill = settled()
    fleet, urgent = drill.fleet, need(SHOP, 1, 1_000_000)
    fleet.report(SHOP, urgent)
    fleet.hangs = True
    drill.run(2)
    assert fleet.row(urgent).reason.code == "flight.draining"
    fleet.down, fleet.hangs = True, False
    drill.run(8)
    row = fleet.row(urgent)
    assert (row.state, row.reason.code) == (BLOCKED, "rail.breaker")
    assert CLOUD in row.reason.text
    fleet.down = False
    drill.run(10)
    assert drill.state_of(urgent) is MET


def test_a_fleet_is_paused_and_resumed() -> None:
    drill = settled("m-1", "m-2")
    fleet = drill.fleet
    pauses = fleet.state.parts.pauses
    pauses.pause(PauseRequest("ada", "drill", pause_id="p-1"), fleet.at)
    fleet.report(SHOP, WANTED)
    drill.run(301)
    assert drill.state_of(WANTED) is BLOCKED
    assert drill.firing() == {URGENT}
    assert drill.state_of(SERVED) is MET
    pauses.resume("p-1", False, fleet.at)
    drill.run(5)
    assert drill.state_of(WANTED) is MET
    assert drill.firing() == set()


def test_a_quota_is_used_up_and_raised() -> None:
    drill = settled()
    fleet = drill.fleet
    fleet.shelf |= {name: slot(name) for name in ("s-1", "s-2")}
    fleet.state.parts.quotas.take([QuotaGrant(CLOUD, "", 1)], {}, fleet.at)
    fleet.report(SHOP, WANTED)
    drill.run(10)
    assert fleet.row(WANTED).reason.code == "supply.quota"
    assert drill.state_of(SERVED) is MET
    drill.run(300)
    assert drill.firing() >= {URGENT}
    fleet.state.parts.quotas.take([QuotaGrant(CLOUD, "", 3)], {}, fleet.at)
    drill.run(10)
    assert drill.state_of(WANTED) is MET


def test_an_operator_is_gone_and_comes_back() -> None:
    drill = settled("m-1", "m-2")
    fleet = drill.fleet
    fleet.report(SHOP, WANTED)
    fleet.leaves(SHOP)
    drill.run(301)
    assert fleet.row(WANTED).reason.code == "rail.no-operator"
    assert drill.firing() == {URGENT}
    fleet.report(SHOP, WANTED)
    drill.run(60)
    assert drill.state_of(WANTED) is MET
    assert drill.firing() == set()


def test_a_dry_run_ends() -> None:
    drill = settled("m-1", "m-2")
    fleet, settings = drill.fleet, drill.fleet.state.settings
    fleet.state.apply_settings(replace(settings, dry_run=True))
    fleet.report(SHOP, WANTED)
    drill.run(10)
    assert fleet.row(WANTED).reason.code == "rail.dry-run"
    fleet.state.apply_settings(settings)
    drill.run(5)
    assert drill.state_of(WANTED) is MET


def test_what_is_on_its_way_raises_no_alert() -> None:
    drill = settled("m-1", "m-2")
    drill.fleet.hangs = True
    drill.fleet.report(SHOP, WANTED)
    drill.run(320)
    assert drill.state_of(WANTED) is ARRIVING
    assert drill.firing() == set()


@pytest.mark.parametrize("alert", [URGENT, ANY, "BigFleetNeedsShort", BREAKER])
def test_the_drills_look_at_the_rules_that_are_shipped(alert: str) -> None:
    assert alert in {rule.name for rule in Alerting().rules}
