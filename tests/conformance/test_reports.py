"""The four files of a run: what existing readers find in them, and that nothing breaks out."""

import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bigfleet.conformance.reports.document import changes, document_of
from bigfleet.conformance.reports.files import badge_of, junit_xml, write_reports
from bigfleet.conformance.reports.page import report_html
from bigfleet.conformance.rows import RowOutcome
from bigfleet.model.errors import BadInput
from tests.conformance.makings import account, outcome, row

HOSTILE = "<script>alert('x')</script> & \x00\x1b[31m \ud7ff"
CALL: dict[str, object] = {
    "at_ms": 1.0,
    "method": "Create",
    "request": "<b>",
    "code": "OK",
    "response": "&",
    "ms": 0.5,
}
FAILED = RowOutcome(
    row("B312"), "failed", HOSTILE, 12.0, (CALL,), "--only B312 --seed 1 --steps 4,7"
)
OUTCOMES = [
    outcome("TestConformance_LabelShape", suite="baseline", profiles=("baseline",)),
    outcome("B101"),
    FAILED,
    outcome("B903", "skipped", "revision is empty"),
    outcome("B1001", "not_implemented", "no restart", "durable", ("durable",)),
]


def test_the_report_has_the_keys_existing_readers_expect() -> None:
    document = document_of(account(OUTCOMES, ("core", "durable")))
    assert list(document)[:8] == [
        "provider", "profiles", "timestamp", "baseline", "extension", "behaviors", "summary",
        "verdict",
    ]  # fmt: skip
    assert document["timestamp"] == "2023-11-14T22:13:20Z"
    assert document["baseline"] == {"tests": 1, "passed": 1, "failed": 0, "skipped": 0}
    assert document["extension"] == {"tests": 3, "passed": 1, "failed": 1, "skipped": 1}
    assert document["summary"] == {
        "total_behaviors": 4,
        "passed": 1,
        "failed": 1,
        "skipped": 1,
        "not_implemented": 1,
        "required_failed": 1,
        "required_missing": 1,
    }
    assert document["verdict"] == "FAILED"


def test_a_behaviour_keeps_its_eight_keys_and_adds_its_own() -> None:
    document = document_of(account(OUTCOMES))
    behaviours = document["behaviors"]
    assert isinstance(behaviours, list)
    assert list(behaviours[0]) == [
        "id", "area", "title", "profiles", "phase", "required", "status", "tests",
        "reason", "duration_ms",
    ]  # fmt: skip
    assert behaviours[1]["wire_log"] == [CALL]
    assert behaviours[1]["replay"] == "--only B312 --seed 1 --steps 4,7"


def test_strict_does_not_blur_the_other_verdicts() -> None:
    outcomes = [outcome("B101"), outcome("X01", "failed", "no", "strict", ("strict",))]
    document = document_of(account(outcomes, ("core", "strict")))
    assert document["profile_verdicts"] == {"core": "CERTIFIED", "strict": "FAILED"}


def test_junit_has_a_suite_per_section_and_a_case_per_row() -> None:
    root = ET.fromstring(junit_xml(account(OUTCOMES)))
    assert [suite.get("name") for suite in root] == ["baseline", "core", "durable"]
    core = root[1]
    assert (core.get("tests"), core.get("failures"), core.get("skipped")) == ("3", "1", "1")
    failure = core.find(".//failure")
    assert failure is not None
    assert "<script>" in str(failure.get("message"))


def test_the_badge_says_verdict_and_share() -> None:
    assert badge_of(account(OUTCOMES)) == {
        "schemaVersion": 1,
        "label": "bigfleet conformance",
        "message": "FAILED (1/3)",
        "color": "red",
    }


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [
            value for name, value in attrs if name in ("src", "href") and value and value[0] != "#"
        ]


def test_the_page_is_one_file_and_lets_nothing_out() -> None:
    links = Links()
    links.feed(report_html(account(OUTCOMES)))
    assert links.outside == []
    assert "script" not in links.tags
    assert "link" not in links.tags


def test_the_page_shows_the_failure_with_its_calls_and_its_replay() -> None:
    page = report_html(account(OUTCOMES))
    assert "prefers-color-scheme:dark" in page
    assert "&lt;script&gt;" in page
    assert "--only B312 --seed 1 --steps 4,7" in page
    assert "The last 1 calls" in page


def test_two_runs_are_compared_by_id(tmp_path: Path) -> None:
    write_reports(account(OUTCOMES), tmp_path / "a")
    mended = [outcome("B101", "failed", "now"), outcome("B312"), outcome("B999")]
    write_reports(account(mended), tmp_path / "b")
    found = changes(tmp_path / "a" / "report.json", tmp_path / "b" / "report.json")
    seen = {change.id: (change.before, change.after, change.worse) for change in found}
    assert seen["B101"] == ("passed", "failed", True)
    assert seen["B312"] == ("failed", "passed", False)
    assert seen["B999"] == ("absent", "passed", False)
    assert seen["B903"] == ("skipped", "absent", False)


def test_a_file_that_is_not_a_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"behaviors": 3}))
    with pytest.raises(BadInput, match="not a report"):
        changes(path, path)
