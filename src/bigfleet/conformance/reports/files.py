"""Writes the four files of a run into one folder.

badge.json: the verdict in the schema of an endpoint badge.

junit.xml: one suite per section, one case per row.
"""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import orjson

from bigfleet.conformance.reports.document import Account, document_of
from bigfleet.conformance.reports.page import report_html
from bigfleet.conformance.rows import RowOutcome
from bigfleet.conformance.verdicts import Word

COLOURS: dict[Word, str] = {"CERTIFIED": "brightgreen", "FAILED": "red", "INCOMPLETE": "yellow"}


def badge_of(account: Account) -> dict[str, object]:
    statuses = [outcome.status for outcome in account.behaviours]
    ran = len(statuses) - statuses.count("not_implemented")
    return {
        "schemaVersion": 1,
        "label": "bigfleet conformance",
        "message": f"{account.verdict.word} ({statuses.count('passed')}/{ran})",
        "color": COLOURS[account.verdict.word],
    }


SUITES = ("baseline", "core", "fault", "durable", "scale", "strict")
#: XML 1.0 has no way to write most control characters.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(account: Account) -> bytes:
    root = ET.Element("testsuites", name=f"bigfleet conformance {account.provider}")
    for name in SUITES:
        outcomes = [outcome for outcome in account.outcomes if outcome.row.suite == name]
        if outcomes:
            _add_suite(root, name, outcomes)
    ET.indent(root)
    return (
        b"<?xml version='1.0' encoding='utf-8'?>\n" + ET.tostring(root, encoding="unicode").encode()
    )


def _add_suite(root: ET.Element, name: str, outcomes: list[RowOutcome]) -> None:
    statuses = [outcome.status for outcome in outcomes]
    suite = ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(outcomes)),
        failures=str(statuses.count("failed")),
        skipped=str(statuses.count("skipped") + statuses.count("not_implemented")),
        time=f"{sum(outcome.duration_ms for outcome in outcomes) / 1000:.3f}",
    )
    for outcome in outcomes:
        _add_case(suite, outcome)


def _add_case(suite: ET.Element, outcome: RowOutcome) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=outcome.row.area,
        name=f"{outcome.row.id} {outcome.row.title}",
        time=f"{outcome.duration_ms / 1000:.3f}",
    )
    if outcome.status == "failed":
        said = "\n".join(str(entry) for entry in outcome.wire_log)
        failure = ET.SubElement(case, "failure", message=_writable(outcome.reason))
        failure.text = _writable("\n".join(part for part in (outcome.replay, said) if part))
    elif outcome.status != "passed":
        what = "not implemented: " if outcome.status == "not_implemented" else ""
        ET.SubElement(case, "skipped", message=_writable(what + outcome.reason))


def _writable(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)


def json_text(content: object) -> str:
    return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n"


def write_reports(account: Account, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json_text(document_of(account)), encoding="utf-8")
    (folder / "badge.json").write_text(json_text(badge_of(account)), encoding="utf-8")
    (folder / "junit.xml").write_bytes(junit_xml(account))
    (folder / "report.html").write_text(report_html(account), encoding="utf-8")
