"""A Need that did not change is sent as the same bytes; what did is sent as it is now."""

from collections.abc import Mapping

import pytest

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.needs import Need
from bigfleet.model.shard_views import NeedQuery
from bigfleet.shard.driving import need_rows
from bigfleet.shard.driving.need_rows import NeedRowBytes
from bigfleet.shard.ledgers.needs import NeedSourcesTold
from bigfleet.wire.need_listings import NEED_ROW
from tests.hazards.virtual_fleet import bound, need
from tests.need_states.virtual_shard import BANK, SHOP, VirtualShard, idle

GANG = need(SHOP, 2, 3000, gang=True)
SERVED, WANTED, HOPELESS = need(BANK, 1, 5000), need(SHOP, 1, 2000), need(BANK, 9, 1000)


def fleet_with(*needs: Need) -> VirtualShard:
    fleet = VirtualShard([bound("b-1", BANK), *map(idle, ("m-1", "m-2", "m-3"))], {})
    for cluster in (SHOP, BANK):
        fleet.report(cluster, *(each for each in needs if each.cluster == cluster))
    fleet.run(6)
    return fleet


def sent(
    fleet: VirtualShard,
    rows: NeedRowBytes,
    sources: NeedSourcesTold | None = None,
    query: NeedQuery | None = None,
) -> Mapping[str, bytes]:
    """By id of the Need, as it was asked for in this cycle; each is what the ledger says."""
    ledger, told = fleet.state.decision_loop.ledger, sources or NeedSourcesTold()
    asked = query or NeedQuery()
    found = rows.listing(ledger, asked, told)
    listed = ledger.listing(asked.cluster, asked.limit, asked.states, asked.id_prefix, told)
    read = [NEED_ROW.record(pb.NeedRow.FromString(each)) for each in found.rows]
    assert read == list(listed.rows)
    assert (found.head.counts, found.head.matching) == (listed.counts, listed.matching)
    ids = [row.view.need.key.need_id for row in read]
    return dict(zip(ids, found.rows, strict=True))


def test_a_need_that_is_met_and_a_gang_keep_their_bytes() -> None:
    fleet, rows = fleet_with(SERVED, GANG), NeedRowBytes()
    before = sent(fleet, rows)
    fleet.run(3)
    after = sent(fleet, rows)
    assert all(after[name] is before[name] for name in (SERVED.key.need_id, GANG.key.need_id))


def test_a_need_that_waits_is_told_anew_in_every_cycle() -> None:
    fleet, rows = fleet_with(SERVED, HOPELESS), NeedRowBytes()
    before = sent(fleet, rows)
    fleet.run(1)
    after = sent(fleet, rows)
    assert after[HOPELESS.key.need_id] != before[HOPELESS.key.need_id]


def test_a_need_that_asks_for_more_is_told_as_it_is_now() -> None:
    fleet, rows = fleet_with(SERVED, WANTED), NeedRowBytes()
    before = sent(fleet, rows)
    fleet.report(SHOP, need(SHOP, 2, 2000))
    fleet.run(5)
    after = sent(fleet, rows)
    assert after[WANTED.key.need_id] != before[WANTED.key.need_id]


def test_a_machine_that_is_taken_away_is_told() -> None:
    fleet, rows = fleet_with(SERVED, WANTED), NeedRowBytes()
    sent(fleet, rows)
    fleet.tells(BANK, unusable=("b-1",))
    fleet.run(1)
    sent(fleet, rows)


def test_what_asks_for_a_need_is_told_as_it_is_now() -> None:
    fleet, rows = fleet_with(SERVED), NeedRowBytes()
    key = SERVED.profile.fingerprint, SERVED.group
    for sources in (("pod",), ("buffer", "pod"), ()):
        told = NeedSourcesTold({BANK: {key: sources}})
        [row] = sent(fleet, rows, told).values()
        assert tuple(pb.NeedRow.FromString(row).sources) == sources


def test_filters_and_limit_choose_as_the_ledger_does() -> None:
    fleet, rows = fleet_with(SERVED, WANTED, GANG, HOPELESS), NeedRowBytes()
    assert len(sent(fleet, rows, query=NeedQuery(BANK))) == 2
    assert len(sent(fleet, rows, query=NeedQuery(limit=3))) == 3
    only = NeedSourcesTold({}, ("buffer",))
    assert sent(fleet, rows, only) == {}
    prefix = SERVED.key.need_id[:8]
    assert list(sent(fleet, rows, query=NeedQuery(id_prefix=prefix))) == [SERVED.key.need_id]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(need_rows, "MOST_KEPT", 0)
    fleet, rows = fleet_with(SERVED, WANTED), NeedRowBytes()
    before = sent(fleet, rows)
    after = sent(fleet, rows)
    assert before == after
    assert all(after[name] is not before[name] for name in after)


def test_before_the_first_cycle_nothing_is_listed() -> None:
    fleet = VirtualShard([], {})
    assert sent(fleet, NeedRowBytes()) == {}
