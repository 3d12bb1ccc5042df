"""What taken machines were declared to cost: statements, and what each cluster or team caused and
bore in a month."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from bigfleet.costs.invoices import invoice_lines, line_document
from bigfleet.explain.need_facts import need_name
from bigfleet.model.instants import instant_of, instant_text
from bigfleet.model.statements import (
    InvoiceCall,
    InvoiceLine,
    Invoices,
    Statement,
    span_of_month,
)
from bigfleet.web.answers import queried_at
from bigfleet.web.csv_answers import CSV, FORMAT, csv_answer, wants_csv
from bigfleet.web.fleet import Answers, Fleet
from bigfleet.web.further_schemas import InvoicesShape
from bigfleet.web.operations import JSON, Asked, Operation, Param
from bigfleet.web.problems import Problem, bad
from bigfleet.web.routes.rails import SHARD
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.statements import MOST_STATEMENTS, STATEMENT, STATEMENT_GAP

#: Of a table of statements, for each shard.
_MOST_ROWS = 20_000
_AMOUNTS = (
    "causedDollars",
    "borneDollars",
    "netDollars",
    "ownDollars",
    "count",
    "pinned",
    "unknown",
)
_COLUMNS = (
    *("statement", "completed", "kind", "machine", "fromCluster", "fromNeed", "toCluster"),
    *("toNeed", "interruptionPenaltyDollars", "reclamationPenaltyDollars", "pinned"),
    *("drainSeconds", "drainValueDollars", "graceSeconds", "nextBest", "nextBestText"),
    *("extraDollars", "extraDollarsPerHour", "chain", "unknown", "shardId"),
)


@dataclass(frozen=True, slots=True)
class InvoiceRoutes:
    fleet: Fleet

    async def invoices(self, asked: Asked) -> dict[str, Any] | Response:
        by, call, teams = asked.text("by"), _call(asked), _teams(asked)
        table = asked.text("table")
        if wants_csv(asked):
            if table == "months":
                return await self._months(asked, call, teams)
            return await self._table(asked, call)
        call = replace(call, limit=asked.number("limit") or 100)
        told = (
            await self.fleet.ask(lambda client: client.invoices(call), asked.text("shard"))
        ).require()
        lines = _lines(told, by, teams)
        made = [(shard, one) for shard, each in told.said.items() for one in each.statements]
        made.sort(key=lambda row: (-row[1].completed_at, row[1].id))
        return {
            "by": by,
            "declared": True,
            "months": [line_document(line, by) for line in lines],
            "statements": [_document(shard, one) for shard, one in made[: call.limit]],
            "total": sum(each.total for each in told.said.values()),
            "gaps": [
                {**STATEMENT_GAP.document(gap), "shardId": shard}
                for shard, each in told.said.items()
                for gap in each.gaps
            ],
            "trouble": {shard: each.trouble for shard, each in told.said.items() if each.trouble},
            **told.head(),
            **asked.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def _months(self, asked: Asked, call: InvoiceCall, teams: dict[str, str]) -> Response:
        by, call = asked.text("by"), replace(call, limit=-1)
        told = (
            await self.fleet.ask(lambda client: client.invoices(call), asked.text("shard"))
        ).require()
        documents = [line_document(line, by) for line in _lines(told, by, teams)]
        columns = ("month", by, *_AMOUNTS)
        rows = ([each[name] for name in columns] for each in documents)
        return csv_answer(f"statements-by-{by}", columns, rows, [*told.warnings, *_missing(told)])

    async def _table(self, asked: Asked, call: InvoiceCall) -> Response:
        told = (
            await self.fleet.ask(lambda client: _whole(client, call), asked.text("shard"))
        ).require()
        rows = (_row(shard, one) for shard, each in told.said.items() for one in each.statements)
        return csv_answer("statements", _COLUMNS, rows, [*told.warnings, *_missing(told)])


async def _whole(client: ShardAdminClient, call: InvoiceCall) -> Invoices:
    """Raises Problem where a table would be too long."""
    first = await client.invoices(call)
    if first.total > _MOST_ROWS:
        text = f"{first.total} statements are more than the {_MOST_ROWS} of one table"
        raise Problem(HTTPStatus.BAD_REQUEST, text, field="from", remedy="ask for a shorter time")
    statements, following = first.statements, first.next
    while following:
        more = await client.invoices(replace(call, before=following))
        statements, following = (*statements, *more.statements), more.next
    return replace(first, statements=statements)


def _lines(told: Answers[Invoices], by: str, teams: dict[str, str]) -> list[InvoiceLine]:
    known = {c: t for each in told.said.values() for c, t in each.team_of_cluster} | teams
    parts = [part for each in told.said.values() for part in each.parts]
    return invoice_lines(parts, known if by == "team" else None)


def _document(shard: str, made: Statement) -> dict[str, Any]:
    """With the names of the two Needs, as the page and the command line take them."""
    names = {"from": made.from_need, "to": made.to_need}
    known = {end: need_name(need) for end, need in names.items() if need and need.fingerprint}
    return {**STATEMENT.document(made), "shardId": shard, **known}


def _missing(told: Answers[Invoices]) -> list[str]:
    return [
        f"{shard}: {text}"
        for shard, each in told.said.items()
        for text in (*(gap.text for gap in each.gaps), *([each.trouble] if each.trouble else []))
    ]


def _row(shard: str, made: Statement) -> list[str | int | float | None]:
    taker, best = made.to_need, made.next_best
    return [
        made.id,
        instant_text(made.completed_at),
        made.kind.label,
        made.machine,
        made.borne_by,
        made.from_need.need_id if made.from_need.fingerprint else None,
        None if taker is None else taker.cluster,
        None if taker is None else taker.need_id,
        None if made.is_pinned else made.interruption_penalty,
        None if made.is_pinned else made.reclamation_penalty,
        str(made.is_pinned).lower(),
        made.drain_seconds,
        made.drain_value,
        made.grace_seconds,
        best.kind.label,
        best.text,
        best.extra_dollars,
        best.extra_dollars_per_hour,
        " ".join(made.chain),
        made.unknown,
        shard,
    ]


def _call(asked: Asked) -> InvoiceCall:
    """Raises Problem."""
    month, ends = asked.text("month"), [asked.text("from"), asked.text("to")]
    if month:
        span = span_of_month(month)
        if span is None:
            raise bad("month", f"month: {month[:100]!r} is not a month; write 2026-03")
        if any(ends):
            raise bad("month", "month and from or to: name a month, or a time")
        return InvoiceCall(*span)
    instants = []
    for name, text in zip(("from", "to"), ends, strict=True):
        instant = instant_of(text) if text else 0
        if instant is None:
            raise bad(name, f"{name}: {text[:100]!r} is not a time; write 2026-03-14T03:00:00Z")
        instants.append(max(0, instant))
    if instants[1] and instants[0] >= instants[1]:
        raise bad("from", "from: must be before to")
    return InvoiceCall(*instants)


def _teams(asked: Asked) -> dict[str, str]:
    """Raises Problem."""
    found = {}
    for pair in filter(None, asked.text("teams").split(",")):
        cluster, equals, team = pair.partition("=")
        if not (cluster and equals and team):
            raise bad(
                "teams", f"teams: {pair[:100]!r} names no team; write shop=retail,ml=research"
            )
        found[cluster] = team
    return found


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/invoices",
            "listInvoices",
            "What taken machines were declared to cost, by month and one by one; never billed.",
            InvoiceRoutes(fleet).invoices,
            InvoicesShape,
            (
                Param(
                    "by",
                    "Whose months are added up.",
                    default="cluster",
                    choices=("cluster", "team"),
                    example="team",
                ),
                Param("teams", "Teams of clusters beside costs.teams.", example="shop=retail"),
                Param("month", "Only this month, in UTC.", example="2026-03"),
                Param("from", "Only what was complete from then on, in RFC 3339."),
                Param("to", "Only what was complete before, in RFC 3339."),
                Param(
                    "limit",
                    "Statements, the newest first.",
                    "integer",
                    default=100,
                    most=MOST_STATEMENTS,
                    example="20",
                ),
                Param(
                    "table",
                    "Of a CSV: one row for each statement, or for each month of a cluster or team.",
                    default="statements",
                    choices=("statements", "months"),
                ),
                SHARD,
                FORMAT,
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND),
            media=(JSON, CSV),
            example="/invoices?limit=20",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
