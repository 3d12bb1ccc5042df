"""Met, arriving, blocked, short: what each means, since when, and what lifts it."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind, UnmetReason
from bigfleet.model.cluster_reports import StuckNeed
from bigfleet.model.coordination import QuotaGrant
from bigfleet.model.needs import MARGIN_GROUP
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseScope
from bigfleet.model.provider_calls import Code
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_views import NeedCounts
from bigfleet.shard.rails.pauses import PauseRequest
from bigfleet.shard.settings import DeadlineSettings, ShardSettings
from tests.hazards.virtual_fleet import CLOUD, bound, need
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

WEB = need(SHOP, 2, 1000)


def test_a_need_arrives_and_is_then_met() -> None:
    fleet = VirtualShard([idle("m-1"), idle("m-2")], {})
    fleet.report(SHOP, WEB)
    fleet.run(1)
    ordered = fleet.row(WEB)
    assert (ordered.state, ordered.reason.code, ordered.arriving) == (ARRIVING, "flight.ordered", 2)
    assert ordered.since == fleet.at
    assert ordered.remedy == "", "nothing has to be done"
    fleet.run(3)
    met = fleet.row(WEB)
    assert (met.state, met.reason.text, met.remedy) == (MET, "served by 2 machines", "")
    assert met.since > ordered.since
    since = met.since
    fleet.run(5)
    assert fleet.row(WEB).since == since, "kept while the state stays"


def test_a_need_without_supply_is_short_and_keeps_its_wire_reason() -> None:
    fleet = VirtualShard([idle("m-1")], {})
    fleet.report(SHOP, WEB)
    fleet.run(4)
    row = fleet.row(WEB)
    assert (row.state, row.view.unmet_reason) == (SHORT, UnmetReason.PRIORITY_STARVED)
    assert row.reason.code == "preempt.none-lower", "as plan says it"
    assert "add machines" in row.remedy
    assert fleet.state.decision_loop.ledger.counts() == NeedCounts(short=1)


def test_a_pause_is_named_with_who_since_when_and_the_command_that_lifts_it() -> None:
    fleet = VirtualShard([idle("m-1"), idle("m-2"), bound("m-3", BANK)], {})
    served = need(BANK, 1, 500)
    pauses = fleet.state.parts.pauses
    pauses.pause(PauseRequest("ada", "release day", pause_id="p-17"), fleet.at)
    fleet.report(SHOP, WEB)
    fleet.report(BANK, served)
    fleet.run(3)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "rail.paused")
    assert row.reason.text == "paused by ada since 2023-11-14T22:13:20Z: release day"
    assert row.remedy == "bigfleet resume p-17 --reason WHY"
    assert fleet.state_of(served) is MET, "what runs is not touched by a pause"
    pauses.resume("p-17", False, fleet.at)
    fleet.run(3)
    assert fleet.state_of(WEB) is MET


def test_a_pause_of_another_cluster_blocks_no_other_cluster() -> None:
    fleet = VirtualShard([idle("m-1"), idle("m-2")], {})
    scope = PauseScope(cluster_ids=(BANK,))
    fleet.state.parts.pauses.pause(PauseRequest("ada", "move", scope), fleet.at)
    fleet.report(SHOP, WEB)
    fleet.run(1)
    assert fleet.state_of(WEB) is ARRIVING


def test_a_need_that_waits_for_victims_arrives_unless_preemption_is_paused() -> None:
    fleet = VirtualShard([bound("m-1", BANK)], {"m-1": 5})
    low, high = need(BANK, 1, 100), need(SHOP, 1, 1_000_000)
    scope = PauseScope(kinds=(ActionKind.PREEMPT,))
    fleet.state.parts.pauses.pause(PauseRequest("ada", "no victims", scope, pause_id="p"), fleet.at)
    fleet.report(BANK, low)
    fleet.report(SHOP, high)
    fleet.run(2)
    held = fleet.row(high)
    assert (held.state, held.remedy) == (BLOCKED, "bigfleet resume p --reason WHY")
    fleet.state.parts.pauses.resume("p", False, fleet.at)
    fleet.run(2)
    assert (fleet.row(high).state, fleet.row(high).reason.code) == (ARRIVING, "flight.draining")
    assert fleet.state_of(low) is SHORT, "its only machine goes to a higher Need"
    fleet.run(10)
    assert fleet.state_of(high) is MET


def test_dry_run_blocks_everything_that_is_only_planned() -> None:
    fleet = VirtualShard([idle("m-1"), idle("m-2")], {}, ShardSettings(dry_run=True))
    fleet.report(SHOP, WEB)
    fleet.run(3)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "rail.dry-run")
    assert "dry_run: false" in row.remedy
    assert fleet.age(WEB) == 2, "since the first cycle that saw it"


def test_an_absent_operator_blocks_what_must_be_bootstrapped() -> None:
    fleet = VirtualShard([bound("m-1", SHOP), idle("m-2")], {})
    fleet.report(SHOP, WEB)
    fleet.run(4)
    assert fleet.state_of(WEB) is MET
    fleet.leaves(SHOP)
    fleet.run(2)
    assert fleet.state_of(WEB) is MET, "it has what it asked for, connected or not"
    del fleet.shelf["m-2"]
    fleet.shelf["m-3"] = idle("m-3")
    fleet.run(5)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "rail.no-operator")
    assert f"since {row.reason.facts['since']}" in row.reason.text
    assert "bigfleet clusters show shop" in row.remedy
    since = row.since
    fleet.run(60)
    assert fleet.row(WEB).since == since, "tries that fail at once do not flap"
    fleet.report(SHOP, WEB)
    fleet.run(15)
    assert fleet.state_of(WEB) is MET


def test_a_quota_that_is_used_up_is_named_and_priority_is_not_blamed() -> None:
    higher = need(BANK, 1, 5000)
    fleet = VirtualShard([bound("m-1", BANK), slot("s-1"), slot("s-2")], {})
    fleet.state.parts.quotas.take([QuotaGrant(CLOUD, "", 1)], {}, fleet.at)
    fleet.report(BANK, higher)
    fleet.report(SHOP, WEB)
    fleet.run(3)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "supply.quota")
    assert "1 of the 1 machine granted" in row.reason.text
    assert row.remedy.startswith(f"bigfleet quotas set --provider {CLOUD} --region '' --total")
    assert row.view.unmet_reason is UnmetReason.NO_MATCHING_SUPPLY
    assert fleet.state_of(higher) is MET


def test_a_quota_whose_slots_would_not_be_enough_leaves_the_need_short() -> None:
    wanted = need(SHOP, 5, 1000)
    fleet = VirtualShard([slot("s-1"), slot("s-2")], {})
    fleet.state.parts.quotas.take([QuotaGrant(CLOUD, "", 0)], {}, fleet.at)
    fleet.report(SHOP, wanted)
    fleet.run(2)
    assert fleet.state_of(wanted) is SHORT


def test_a_gang_is_blocked_only_where_one_domain_would_hold_it() -> None:
    gang = need(SHOP, 2, 1000, gang=True)
    apart = [replace(slot("s-1"), labels={}), replace(slot("s-2"), labels={})]
    racks = [replace(each, labels={"topology.bigfleet/rack": "r1"}) for each in apart]
    for slots, state in ((racks, BLOCKED), (apart, SHORT)):
        fleet = VirtualShard(slots, {})
        fleet.state.parts.quotas.take([QuotaGrant(CLOUD, "", 0)], {}, fleet.at)
        fleet.report(SHOP, gang)
        fleet.run(2)
        assert fleet.state_of(gang) is state


def test_an_offering_in_back_off_is_named_with_the_command_that_resets_it() -> None:
    fleet = VirtualShard([slot("s-1"), slot("s-2")], {})
    fleet.refusal, fleet.refusal_code = "stockout: none left", Code.RESOURCE_EXHAUSTED
    fleet.report(SHOP, WEB)
    fleet.run(20)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "supply.backoff")
    name = f"{CLOUD}/std-8/a/OnDemand"
    assert row.remedy == f"bigfleet reports offerings --reset {name} --reason WHY"
    assert "stockout: none left" in row.reason.text


def test_a_machine_that_does_not_come_blocks_its_need_at_its_deadline() -> None:
    deadlines = replace(DeadlineSettings(), creating=Seconds(60.0))
    fleet = VirtualShard([slot("s-1"), slot("s-2")], {}, ShardSettings(deadlines=deadlines))
    fleet.hangs = True
    fleet.report(SHOP, WEB)
    fleet.run(55)
    assert fleet.state_of(WEB) is ARRIVING
    assert fleet.row(WEB).reason.code == "flight.creating"
    fleet.run(15)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "flight.failing")
    assert "timeout_creating" in row.reason.text


def test_what_usually_takes_seconds_is_not_waited_for_until_the_deadline() -> None:
    fleet = VirtualShard([slot(f"s-{n}") for n in range(26)], {})
    settled = need(BANK, 24, 1000)
    fleet.report(BANK, settled)
    fleet.run(20)
    assert fleet.state_of(settled) is MET
    fleet.hangs = True
    fleet.report(SHOP, WEB)
    fleet.run(20)
    assert fleet.state_of(WEB) is ARRIVING
    fleet.run(20)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "flight.stalled")
    assert row.remedy.startswith("bigfleet machines story s-")
    fleet.hangs = False
    fleet.run(5)
    assert fleet.state_of(WEB) is MET


def test_nodes_that_are_not_usable_yet_are_still_arriving() -> None:
    fleet = VirtualShard([bound("m-1", SHOP), bound("m-2", SHOP), bound("m-3", BANK)], {})
    bank = need(BANK, 1, 100)
    fleet.report(SHOP, WEB)
    fleet.report(BANK, bank)
    fleet.run(1)
    fleet.tells(SHOP, unusable=("m-2", "m-3", "nobody"))
    fleet.run(1)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code, row.arriving) == (ARRIVING, "flight.joining", 1)
    assert fleet.state_of(bank) is MET, "a cluster speaks of its own machines only"
    fleet.run(31)
    assert fleet.state_of(WEB) is MET, "a report that is overdue says nothing"


def test_stuck_pods_keep_a_need_from_being_met() -> None:
    fleet = VirtualShard([bound("m-1", SHOP), bound("m-2", SHOP)], {})
    fleet.report(SHOP, WEB)
    fleet.run(1)
    fleet.tells(SHOP, stuck=(StuckNeed(WEB.profile.fingerprint, "", 3),))
    fleet.run(1)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code, row.stuck_pods) == (BLOCKED, "pods.stuck", 3)
    assert row.remedy == "bigfleet clusters show shop"
    assert fleet.state.decision_loop.ledger.stuck_pods(SHOP) == 3
    fleet.tells(SHOP)
    fleet.run(1)
    assert fleet.state_of(WEB) is MET


@pytest.mark.parametrize("group", [MARGIN_GROUP, "margin:large-cpu", "margin:gang:cpu=4"])
def test_a_margin_is_short_only_while_a_pod_waits(group: str) -> None:
    margin = replace(need(SHOP, 1, 1000), group=group)
    fleet = VirtualShard([bound("m-1", SHOP), bound("m-2", SHOP)], {})
    fleet.report(SHOP, WEB, margin)
    fleet.run(1)
    assert fleet.state_of(margin) is SHORT, "no report has said that no pod waits"
    fleet.tells(SHOP)
    fleet.run(1)
    assert fleet.state_of(margin) is MET
    fleet.tells(SHOP, stuck=(StuckNeed(WEB.profile.fingerprint, "", 1),))
    fleet.run(1)
    assert (fleet.state_of(margin), fleet.state_of(WEB)) == (SHORT, BLOCKED)
    fleet.shelf["m-3"] = idle("m-3")
    fleet.run(2)
    assert (fleet.state_of(margin), fleet.row(WEB).reason.code) == (ARRIVING, "pods.margin")


def test_actions_that_keep_failing_are_named_with_the_last_one() -> None:
    fleet = VirtualShard([idle(f"m-{n}") for n in range(6)], {})
    fleet.refusal = "no permission to configure"
    fleet.report(SHOP, WEB)
    fleet.run(4)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "flight.failing")
    assert "no permission to configure" in row.reason.text
    assert row.remedy == f"bigfleet machines story {row.reason.facts['machine']}"
    fleet.report(SHOP)
    fleet.run(1)
    assert len(fleet.state.parts.failing) == 0, "forgotten with the Need"


def test_an_operator_that_has_no_blob_for_a_profile_is_where_to_look() -> None:
    fleet = VirtualShard([idle("m-1"), idle("m-2")], {})
    fleet.blobless = True
    fleet.report(SHOP, WEB)
    fleet.run(3)
    row = fleet.row(WEB)
    assert (row.state, row.reason.code) == (BLOCKED, "rail.backoff")
    assert "no template" in row.reason.text
    assert row.remedy == "bigfleet clusters show shop"


def test_what_is_kept_is_as_large_as_the_demand() -> None:
    fleet = VirtualShard([idle("m-1")], {})
    fleet.report(SHOP, *(need(SHOP, 1, priority) for priority in range(1, 10)))
    fleet.run(1)
    assert fleet.state.dump()["needStates"] == 9
    fleet.report(SHOP, WEB)
    fleet.run(1)
    assert fleet.state.dump()["needStates"] == 1


def test_since_outlives_needs_that_come_and_go_beside_it() -> None:
    fleet = VirtualShard([], {})
    fleet.report(SHOP, WEB)
    fleet.run(1)
    since = fleet.row(WEB).since
    for priority in range(1, 30):
        fleet.report(SHOP, need(SHOP, 1, priority), WEB)
        fleet.run(1)
        assert fleet.row(WEB).since == since
    assert fleet.at - since == 29 * SECOND


@pytest.mark.parametrize("cluster", [SHOP, BANK])
def test_counts_are_of_a_cluster_or_of_all(cluster: str) -> None:
    fleet = VirtualShard([bound("m-1", SHOP)], {})
    fleet.report(SHOP, need(SHOP, 1, 10))
    fleet.report(BANK, need(BANK, 1, 5))
    fleet.run(1)
    ledger = fleet.state.decision_loop.ledger
    assert ledger.counts() == NeedCounts(met=1, short=1)
    assert ledger.counts(cluster).total == 1
    [row] = ledger.listing(states=(SHORT,)).rows
    assert row.view.need.cluster == BANK
