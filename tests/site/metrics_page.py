"""docs/reference/metrics.md: every metric of every process, with its labels."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bigfleet.coordinator.metrics import CATALOGUE as COORDINATOR
from bigfleet.edge.counts import MOST_VALUES
from bigfleet.edge.exposition import LEFT_OFF, Catalogue
from bigfleet.operator.metrics import CATALOGUE as OPERATOR
from bigfleet.podwatch.metrics import CATALOGUE as PODWATCH
from bigfleet.provider.metrics import CATALOGUE as PROVIDER
from bigfleet.shard.metrics import CATALOGUE as SHARD
from tests.architecture.tree import PACKAGE, python_files
from tests.site.markdown import anchor, code, page, section, table, text

#: Each catalogue with the packages that count into it.
PROCESSES: dict[str, tuple[Catalogue, tuple[str, ...]]] = {
    "shard": (SHARD, ("shard", "edge")),
    "coordinator": (COORDINATOR, ("coordinator", "edge")),
    "operator": (OPERATOR, ("operator", "kube", "edge")),
    "podwatch": (PODWATCH, ("podwatch", "kube", "edge")),
    "provider run": (PROVIDER, ("provider", "edge")),
}
_INTRODUCTION = f"""\
A process serves its metrics under `/metrics` on its metrics address, in the Prometheus text
format. A metric whose label is chosen by others (a cluster, a provider) has at most
{MOST_VALUES} values of it; the rest share one series with the value `other`. Every process also
has `bigfleet_build_info{{version}}`, `{LEFT_OFF}`, with TLS
`bigfleet_tls_certificate_expiry_timestamp_seconds`, and the `process_*` metrics of the
Prometheus client."""
_VERBS = {"add", "set", "observe", "drop", "drop_all_with", "count"}
#: Counted by a table: in shard/rails/recording.py, and in provider/operations/limits.py.
_BY_TABLE = {
    "actions_suppressed_total": {"kind"},
    "actions_dryrun_total": {"kind"},
    "substrate_calls_total": {"class", "outcome"},
}
_NOT_LABELS = {"amount", "edges", "times", "first", "most"}


def metrics_page() -> str:
    return page(
        "Metrics",
        _INTRODUCTION,
        *(
            section(f"bigfleet {name}", _catalogue(catalogue, folders))
            for name, (catalogue, folders) in PROCESSES.items()
        ),
    )


def _catalogue(catalogue: Catalogue, folders: tuple[str, ...]) -> str:
    labels = labels_in(*(PACKAGE / folder for folder in folders))
    rows = [
        _row(catalogue.prefix + name, kind, labels[name], meaning)
        for kind, named in (
            ("counter", catalogue.counters),
            ("gauge", catalogue.gauges),
            ("histogram", catalogue.histograms),
        )
        for name, meaning in named.items()
    ]
    return table(("name", "kind", "labels", "meaning"), rows)


def _row(name: str, kind: str, labels: set[str], meaning: str) -> tuple[str, ...]:
    shown = ", ".join(code(each) for each in sorted(labels))
    return f"{anchor(name)}`{name}`", kind, shown, text(meaning)


def labels_in(*folders: Path) -> dict[str, set[str]]:
    """Labels by the name of the metric, as the calls that count write them."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in python_files(*folders):
        for name, label in _labels_of(ast.parse(path.read_text())):
            found[name].add(label)
    for name, labels in _BY_TABLE.items():
        found[name] |= labels
    # The line to the API server counts the same under another name there.
    found["podwatch_api_requests_total"] |= found["api_requests_total"]
    return found


def _labels_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    constants = {
        ast.unparse(each.targets[0]): each.value
        for each in tree.body
        if isinstance(each, ast.Assign)
    }
    looped = dict(_loops_over_names(tree))
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        first = ast.unparse(node.args[0])
        names = looped.get((first, node.lineno)) or [
            str(each.value)
            for each in ast.walk(constants.get(first, node.args[0]))
            if isinstance(each, ast.Constant)
        ]
        labels = [each.arg for each in node.keywords if each.arg]
        if node.func.attr == "show" and len(node.args) > 1:
            shown = constants.get(ast.unparse(node.args[1]), node.args[1])
            labels = list(ast.literal_eval(shown)) if isinstance(shown, ast.Tuple) else []
        elif node.func.attr not in _VERBS:
            continue
        for name in names:
            yield from ((name, label) for label in labels if label not in _NOT_LABELS)


def _loops_over_names(tree: ast.Module) -> Iterator[tuple[tuple[str, int], list[str]]]:
    """`for name, values in (("a", x), ("b", y))`: the names, for every line of the loop's body."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
            values = [
                str(each.value)
                for row in node.iter.elts
                for each in (row.elts[:1] if isinstance(row, ast.Tuple) else [row])
                if isinstance(each, ast.Constant)
            ]
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                yield (ast.unparse(first), line), values
