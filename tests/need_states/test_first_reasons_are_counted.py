"""First reasons are counted over all Needs, whatever part of them is listed; a filter by one lists
exactly the Needs that show it."""

from collections import Counter
from dataclasses import replace

import pytest

from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import NeedListing, NeedQuery, NeedRow
from bigfleet.shard.driving.need_rows import NeedRowBytes
from bigfleet.shard.ledgers import needs as ledgers
from bigfleet.shard.ledgers.needs import NeedsLedger, NeedSourcesTold
from tests.hazards.virtual_fleet import bound, need
from tests.need_states.virtual_shard import BANK, SHOP, VirtualShard, idle

BIG = Resources.parse({"cpu": "4", "memory": "64Gi"})


def ledger_of_a_crowded_fleet() -> NeedsLedger:
    """Met, arriving, and short for several reasons."""
    small = [replace(idle(f"s-{n}"), resources={"cpu": "8", "memory": "32Gi"}) for n in range(3)]
    fleet = VirtualShard([bound("m-1", SHOP), bound("m-2", SHOP), *small], {})
    too_big = (Need(BANK, Profile.of(priority=p), BIG, BIG) for p in (7, 8, 9))
    fleet.report(SHOP, need(SHOP, 2, 100))
    fleet.report(BANK, *too_big, *(need(BANK, 2, priority) for priority in (40, 50, 60)))
    fleet.run(3)
    return fleet.state.decision_loop.ledger


def code(row: NeedRow) -> str:
    return row.reason.code


def listed(ledger: NeedsLedger, **query: object) -> NeedListing:
    """As a shard answers, and as its bytes say."""
    asked = replace(NeedQuery(count_reasons=True), **query)  # type: ignore[arg-type]
    told = ledger.answer(asked)
    assert NeedRowBytes().listing(ledger, asked, NeedSourcesTold()).head == replace(told, rows=())
    return told


@pytest.mark.parametrize("in_full", [500, 2, 0])
def test_every_need_counts_by_the_reason_it_shows(
    monkeypatch: pytest.MonkeyPatch, in_full: int
) -> None:
    monkeypatch.setattr(ledgers, "MOST_IN_FULL", in_full)
    ledger = ledger_of_a_crowded_fleet()
    whole = listed(ledger)
    shown = Counter(map(code, whole.rows))
    assert {each.code: each.needs for each in whole.reasons} == shown
    assert len(shown) > 2
    assert listed(ledger, limit=1).reasons == whole.reasons
    for wanted, needs in shown.items():
        found = listed(ledger, reason=wanted)
        assert found.rows == tuple(row for row in whole.rows if code(row) == wanted)
        assert found.matching == needs
        assert found.reasons == whole.reasons
        assert found.counts == whole.counts


def test_reasons_are_of_the_cluster_that_is_asked_for_and_only_where_they_are_wanted() -> None:
    ledger = ledger_of_a_crowded_fleet()
    told = listed(ledger, cluster=SHOP)
    assert [(each.code, each.needs) for each in told.reasons] == [(code(told.rows[0]), 1)]
    assert ledger.answer(NeedQuery()).reasons == ()
    assert listed(ledger, reason="no.such").rows == ()
