"""Every label of every metric: who chooses its values, and that it is bounded on the page.

A new label fails here until it is said whether its values are a closed set of ours or chosen by
others, and no metric gets past the bounds.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bigfleet.coordinator.metrics import CATALOGUE as COORDINATOR
from bigfleet.edge.counts import MOST_VALUES, Counts
from bigfleet.edge.exposition import Catalogue, Exposition
from bigfleet.operator.metrics import CATALOGUE as OPERATOR
from bigfleet.podwatch.metrics import CATALOGUE as PODWATCH
from bigfleet.provider.metrics import CATALOGUE as PROVIDER
from bigfleet.shard.metrics import CATALOGUE as SHARD
from tests.architecture.tree import PACKAGE, python_files

#: Labels whose values others choose, and who.
CHOSEN = {
    "cluster": "clients with a certificate of a cluster",
    "resource": "pods and CapacityRequests of a cluster",
    "budget_namespace": "users of a cluster",
    "provider": "the shard's settings, or the coordinator's registry",
    "region": "labels of a provider's machines, and quotas",
    "shard": "certificates of shards; at a provider, its callers",
    "method": "callers of a provider, which answers calls that it does not know",
    "class": "the author of a provider",
}
#: Labels with a closed set of values, all of them written in our sources.
OURS = {
    *("agg", "autoscaler", "bucket", "capacity_type", "cause", "code", "disposition", "event"),
    *("field", "interruption_penalty_bucket", "kind", "layer", "list", "mode", "op", "outcome"),
    *("phase", "priority_class", "reason", "result", "rpc", "source", "stage", "state", "status"),
    *("invariant", "path", "quantile", "tier", "to", "verb"),
}
CATALOGUES = {each.prefix: each for each in (SHARD, COORDINATOR, OPERATOR, PODWATCH, PROVIDER)}
_VERBS = {"add", "set", "observe", "drop", "drop_all_with", "count"}
_OWNERS = ("counts", "draft")
_NOT_LABELS = {"amount", "edges", "times", "first", "most"}


def labels_in(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    constants = {
        ast.unparse(each.targets[0]): each.value
        for each in tree.body
        if isinstance(each, ast.Assign)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = ast.unparse(node.func.value)
        if node.func.attr in _VERBS and owner.endswith((*_OWNERS, "around")):
            yield from (each.arg for each in node.keywords if each.arg)
        if node.func.attr == "show" and owner.endswith("counts"):
            labels = node.args[1]
            yield from ast.literal_eval(constants.get(ast.unparse(labels), labels))


def test_it_is_said_of_every_label_who_chooses_its_values() -> None:
    used = {label for path in python_files(PACKAGE) for label in labels_in(path)}
    # A keyword of Python: it is counted by a table, in provider/operations/limits.py.
    used.add("class")
    assert used - _NOT_LABELS == {*OURS, *CHOSEN}
    assert OURS.isdisjoint(CHOSEN)


@pytest.mark.parametrize("catalogue", CATALOGUES.values(), ids=CATALOGUES)
def test_no_metric_of_a_process_has_many_series(catalogue: Catalogue) -> None:
    counts = Counts()
    for number in range(3 * MOST_VALUES):
        for verb, names in (
            (counts.add, catalogue.counters),
            (counts.set, catalogue.gauges),
            (counts.observe, catalogue.histograms),
        ):
            for name in names:
                verb(name, 1, chosen=f"value-{number}", ours="x")
    page = Exposition(catalogue, counts, lambda: None, "").text().decode()
    families = [each for each in text_string_to_metric_families(page) if each.samples]
    assert len(families) > len(catalogue.gauges)
    for family in families:
        chosen = {sample.labels.get("chosen") for sample in family.samples}
        assert len(chosen) <= MOST_VALUES + 1, family.name


def test_nothing_gets_past_the_bounds() -> None:
    """Only the counts write their tables, and only one file knows the library of the page."""
    kinds = (".counters[", ".gauges[", ".histograms[")
    past = [
        f"{path.name}:{number}"
        for path in python_files(PACKAGE)
        if path != PACKAGE / "edge" / "counts.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "counts" in line and any(kind in line for kind in kinds)
    ]
    assert past == []
    cluster_cache = {
        path.relative_to(PACKAGE).as_posix()
        for path in python_files(PACKAGE)
        if "import prometheus_client" in path.read_text()
        or "from prometheus_client" in path.read_text()
    }
    assert cluster_cache == {"edge/exposition.py"}
