"""A card of the page names the metric behind it: each of them is one that BigFleet exports."""

import re
from collections.abc import Iterator

from tests.architecture.tree import ROOT

_SUFFIX = re.compile(r"_(bucket|sum|count)$")
_QUERY = re.compile(r"promql: [\"`]([^\"`]+)")
_METRIC = re.compile(r"\bbigfleet_\w+")


def exported() -> set[str]:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    return set(re.findall(r'<a id="(bigfleet_\w+)">', page))


def named() -> Iterator[tuple[str, str]]:
    """File, and a metric that a card of it names."""
    for path in sorted((ROOT / "web" / "src").rglob("*.tsx")):
        for query in _QUERY.findall(path.read_text()):
            for metric in _METRIC.findall(query):
                yield path.name, metric


def test_every_metric_that_the_page_names_is_exported() -> None:
    known, found = exported(), list(named())
    assert len(found) > 8
    odd = [
        (file, metric)
        for file, metric in found
        if metric not in known and _SUFFIX.sub("", metric) not in known
    ]
    assert odd == []
