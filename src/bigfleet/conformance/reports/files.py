"""Writes the four files of a run into one folder."""

from pathlib import Path

import orjson

from bigfleet.conformance.reports.badge import badge_of
from bigfleet.conformance.reports.document import Account, document_of
from bigfleet.conformance.reports.junit import junit_xml
from bigfleet.conformance.reports.page import report_html


def json_text(content: object) -> str:
    return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n"


def write_reports(account: Account, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json_text(document_of(account)), encoding="utf-8")
    (folder / "badge.json").write_text(json_text(badge_of(account)), encoding="utf-8")
    (folder / "junit.xml").write_bytes(junit_xml(account))
    (folder / "report.html").write_text(report_html(account), encoding="utf-8")
