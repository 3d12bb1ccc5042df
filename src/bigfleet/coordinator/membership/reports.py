"""Reports: who belongs to the fleet, and what each shard last said of itself.

A report is soft: the newest replaces the one before it as a whole. Only what makes a shard a member
is durable, so that a report seldom writes anything.
"""

from dataclasses import replace

from bigfleet.coordinator.book import Book, ShardMemory
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import instructions
from bigfleet.coordinator.membership.checks import require
from bigfleet.coordinator.membership.domains import offer_default
from bigfleet.coordinator.tables import ShardRow
from bigfleet.model.coordination import ReportedShortfall, ReportView, ShardEntry
from bigfleet.model.coordinator_calls import ReportReply, ShardReport


def on_report(book: Book, draft: Draft, report: ShardReport) -> ReportReply:
    """Raises Rejected."""
    require(shard_id=report.shard_id)
    row = draft.shards.get(report.shard_id)
    if row is not None and (row.removed or report.epoch < row.epoch):
        draft.count("reports_total", result="stale_epoch")
        return ReportReply(book.term, acknowledged=False)
    if row is None:
        _register(book, draft, report)
    else:
        _renew(book, draft, report, row)
    memory = book.memory(report.shard_id)
    memory.heard_at = draft.at
    news = _is_news(memory, report)
    if news:
        memory.report, memory.reported_at = report, draft.at
    draft.count("reports_total", result="ok" if news else "out_of_order")
    instructions.take_up_early(book, draft, report.shard_id)
    instructions.on_acks(book, draft, report.shard_id, report.acks)
    told = instructions.deliveries(book, draft, report.shard_id, draft.at)
    return ReportReply(book.term, news, told)


def attach(draft: Draft, row: ShardRow, providers: set[str]) -> ShardRow:
    """To exactly these providers; a new one may want a default owner."""
    wanted = tuple(sorted(providers - {""}))
    if wanted == row.providers:
        return row
    draft.new_revision()
    attached = draft.shards.put(replace(row, providers=wanted))
    said = f"{row.id} is attached to {', '.join(wanted) or 'no provider'}"
    draft.note("shard_attached", row.id, said)
    if not draft.numbers.merging:
        for address in sorted(set(wanted) - set(row.providers)):
            offer_default(draft, row.id, address)
    return attached


def shard_entries(book: Book) -> list[ShardEntry]:
    rows = (row for row in book.tables.shards.rows.values() if not row.removed)
    return [
        ShardEntry(row.id, row.address, row.registered_at, _heard_at(book, row.id))
        for row in sorted(rows, key=lambda row: row.id)
    ]


def report_views(book: Book, shard: str) -> list[ReportView]:
    """Of one shard, or of all where it is empty; none right after a fail-over."""
    names = [shard] if shard else sorted(book.shards)
    return [
        _view(name, memory)
        for name in names
        if (memory := book.shards.get(name)) is not None
        and memory.report is not None
        and book.shard(name) is not None
    ]


def _register(book: Book, draft: Draft, report: ShardReport) -> None:
    name = report.shard_id
    draft.new_revision()
    row = draft.shards.put(ShardRow(name, report.address, report.epoch, draft.at))
    where = report.address or "an address it did not give"
    draft.note("shard_registered", name, f"{name} reports for the first time, from {where}")
    attach(draft, row, {report.summary.provider_address})


def _renew(book: Book, draft: Draft, report: ShardReport, row: ShardRow) -> None:
    if report.epoch > row.epoch:
        row = draft.shards.put(replace(row, epoch=report.epoch, address=report.address))
        said = f"{row.id} has restarted: epoch {row.epoch}, at {row.address}"
        draft.note("shard_restarted", row.id, said)
    # A report names the first provider alone; which there are in all, a sync says.
    attach(draft, row, {*row.providers, report.summary.provider_address})


def _is_news(memory: ShardMemory, report: ShardReport) -> bool:
    known = memory.report
    return known is None or (report.epoch, report.cycle) > (known.epoch, known.cycle)


def _heard_at(book: Book, shard: str) -> int | None:
    memory = book.shards.get(shard)
    return memory.heard_at if memory is not None else None


def _view(name: str, memory: ShardMemory) -> ReportView:
    report = memory.report
    assert report is not None, "only shards that reported are shown"
    return ReportView(
        name,
        report.cycle,
        memory.reported_at or 0,
        report.summary,
        tuple(
            ReportedShortfall(
                row.deficit,
                row.need.profile.priority,
                row.age,
                row.need.profile.interruption_bucket,
            )
            for row in report.shortfalls
        ),
    )
