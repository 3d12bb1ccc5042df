"""What a shard and the coordinator say to each other reads as it was written."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as pb
from bigfleet.model.coordination import OfferRequest, SyncReply, SyncRequest, TransferTier
from bigfleet.model.coordinator_calls import CoordinatorInstruction, ReportReply, ShardReport
from bigfleet.model.pauses import PauseSource
from bigfleet.model.penalties import UNSPECIFIED
from bigfleet.model.requirements import Operator
from bigfleet.v1alpha1 import coordinator_pb2 as contract
from bigfleet.wire.ownership_views import ViewWriter
from bigfleet.wire.shard_reports import reply_bytes, reply_of, report_bytes, report_of
from bigfleet.wire.shard_syncs import sync_bytes, sync_of, sync_reply_bytes, sync_reply_of
from tests.coordinator_wire import generated, samples

SOME = settings(max_examples=100)


@SOME
@given(generated.reports)
def test_any_report_survives(report: ShardReport) -> None:
    assert report_of(contract.ShardReport.FromString(report_bytes(report))) == report


@SOME
@given(generated.report_replies)
def test_any_answer_to_a_report_survives(reply: ReportReply) -> None:
    assert reply_of(reply_bytes(reply)) == reply


@SOME
@given(generated.syncs)
def test_any_sync_survives(request: SyncRequest) -> None:
    assert sync_of(pb.SyncShardRequest.FromString(sync_bytes(request))) == request


@SOME
@given(generated.sync_replies)
def test_any_answer_to_a_sync_survives(reply: SyncReply) -> None:
    assert sync_reply_of(sync_reply_bytes(reply, ViewWriter())) == reply


def test_what_a_shard_still_holds_is_told_with_its_own_name() -> None:
    message = pb.SyncShardRequest.FromString(sync_bytes(samples.SYNC))
    (domain,), (default,) = message.held_domains, message.held_defaults
    assert (domain.topology_value, domain.shard_id) == ("z-a", "shard-0")
    assert (default.provider_address, default.shard_id) == ("p:9000", "shard-0")


def test_a_reservation_is_never_told_shorter_than_it_is() -> None:
    offer = OfferRequest("t1", TransferTier.IDLE, reserve_seconds=0.2)
    reply = sync_reply_of(sync_reply_bytes(SyncReply(1, offers=(offer,)), ViewWriter()))
    assert reply.offers[0].reserve_seconds == 1.0


def test_a_donor_that_keeps_nothing_is_not_taken_for_one_that_was_told_nothing() -> None:
    offer = OfferRequest("t1", TransferTier.IDLE, keep_machines=0, keep_per_mille=0)
    content = sync_reply_bytes(SyncReply(1, offers=(offer,)), ViewWriter())
    (sent,) = pb.SyncShardResponse.FromString(content).offers
    assert (sent.keep_machines, sent.keep_per_mille) == (-1, 0)
    assert sync_reply_of(content).offers == (offer,)


def test_a_coordinator_that_does_not_say_what_to_keep_means_the_defaults() -> None:
    message = newer_reply()
    message.offers[0].ClearField("keep_machines")
    message.offers[0].ClearField("keep_per_mille")
    message.transfers[0].ClearField("hold_seconds")
    older = sync_reply_of(message.SerializeToString())
    assert (older.offers[0].keep_machines, older.offers[0].keep_per_mille) == (2, 100)
    assert older.transfers[0].hold_seconds == 120


def newer_reply() -> pb.SyncShardResponse:
    return pb.SyncShardResponse.FromString(sync_reply_bytes(samples.SYNCED, ViewWriter()))


def test_offers_and_transfers_of_a_later_version_are_left_out() -> None:
    message = newer_reply()
    message.offers.add(transfer_id="t9", tier=77)
    message.transfers.add(transfer_id="t9", tier=pb.TRANSFER_TIER_IDLE, state=77)
    assert sync_reply_of(message.SerializeToString()) == samples.SYNCED


def test_a_pause_of_unknown_actions_pauses_nothing() -> None:
    message = newer_reply()
    message.pauses[0].scope.ClearField("kinds")
    message.pauses[0].scope.kinds.append(77)  # type: ignore[arg-type]
    assert sync_reply_of(message.SerializeToString()).pauses == ()


def test_a_pause_of_known_and_unknown_actions_pauses_the_known() -> None:
    message = newer_reply()
    message.pauses[0].scope.kinds.append(77)  # type: ignore[arg-type]
    message.pauses[0].source = 77  # type: ignore[assignment]
    (pause,) = sync_reply_of(message.SerializeToString()).pauses
    assert pause == replace(samples.PAUSE, source=PauseSource.COORDINATOR)


def test_numbers_of_a_later_version_in_a_report_read_as_unspecified() -> None:
    message = contract.ShardReport.FromString(report_bytes(samples.REPORT))
    message.shortfalls[0].interruption_penalty_bucket = 77  # type: ignore[assignment]
    message.shortfalls[0].requirements[0].operator = 77  # type: ignore[assignment]
    message.instruction_acks[0].outcome = 77  # type: ignore[assignment]
    report = report_of(message)
    profile = report.shortfalls[0].need.profile
    assert profile.interruption_bucket == UNSPECIFIED
    assert profile.requirements[0].operator is Operator.UNSPECIFIED
    assert report.acks[0].outcome.label == "unspecified"


def test_of_a_report_the_hundred_most_pressing_shortfalls_are_kept() -> None:
    rows = tuple(replace(samples.REPORT.shortfalls[0], age=age) for age in range(150))
    content = report_bytes(replace(samples.REPORT, shortfalls=rows))
    kept = report_of(contract.ShardReport.FromString(content)).shortfalls
    assert [row.age for row in kept] == list(range(100))


@pytest.mark.parametrize("instruction", samples.INSTRUCTIONS, ids=lambda each: each.kind)
def test_an_instruction_with_an_empty_order_keeps_its_kind(
    instruction: CoordinatorInstruction,
) -> None:
    bare = replace(
        instruction,
        topology_key="",
        topology_value="",
        machine_ids=(),
        preemptor_priority=0,
        from_shard="",
        to_shard="",
    )
    reply = reply_of(reply_bytes(ReportReply(1, True, (bare,))))
    assert reply.instructions == (bare,)
