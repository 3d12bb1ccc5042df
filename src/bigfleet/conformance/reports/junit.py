"""junit.xml: one suite per section, one case per row."""

import re
from xml.etree import ElementTree as ET

from bigfleet.conformance.outcomes import Outcome
from bigfleet.conformance.reports.document import Account

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


def _add_suite(root: ET.Element, name: str, outcomes: list[Outcome]) -> None:
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


def _add_case(suite: ET.Element, outcome: Outcome) -> None:
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
