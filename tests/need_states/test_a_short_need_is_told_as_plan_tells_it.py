"""Why a live Need is short is said with the words `plan` has for it on a dump of the same shard."""

from dataclasses import replace

from bigfleet.explain.needs import reasons_of_need
from bigfleet.explain.situation import Situation
from bigfleet.fleetfile import load_fleet
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import NeedRow
from bigfleet.plan.cycles import planned_cycles
from bigfleet.shard.ledgers import needs as ledger
from tests.hazards.virtual_fleet import bound, need
from tests.need_states.virtual_shard import BANK, SHOP, SHORT, VirtualShard, idle
from tests.plan.live_dumps import dump_of

BIG = Resources.parse({"cpu": "4", "memory": "64Gi"})


def small(number: int) -> MachineRecord:
    return replace(idle(f"m-{number}"), resources={"cpu": "8", "memory": "32Gi"})


def told(row: NeedRow) -> list[str]:
    return [row.reason.text, *(each.text for each in row.further)]


def planned(fleet: VirtualShard, wanted: Need) -> list[str]:
    """What `plan` says of the Need on a dump of this very cycle."""
    cycle = next(
        planned_cycles(load_fleet(dump_of(fleet.state), "-"), workers=1, clock=lambda: 0.0)
    )
    situation = Situation.of(cycle.fleet, cycle.decision, cycle.name)
    verdict_of = {verdict.need.key: verdict for verdict in cycle.decision.verdicts}
    return [reason.text for reason in reasons_of_need(situation, verdict_of[wanted.key])]


def test_machines_that_are_too_small_are_counted() -> None:
    fleet = VirtualShard([small(number) for number in range(7)], {})
    wanted = Need(SHOP, Profile.of(priority=10), BIG, BIG)
    fleet.report(SHOP, wanted)
    fleet.run(2)
    row = fleet.row(wanted)
    assert row.state is SHORT
    assert row.reason.text == (
        "7 machines match but are too small: memory 32Gi allocatable, 64Gi needed (m-0)"
    )
    assert told(row) == planned(fleet, wanted)


def test_what_others_hold_is_told_with_their_names() -> None:
    fleet = VirtualShard([bound("m-1", SHOP), bound("m-2", SHOP)], {})
    first, second = need(SHOP, 2, 100), need(BANK, 1, 50)
    fleet.report(SHOP, first)
    fleet.report(BANK, second)
    fleet.run(3)
    row = fleet.row(second)
    assert row.reason.text == (
        f"2 machines that fit are held by need/shop/{first.key.need_id} (priority 100)"
    )
    assert len(told(row)) == 2
    assert told(row) == planned(fleet, second)


def test_a_gang_learns_what_its_racks_offer() -> None:
    fleet = VirtualShard(
        [bound("m-1", "", "r1"), bound("m-2", "", "r2"), bound("m-3", "", "r2")], {}
    )
    gang = need(SHOP, 3, 10, gang=True)
    fleet.report(SHOP, gang)
    fleet.run(2)
    row = fleet.row(gang)
    assert "r2 offers cpu 16 of cpu 24; next best r1 with cpu 8" in row.reason.text
    assert told(row) == planned(fleet, gang)


def test_of_very_many_short_needs_the_first_ones_are_told_in_full() -> None:
    fleet = VirtualShard([idle("m-1")], {})
    many = [need(SHOP, 1, priority) for priority in range(1, ledger.MOST_IN_FULL + 20)]
    fleet.report(SHOP, *many)
    fleet.run(1)
    rows = [row for row in fleet.state.decision_loop.ledger.listing().rows if row.state is SHORT]
    assert len(rows) > ledger.MOST_IN_FULL
    brief = "everything that fits serves Needs of equal or higher precedence"
    assert [row.reason.text == brief for row in rows].count(False) == ledger.MOST_IN_FULL
    assert rows[-1].reason.text == brief, "the lowest priority"
