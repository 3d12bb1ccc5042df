"""What the charts' `config` values may hold, from the settings the processes know.

`python -m tests.charts.settings_schemas` writes it into the charts; a test compares. So a key that
a process would refuse at its start is refused before anything is installed.
"""

import json
from pathlib import Path
from typing import Any

from bigfleet.cli.settings import sections
from bigfleet.cli.settings.keys import Key, Section, ValueForm
from tests.charts.charts import BIGFLEET, OPERATOR, PODWATCH, Chart

#: What the charts set themselves: values of their own, or the shape of their pods, say it.
SET_BY_CHARTS = {
    "coordinator": {
        *("listen", "metrics_addr", "id", "store", "data_dir", "advertise_addr"),
        *("etcd_endpoints", "etcd_prefix", "etcd_tls_cert", "etcd_tls_key", "etcd_tls_ca"),
        *("snapshot_dir", "snapshot_interval"),
    },
    "shard": {
        *("listen", "metrics_addr", "id", "data_dir", "advertise_addr"),
        *("provider_addr", "providers_from_registry", "coordinator_addr"),
    },
    "operator": {
        *("cluster_id", "shard_addr", "kubeconfig", "metrics_addr", "namespace", "identity"),
        *("bootstrap_template_file", "api_server", "mint_token", "delete_nodes"),
        "token_prefix",
    },
    "podwatch": {
        *("kubeconfig", "cluster_id", "shard_addr", "metrics_addr", "buffers"),
        *("provisioning_requests", "priority_class_defaults"),
        *("exclude_namespaces", "include_daemonsets"),
    },
}
#: Chart, section, and where in the chart's values its `config` lies.
PLACES: tuple[tuple[Chart, Section, tuple[str, ...]], ...] = (
    (BIGFLEET, sections.COORDINATOR, ("coordinator", "config")),
    (BIGFLEET, sections.SHARD, ("shard", "config")),
    (OPERATOR, sections.OPERATOR, ("config",)),
    (PODWATCH, sections.PODWATCH, ("config",)),
)


def schema_of(section: Section) -> dict[str, Any]:
    """All keys of a section that no chart sets itself; subsections are objects of their own."""
    tree = _object()
    for key in section.all_keys():
        if key.path[0] in SET_BY_CHARTS[section.name]:
            continue
        here = tree
        for word in key.path[:-1]:
            here = here["properties"].setdefault(word, _object())
        here["properties"][key.path[-1]] = _value(key)
    return tree


def schema_at(chart: Chart, place: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = chart.schema
    for word in place:
        found = found["properties"][word]
    return found


def _object() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def _value(key: Key) -> dict[str, Any]:
    described = {"description": key.help}
    if key.choices:
        return {**described, "enum": list(key.choices)}
    match key.shape:
        case ValueForm.SWITCH:
            return {**described, "type": "boolean"}
        case ValueForm.COUNT | ValueForm.NUMBER:
            bounds = {"minimum": key.least}
            if key.most is not None:
                bounds["maximum"] = key.most
            kind = "integer" if key.shape is ValueForm.COUNT else "number"
            return {**described, "type": kind, **bounds}
        case ValueForm.DURATION:
            return {**described, "$ref": "#/definitions/duration"}
        case ValueForm.SIZE:
            return {**described, "$ref": "#/definitions/size"}
        case ValueForm.TEXTS:
            return {**described, "type": "array", "items": {"type": "string"}}
        case ValueForm.RECORDS:
            return {**described, "type": "array", "items": {"type": "object"}}
        case ValueForm.TEXT:
            return {**described, "type": "string"}


def written(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2) + "\n"


def write(file: Path, place: tuple[str, ...], wanted: dict[str, Any]) -> None:
    schema = json.loads(file.read_text())
    parent = schema
    for word in place[:-1]:
        parent = parent["properties"][word]
    parent["properties"][place[-1]] = wanted
    file.write_text(written(schema))


if __name__ == "__main__":
    for chart, section, place in PLACES:
        write(chart.schema_file, place, schema_of(section))
