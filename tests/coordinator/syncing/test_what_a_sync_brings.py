"""Who may sync, what is remembered of it, and what a shard is told."""

from dataclasses import replace

import pytest

from bigfleet.coordinator.membership import domains, shard_sync
from bigfleet.coordinator.tables import OverrideRow, TransferRow
from bigfleet.model.coordination import (
    OfferingBackoff,
    OfferReply,
    ShortfallDetail,
    SyncReply,
    SyncRequest,
    Transfer,
    TransferState,
    TransferTier,
)
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordination_model import ModelFleet, ModelMachine, ModelShard


def sync(fleet: ModelFleet, request: SyncRequest) -> SyncReply:
    return shard_sync.finish_sync(fleet.book, request, fleet.do(shard_sync.on_sync, request))


def short_of(shard: ModelShard, cycle: int, *fingerprints: str) -> SyncRequest:
    rows = tuple(ShortfallDetail(name) for name in fingerprints)
    return replace(shard.sync_request(), cycle=cycle, shortfalls=rows)


# -- who may sync --------------------------------------------------------------------------------


def test_a_shard_that_has_not_reported_is_told_to_do_so_first() -> None:
    fleet = ModelFleet()
    with pytest.raises(Rejected, match="call ReportShard first") as caught:
        fleet.sync(fleet.join("a", "p:1"))
    assert caught.value.code is Code.NOT_FOUND


def test_an_older_life_is_turned_away() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    old = shard.sync_request()
    shard.crash()
    fleet.report(shard)
    with pytest.raises(Rejected, match="shard_epoch 1 of a is over") as caught:
        sync(fleet, old)
    assert caught.value.code is Code.ABORTED


def test_a_life_that_has_not_reported_is_turned_away_too() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    shard.crash()
    with pytest.raises(Rejected, match="shard_epoch 2 of a has not reported yet") as caught:
        fleet.sync(shard)
    assert caught.value.code is Code.ABORTED


# -- views ---------------------------------------------------------------------------------------


def test_a_view_comes_once_and_again_when_something_changed() -> None:
    fleet = ModelFleet()
    shard = fleet.join("a", "p:1")
    fleet.report(shard)
    first = fleet.sync(shard).ownership
    assert first is not None
    assert first.default_owners == {"p:1": "a"}
    assert fleet.sync(shard).ownership is None
    fleet.do(domains.assign, "zone", "z1", "a")
    second = fleet.sync(shard).ownership
    assert second is not None
    assert second.domains == {("zone", "z1"): "a"}
    assert second.revision > first.revision


def test_a_hand_over_that_goes_on_is_not_news() -> None:
    fleet = ModelFleet([ModelMachine("m", "p:1", {"zone": "z1"}, occupied=True)])
    for name in ("a", "b", "c"):
        fleet.joined(name, "p:1", f"{name}:1")
    fleet.do(domains.assign, "zone", "z1", "c")
    fleet.rounds(2)
    revisions = {shard.ownership.revision for shard in fleet.alive()}
    fleet.rounds(3)
    row = fleet.book.tables.domains.get("zone", "z1")
    assert row is not None
    assert row.holders == ("a",)
    assert {shard.ownership.revision for shard in fleet.alive()} == revisions


def test_rows_of_machines_are_told_to_everybody_who_has_their_provider() -> None:
    """Not only to those between whom a machine moved: the owner of its zone may change."""
    fleet = ModelFleet()
    shards = [fleet.joined(name, "p:1") for name in ("a", "b", "c")]
    other = fleet.joined("d", "q:1")
    row = OverrideRow("m", "b", "a", "t1", "p:1", 0)
    fleet.do(lambda book, draft: (draft.overrides.put(row), draft.new_revision()))
    fleet.rounds(1)
    for shard in shards:
        assert shard.ownership.view is not None
        assert list(shard.ownership.view.overrides) == ["m"]
    assert other.ownership.view is not None
    assert list(other.ownership.view.overrides) == []


def test_a_provider_that_is_attached_later_brings_its_rows_with_it() -> None:
    fleet = ModelFleet()
    fleet.joined("a", "p:1")
    late = fleet.joined("b", "q:1")
    row = OverrideRow("m", "a", "a", "t1", "p:1", 0)
    fleet.do(lambda book, draft: (draft.overrides.put(row), draft.new_revision()))
    late.providers = ("q:1", "p:1")
    fleet.round(late)
    assert late.ownership.view is not None
    assert list(late.ownership.view.overrides) == ["m"]
    assert late.ownership.covered == {"q:1", "p:1"}


def test_providers_are_what_the_report_and_the_sync_name_together() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1", "q:1")
    row = fleet.book.shard("a")
    assert row is not None
    assert row.providers == ("p:1", "q:1")
    fleet.coordinator.fail_over()
    before = dict(fleet.coordinator.rows)
    fleet.round(shard)
    assert fleet.coordinator.rows == before
    shard.providers = ("q:1",)
    fleet.round(shard)
    row = fleet.book.shard("a")
    assert row is not None
    assert row.providers == ("q:1",)


# -- what is remembered --------------------------------------------------------------------------


def test_a_shortfall_lasts_when_another_cycle_finds_it_again() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    streaks = fleet.book.memory("a").streaks
    for cycle, names, expected in (
        (5, ("x",), {"x": 1}),
        (5, ("x", "y"), {"x": 1, "y": 1}),
        (6, ("x",), {"x": 2}),
        (7, (), {}),
        (8, ("x",), {"x": 1}),
    ):
        sync(fleet, short_of(shard, cycle, *names))
        streaks = fleet.book.memory("a").streaks
        assert dict(streaks) == expected


