"""Every ruling has one number that stays, and every reference names one that exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGE, ROOT, TESTS, name_of, pages, python_files

FOLDER = ROOT / "docs" / "rulings"
ADRS = sorted((ROOT / "docs" / "adr").glob("*.md"))
#: The letter of each page.
PAGES = {
    "engine.md": "E",
    "shard.md": "S",
    "transfers.md": "T",
    "operator.md": "O",
    "revised-demand.md": "D",
    "limits.md": "L",
    "command-line.md": "C",
}
_ROW = re.compile(r'^\| <a id="(?P<anchor>\w+)"></a>(?P<id>[A-Z]\d+) \|', re.MULTILINE)
_LETTERS = "".join(PAGES.values())
_ID = rf"[{_LETTERS}]\d+"
#: "ruling E27", "rulings E3 to E6", "rulings E19, E23, E24".
_NAMED = re.compile(rf"\brulings? ({_ID}(?:(?:,| and| to|, and) {_ID})*)", re.IGNORECASE)
_LINKED = re.compile(r"\]\((?P<page>[\w./-]*rulings/[\w-]+\.md)#(?P<id>\w+)\)")
#: Forms that lead nowhere any more: the rows have moved.
_OLD = re.compile(r"\bADR-\d{4},? (?:row|reading)s? \d|\breadings? \d+\b", re.IGNORECASE)


def rulings_on(page: Path) -> list[str]:
    return [row["id"] for row in _ROW.finditer(page.read_text())]


KNOWN = {each for page in FOLDER.glob("*.md") for each in rulings_on(page)}


def texts() -> Iterator[tuple[str, str]]:
    own = Path(__file__).resolve()
    for path in (*python_files(PACKAGE, TESTS), *pages()):
        if path != own:
            yield name_of(path), path.read_text()


def cited_in(text: str) -> Iterator[str]:
    for match in _NAMED.finditer(text):
        yield from re.findall(_ID, match[1])
    for match in _LINKED.finditer(text):
        yield match["id"]


def test_every_page_of_rulings_has_its_letter() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(PAGES)
    assert len(set(PAGES.values())) == len(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_rulings_stand_in_order_with_an_anchor_each(name: str) -> None:
    text = (FOLDER / name).read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| #" not in line]
    anchors = [row["anchor"] for row in _ROW.finditer(text)]
    ids = rulings_on(FOLDER / name)
    assert len(ids) == len(rows), "a row has no anchor"
    assert anchors == ids
    numbers = [int(each.removeprefix(PAGES[name])) for each in ids]
    assert numbers == sorted(set(numbers))


def test_every_reference_names_a_ruling_that_exists() -> None:
    assert "E27" in KNOWN
    lost = [
        (where, each) for where, text in texts() for each in cited_in(text) if each not in KNOWN
    ]
    assert lost == []


def test_references_are_there_to_be_checked() -> None:
    cited = {each for _, text in texts() for each in cited_in(text)}
    assert {"E1", "E14", "E27", "S15"} <= cited


def test_no_reference_has_a_form_that_leads_nowhere() -> None:
    old = [f"{where}: {match[0]}" for where, text in texts() for match in _OLD.finditer(text)]
    assert old == []


@pytest.mark.parametrize("name", PAGES)
def test_a_ruling_names_others_by_their_numbers(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert re.findall(r"\brows? \d+", text) == []
    assert [each for each in re.findall(rf"\b{_ID}\b", text) if each not in KNOWN] == []


CITATIONS = {
    "ruling E27": ["E27"],
    "Rulings U2, U12": [],
    "rulings E3 to E6": ["E3", "E6"],
    "(U2, rulings E19, E23 and E24)": ["E19", "E23", "E24"],
    "[S15](../rulings/shard.md#S15)": ["S15"],
}


@pytest.mark.parametrize("text", CITATIONS)
def test_a_reference_is_recognised(text: str) -> None:
    assert list(cited_in(text)) == CITATIONS[text]


@pytest.mark.parametrize("page", ADRS, ids=name_of)
def test_a_decision_has_its_parts_and_keeps_its_rulings_elsewhere(page: Path) -> None:
    text = page.read_text()
    for part in ("**Question.**", "**Decision.**", "What would change our mind"):
        assert part in text, f"{page.name} lacks {part}"
    assert "| # |" not in text, "a list of rulings belongs to docs/rulings"
