"""Rows that clusters and providers made too heavy are left off; everything else is told."""

from dataclasses import replace
from functools import cache

from bigfleet.admin.v1alpha1 import coordinator_admin_pb2 as admin
from bigfleet.model.coordination import (
    OfferReply,
    ProviderEntry,
    QuotaUsage,
    ShortfallDetail,
    SyncReply,
    SyncRequest,
)
from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    Obeyed,
    Refused,
    ShardReport,
)
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary, ShortfallRow
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from bigfleet.wire.report_fitting import fitted_report, fitted_sync
from bigfleet.wire.shard_reports import MOST_SHORTFALL_BYTES, report_bytes, report_of
from bigfleet.wire.shard_syncs import sync_bytes, sync_of
from tests.coordclient.coordinators import SUMMARY, assign, coordinators, shard

FOUR = Resources.parse({"cpu": "4"})
#: Of the row that was seen: an In with thousands of values.
HEAVY = 180 * 1024


def row(number: int, weight: int = 10) -> ShortfallRow:
    values = [f"{number}-{n:06}" for n in range(max(1, weight // 12))]
    zones = Requirement.of("zone", Operator.IN, values)
    return ShortfallRow(Need("shop", Profile.of([zones], (), 5, 2), FOUR), FOUR, 6)


def report(**said: object) -> ShardReport:
    plain = ShardReport("shard-0", 1, 2, 3, "10.0.0.1:7780", SUMMARY)
    return replace(plain, **said)  # type: ignore[arg-type]


def read(sent: ShardReport) -> ShardReport:
    return report_of(pb.ShardReport.FromString(report_bytes(sent)))


@cache
def heavy_rows() -> tuple[ShortfallRow, ...]:
    return tuple(row(number, HEAVY) for number in range(100))


def test_a_hundred_heavy_rows_are_cut_to_what_a_coordinator_keeps() -> None:
    fitted = fitted_report(report(shortfalls=heavy_rows()))
    kept = len(fitted.message.shortfalls)
    assert 10 < kept < 100
    assert fitted.left_off == {"shortfalls": 100 - kept}
    assert fitted.message.shortfalls == heavy_rows()[:kept], "the most pressing ones stay"
    assert len(report_bytes(fitted.message)) < MOST_SHORTFALL_BYTES + 1024


def test_a_row_that_is_too_large_does_not_cost_the_others_their_place() -> None:
    rows = (row(0, 2 * MOST_SHORTFALL_BYTES), *map(row, range(1, 100)))
    fitted = fitted_report(report(shortfalls=rows))
    assert fitted.message.shortfalls == rows[1:]
    assert fitted.rows_left_off == 1


def test_a_report_that_fits_is_not_touched() -> None:
    plain = report(shortfalls=tuple(map(row, range(100))))
    assert fitted_report(plain).message == plain
    assert fitted_report(plain).left_off == {}


def test_a_coordinator_keeps_what_fits_of_a_report_that_was_not_cut() -> None:
    """Of a shard of an earlier version."""
    heard = read(report(shortfalls=heavy_rows()))
    assert 10 < len(heard.shortfalls) < 100
    assert heard.rows_left_off == 100 - len(heard.shortfalls)


def test_of_types_and_zones_the_largest_are_told() -> None:
    names = {f"type-{n}": n for n in range(20_000)}
    summary = ShardSummary(20_000, 0, names, {"z" * 2_000_000: 7, "z1": 5}, "p:9000")
    fitted = fitted_report(report(summary=summary))
    told = read(fitted.message).summary
    assert (told.total_machines, told.count_of_zone) == (20_000, {"z1": 5})
    assert len(told.count_of_instance_type) == 10_000
    assert min(told.count_of_instance_type.values()) == 10_000
    assert fitted.left_off == {"instance_types": 10_000, "zones": 1}


def test_names_that_a_coordinator_refuses_are_left_off() -> None:
    long = "c" * 300
    request = SyncRequest(
        "shard-0",
        3,
        1,
        cluster_ids=("shop", long),
        providers=(ProviderEntry("aws", "p:9000", "eu"), ProviderEntry("x", "p:1", long)),
        quota_usage=(QuotaUsage("aws", "eu", 1, 1, 1, 1), QuotaUsage("aws", long, 1, 1, 1, 1)),
        offer_replies=(OfferReply("t1", ("m-1",)), OfferReply("t2", ("m" * 2000,))),
        returnable=tuple(f"m-{n}" for n in range(100_001)),
    )
    fitted = fitted_sync(request, left_off_before=3)
    heard = sync_of_bytes(sync_bytes(fitted.message))
    assert heard.cluster_ids == ("shop",)
    assert [each.name for each in heard.providers] == ["aws"]
    assert [each.region for each in heard.quota_usage] == ["eu"]
    assert [each.transfer for each in heard.offer_replies] == ["t1"]
    assert len(heard.returnable) == 100_000
    assert sum(fitted.left_off.values()) == 5
    assert heard.rows_left_off == 8, "those of the report before it included"


def sync_of_bytes(content: bytes) -> SyncRequest:
    return sync_of(admin.SyncShardRequest.FromString(content))


async def test_a_shard_with_heavy_rows_stays_in_touch_with_its_coordinator() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.sync_reply = SyncReply(1)
        reporter.shortfalls = heavy_rows()
        details = [
            ShortfallDetail(
                each.need.profile.fingerprint, each.need.profile.requirements, FOUR, FOUR, 5, 6
            )
            for each in heavy_rows()
        ]
        reporter.sync = replace(reporter.sync, shortfalls=tuple(details))
        await reporter.client.report()
        assert reporter.counts["coordinator_reports ok"] == 1
        link = reporter.client.link()
        left_off = reporter.counts["coordinator_rows_left_off shortfalls"]
        assert link.connected
        assert link.last_error.endswith(f"were left off: {left_off} of shortfalls")
        (synced,) = leader.synced
        assert synced.rows_left_off == left_off
        assert left_off == 200 - len(leader.heard[0].shortfalls) - len(synced.shortfalls)
        reporter.shortfalls = ()
        reporter.sync = replace(reporter.sync, shortfalls=())
        await reporter.client.report()
        assert reporter.client.link().last_error == ""


async def test_acknowledgements_that_do_not_fit_come_with_the_next_report() -> None:
    def refuse(instruction: CoordinatorInstruction) -> Obeyed:
        return Refused(f"{instruction.id} " + "x" * 5_000)

    async with coordinators(1) as [leader], shard(leader.address, obey=refuse) as reporter:
        asked = [f"i-{n}" for n in range(400)]
        leader.asks(*(assign(name, n) for n, name in enumerate(asked)))
        await reporter.client.report()
        leader.asks()
        await reporter.client.report()
        first = [name for name, _, _ in leader.acks]
        assert 100 < len(first) < 400
        await reporter.client.report()
        assert first + [name for name, _, _ in leader.acks] == asked