def test_a_call_that_was_under_way_for_long_does_not_replace_a_newer_one() -> None:
    fleet = ModelFleet()
    shard = fleet.joined("a", "p:1")
    late = short_of(shard, 5, "x")
    sync(fleet, short_of(shard, 6, "y"))
    sync(fleet, late)
    assert dict(fleet.book.memory("a").streaks) == {"y": 1}


def test_what_others_found_sold_out_is_told_where_they_have_a_provider_in_common() -> None:
    fleet = ModelFleet()
    a, b = fleet.joined("a", "p:1"), fleet.joined("b", "p:1")
    stranger = fleet.joined("c", "q:1")
    soon, later = fleet.now + SECOND, fleet.now + 9 * SECOND
    short = OfferingBackoff("std-8/eu", "stockout", 1, soon)
    long = OfferingBackoff("std-8/eu", "stockout", 2, later)
    over = OfferingBackoff("big/eu", "stockout", 1, fleet.now)
    sync(fleet, replace(a.sync_request(), backoffs=(short, over)))
    assert sync(fleet, b.sync_request()).backoffs == (short,)
    d = fleet.joined("d", "p:1")
    sync(fleet, replace(d.sync_request(), backoffs=(long,)))
    assert sync(fleet, b.sync_request()).backoffs == (long,)
    assert sync(fleet, stranger.sync_request()).backoffs == ()
    assert sync(fleet, d.sync_request()).backoffs == (short,)


# -- how soon again ------------------------------------------------------------------------------


def test_no_shard_is_asked_back_while_nothing_waits() -> None:
    fleet = ModelFleet()
    assert fleet.joined("a", "p:1").next_sync_millis == 0


def test_a_shard_that_is_told_something_is_asked_back_soon_and_then_less_and_less() -> None:
    fleet = ModelFleet([ModelMachine("m", "p:1", {"zone": "z1"}, occupied=True)])
    a = fleet.joined("a", "p:1")
    fleet.joined("b", "p:1")
    fleet.do(domains.assign, "zone", "z1", "b")
    waits = []
    for seconds in (0, 0.5, 3.5, 16, 20):
        fleet.wait(seconds)
        fleet.round(a)
        waits.append(a.next_sync_millis)
    assert waits == [200, 200, 1000, 5000, 0]


def test_one_that_gave_an_answer_is_told_at_once_what_to_do_about_it() -> None:
    fleet = ModelFleet([ModelMachine("m", "p:1", {"zone": "z1"})])
    a, b = fleet.joined("a", "p:1"), fleet.joined("b", "p:1")
    sync(fleet, replace(b.sync_request(), shortfalls=(ShortfallDetail("web"),)))
    offered = Transfer(
        *("7", TransferTier.IDLE, "a", "b", TransferState.OFFERED),
        fingerprint="web",
        updated_at=fleet.now,
    )
    fleet.do(lambda book, draft: draft.transfers.put(TransferRow(offered, "p:1", most=1)))
    answered = replace(a.sync_request(), offer_replies=(OfferReply("7", ("m",)),))
    assert sync(fleet, answered).next_sync_millis == 20
    # It is told with the next report; after that it takes the time it takes.
    fleet.report(a)
    assert sync(fleet, a.sync_request()).next_sync_millis == 200


def test_a_long_queue_is_worked_off_without_a_pause() -> None:
    fleet = ModelFleet()
    a = fleet.joined("a", "p:1")
    for number in range(500):
        fleet.do(domains.assign, "rack", f"r{number}", "a")
    for _ in range(7):
        fleet.wait(60)
        fleet.round(a)
        assert a.next_sync_millis == 200


# -- marks of released machines ------------------------------------------------------------------


def ended(fleet: ModelFleet, donor: ModelShard, state: TransferState) -> TransferState:
    """What the donor is told of a transfer whose mark it still has."""
    moved = Transfer("7", TransferTier.IDLE, "a", "b", state, ("m",), updated_at=fleet.now)
    fleet.do(lambda book, draft: draft.transfers.put(TransferRow(moved, "p:1")))
    donor.ownership = donor.ownership.releasing(["m"], "7")
    (told,) = fleet.sync(donor).transfers
    return told.state


def with_row(transfer: str) -> tuple[ModelFleet, ModelShard]:
    fleet = ModelFleet()
    donor = fleet.joined("a", "p:1")
    fleet.joined("b", "p:1")
    row = OverrideRow("m", "b", "a", transfer, "p:1", 0)
    fleet.do(lambda book, draft: (draft.overrides.put(row), draft.new_revision()))
    return fleet, donor


def test_a_mark_whose_row_the_view_shows_ends_with_the_view() -> None:
    fleet, donor = with_row("7")
    assert ended(fleet, donor, TransferState.DONE) is TransferState.DONE
    assert donor.ownership.released == {}


def test_a_mark_whose_row_was_overwritten_unseen_is_over_all_the_same() -> None:
    fleet, donor = with_row("8")
    assert ended(fleet, donor, TransferState.DONE) is TransferState.CANCELLED


def test_a_mark_of_an_open_transfer_stays() -> None:
    fleet, donor = with_row("6")
    assert ended(fleet, donor, TransferState.RELEASING) is TransferState.RELEASING
    assert donor.ownership.released == {"m": "7"}
