"""Answers as CSV, for spreadsheets (RFC 4180)."""

import csv
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from io import StringIO

from starlette.requests import Request
from starlette.responses import Response

from bigfleet.web.operations import JSON, Asked, Param
from bigfleet.web.problems import Problem

CSV = "text/csv"
FORMAT = Param(
    "format",
    "json, or csv for spreadsheets; so does `Accept: text/csv`.",
    default="json",
    choices=("json", "csv"),
    example="csv",
)
Cell = str | int | float | None
#: What makes a spreadsheet take a text for a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")


def wants_csv(asked: Asked) -> bool:
    """Raises Problem for a format that there is not."""
    said = asked.text(FORMAT.name)
    return said == "csv" or ("format" not in asked.request.query_params and _accepts(asked.request))


def _accepts(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return CSV in accepted and JSON not in accepted


def csv_answer(
    name: str, columns: Sequence[str], rows: Iterable[Iterable[Cell]], warnings: Sequence[str]
) -> Response:
    """Raises Problem where a part is missing: a table cannot say that it is not whole."""
    if warnings:
        text = f"the table would not be whole: {'; '.join(warnings)}"
        raise Problem(HTTPStatus.BAD_GATEWAY, text, remedy="ask for JSON, which says so beside it")
    text_of_all = StringIO()
    writer = csv.writer(text_of_all, lineterminator="\r\n")
    writer.writerow(map(cell, columns))
    writer.writerows(map(cell, row) for row in rows)
    headers = {
        "content-disposition": f'attachment; filename="{name}.csv"',
        "cache-control": "no-store",
    }
    return Response(text_of_all.getvalue(), 200, headers, CSV)


def cell(value: Cell) -> str:
    """A text that begins like a formula gets an apostrophe; what is not known is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    return repr(value)
