"""Cuts a shard's report and sync to what a coordinator reads, and counts what was left off.

Clusters and providers choose how long names and lists are, so a hundred rows may weigh more than a
message. A report that is refused for its size is refused for ever, and with it everything else it
says: so rows are left off, the most pressing ones last, and one that is too large by itself does
not cost the others their place. What a shard persisted about its machines (`held_...`) is never
cut: a coordinator that merges would take what is missing for given up.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from bigfleet.model.coordination import OfferReply, ProviderEntry, QuotaUsage, SyncRequest
from bigfleet.model.coordinator_calls import ShardReport
from bigfleet.model.shard_views import ShardSummary
from bigfleet.wire.audits import LONGEST_NAME
from bigfleet.wire.shard_reports import (
    MOST_ACKS,
    MOST_COUNTED,
    MOST_SHORTFALL_BYTES,
    MOST_SHORTFALLS,
    ack_row_bytes,
    shortfall_row_bytes,
)
from bigfleet.wire.shard_syncs import LONGEST_ID, MOST_OFFERED, MOST_ROWS
from bigfleet.wire.sync_records import BACKOFF, OFFER_REPLY, SHORTFALL

T = TypeVar("T")

MIB = 1024 * 1024
#: Bytes of single lists; together they leave a sync the half of its 64 MiB for what is never cut.
_MOST_ACK_BYTES = MIB
_MOST_COUNTED_BYTES = MIB
_MOST_NAME_BYTES = 4 * MIB
_MOST_OFFER_BYTES = 8 * MIB
_MOST_RETURNABLE_BYTES = 8 * MIB
_MOST_BACKOFF_BYTES = 2 * MIB
#: Rows, and characters of fingerprints, that are fitted in a moment.
_FEW, _LITTLE = 1000, 64 * 1024
#: Of the tag and the length of a row.
_FRAME = 8


@dataclass(frozen=True, slots=True)
class FittedMessage(Generic[T]):
    message: T
    #: Rows that are not in it, by field; fields without any are missing.
    left_off: dict[str, int]

    @property
    def rows_left_off(self) -> int:
        return sum(self.left_off.values())


class _Cut:
    """Takes rows one after another while they fit, and counts the others by field."""

    def __init__(self) -> None:
        self.left_off: dict[str, int] = {}

    def rows(
        self,
        field: str,
        rows: Iterable[T],
        most: int,
        most_bytes: int,
        size_of: Callable[[T], int],
        is_readable: Callable[[T], bool] = lambda row: True,
    ) -> tuple[T, ...]:
        kept: list[T] = []
        size = left = 0
        for row in rows:
            weight = size_of(row) + _FRAME if len(kept) < most and is_readable(row) else None
            if weight is None or size + weight > most_bytes:
                left += 1
                continue
            kept.append(row)
            size += weight
        if left:
            self.left_off[field] = left
        return tuple(kept)

    def names(self, field: str, names: Iterable[str], most: int) -> tuple[str, ...]:
        return self.rows(field, names, most, _MOST_NAME_BYTES, _size, _is_name)

    def counted(self, field: str, counts: dict[str, int]) -> dict[str, int]:
        """The largest counts."""
        rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        kept = self.rows(
            field, rows, MOST_COUNTED, _MOST_COUNTED_BYTES, lambda row: _size(row[0]) + _FRAME
        )
        return dict(kept)


def fitted_report(report: ShardReport) -> FittedMessage[ShardReport]:
    """Acknowledgements that are left off wait for the next report."""
    cut = _Cut()
    summary = report.summary
    fitted = replace(
        report,
        acks=cut.rows(
            "instruction_acks",
            report.acks,
            MOST_ACKS,
            _MOST_ACK_BYTES,
            ack_row_bytes,
        ),
        summary=ShardSummary(
            summary.total_machines,
            summary.free_machines,
            cut.counted("instance_types", dict(summary.count_of_instance_type)),
            cut.counted("zones", dict(summary.count_of_zone)),
            summary.provider_address,
        ),
        shortfalls=cut.rows(
            "shortfalls",
            report.shortfalls,
            MOST_SHORTFALLS,
            MOST_SHORTFALL_BYTES,
            shortfall_row_bytes,
        ),
    )
    return FittedMessage(fitted, cut.left_off)


def fitted_sync(request: SyncRequest, left_off_before: int = 0) -> FittedMessage[SyncRequest]:
    """`left_off_before`: of the report of the same round; the coordinator is told the sum."""
    cut = _Cut()
    fitted = replace(
        request,
        cluster_ids=cut.names("cluster_ids", request.cluster_ids, MOST_ROWS["cluster_ids"]),
        providers=cut.rows(
            "providers",
            request.providers,
            MOST_ROWS["providers"],
            _MOST_NAME_BYTES,
            lambda row: sum(map(_size, (row.name, row.address, row.region))),
            _is_readable_provider,
        ),
        shortfalls=cut.rows(
            "shortfalls",
            request.shortfalls,
            MOST_ROWS["shortfalls"],
            MOST_SHORTFALL_BYTES,
            lambda row: SHORTFALL.message(row).ByteSize(),
        ),
        quota_usage=cut.rows(
            "quota_usage",
            request.quota_usage,
            MOST_ROWS["quota_usage"],
            _MOST_NAME_BYTES,
            lambda row: _size(row.provider) + _size(row.region) + 6 * _FRAME,
            _is_readable_usage,
        ),
        offer_replies=cut.rows(
            "offer_replies",
            request.offer_replies,
            MOST_ROWS["offer_replies"],
            _MOST_OFFER_BYTES,
            lambda row: OFFER_REPLY.message(row).ByteSize(),
            _is_readable_offer,
        ),
        returnable=cut.rows(
            "returnable_machine_ids",
            request.returnable,
            MOST_ROWS["returnable_machine_ids"],
            _MOST_RETURNABLE_BYTES,
            _size,
        ),
        backoffs=cut.rows(
            "backoffs",
            request.backoffs,
            MOST_ROWS["backoffs"],
            _MOST_BACKOFF_BYTES,
            lambda row: BACKOFF.message(row).ByteSize(),
        ),
    )
    total = left_off_before + sum(cut.left_off.values())
    return FittedMessage(replace(fitted, rows_left_off=total), cut.left_off)


def is_small_report(report: ShardReport) -> bool:
    """Fitting it takes a millisecond."""
    summary = report.summary
    rows = (report.acks, summary.count_of_instance_type, summary.count_of_zone)
    return (
        sum(map(len, rows)) < _FEW
        and sum(len(row.need.profile.fingerprint) for row in report.shortfalls) < _LITTLE
    )


def is_small_sync(request: SyncRequest) -> bool:
    lists = (
        *(request.cluster_ids, request.providers, request.quota_usage),
        *(request.returnable, request.backoffs),
        *(reply.machine_ids for reply in request.offer_replies),
    )
    return (
        sum(map(len, lists)) < _FEW
        and sum(len(row.fingerprint) for row in request.shortfalls) < _LITTLE
    )


def _size(text: str) -> int:
    return len(text.encode())


def _is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME


def _is_readable_provider(row: ProviderEntry) -> bool:
    return all(map(_is_name, (row.name, row.address, row.region)))


def _is_readable_usage(row: QuotaUsage) -> bool:
    return _is_name(row.provider) and _is_name(row.region)


def _is_readable_offer(row: OfferReply) -> bool:
    return (
        max(len(row.machine_ids), len(row.regions)) <= MOST_OFFERED
        and all(len(machine) <= LONGEST_ID for machine in row.machine_ids)
        and all(map(_is_name, row.regions))
    )
