"""Every chart's schema knows its values, and nothing else."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from bigfleet.cli.settings.keys import Section
from tests.charts.charts import BIGFLEET, CHARTS, OPERATOR, Chart
from tests.charts.schema_check import objects_in, violations
from tests.charts.settings_schemas import PLACES, schema_at, schema_of

TRIALS = [(chart, file) for chart in CHARTS for file in chart.trials]
#: Freely filled by whoever installs: there is no default to name each key.
FILLED_BY_USERS = ("config",)


def merged(values: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """As helm does it: maps key by key, everything else replaced."""
    result = deepcopy(values)
    for key, value in more.items():
        both_are_maps = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both_are_maps else value
    return result


def keys_of(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> set[str]:
    """Of all maps that the schema knows key by key."""
    found = set()
    for name, value in values.items():
        found.add(f"{path}{name}")
        inner = schema.get("properties", {}).get(name, {})
        if isinstance(value, dict) and "properties" in inner and name not in FILLED_BY_USERS:
            found |= keys_of(value, inner, f"{path}{name}.")
    return found


def keys_known_to(schema: dict[str, Any], path: str = "") -> set[str]:
    found = set()
    for name, inner in schema.get("properties", {}).items():
        found.add(f"{path}{name}")
        if name not in FILLED_BY_USERS:
            found |= keys_known_to(inner, f"{path}{name}.")
    return found


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_the_defaults_of_a_chart_pass_its_schema(chart: Chart) -> None:
    assert violations(chart.schema, chart.values) == []


@pytest.mark.parametrize(
    ("chart", "file"), TRIALS, ids=lambda each: getattr(each, "stem", str(each))
)
def test_the_values_a_chart_is_tried_with_pass_its_schema(chart: Chart, file: Path) -> None:
    values = merged(chart.values, yaml.safe_load(file.read_text()))
    assert violations(chart.schema, values) == []


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_every_map_of_a_schema_refuses_keys_it_does_not_know(chart: Chart) -> None:
    maps = dict(objects_in(chart.schema))
    assert maps["values"]["additionalProperties"] is False
    assert [
        path for path, each in maps.items() if each.get("additionalProperties") is not False
    ] == []


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_every_key_a_schema_knows_has_a_default_and_the_other_way_round(chart: Chart) -> None:
    known = keys_known_to(chart.schema) - {"global"}
    assert keys_of(chart.values, chart.schema) == known


@pytest.mark.parametrize(
    ("chart", "section", "place"), PLACES, ids=lambda each: getattr(each, "name", None)
)
def test_a_chart_takes_every_setting_of_the_process_it_runs(
    chart: Chart, section: Section, place: tuple[str, ...]
) -> None:
    remedy = "run python -m tests.charts.settings_schemas"
    assert schema_at(chart, place) == schema_of(section), remedy


@pytest.mark.parametrize(
    ("chart", "wrong"),
    [
        pytest.param(BIGFLEET, {"shards": {}}, id="an unknown key"),
        pytest.param(
            BIGFLEET, {"shard": {"config": {"cycle_intervall": "1s"}}}, id="a setting misspelt"
        ),
        pytest.param(
            BIGFLEET, {"shard": {"config": {"listen": "0:1"}}}, id="a setting the chart owns"
        ),
        pytest.param(BIGFLEET, {"shard": {"config": {"cycle_interval": "soon"}}}, id="no duration"),
        pytest.param(BIGFLEET, {"shard": {"size": "huge"}}, id="no size"),
        pytest.param(BIGFLEET, {"shard": {"providers": [{"name": "aws"}]}}, id="no address"),
        pytest.param(
            BIGFLEET, {"tls": {"shardSecret": "one-for-all"}}, id="one secret for all shards"
        ),
        pytest.param(BIGFLEET, {"image": {"tag": "latest"}}, id="a tag that moves"),
        pytest.param(BIGFLEET, {"image": {"digest": "sha256:123"}}, id="no digest"),
        pytest.param(OPERATOR, {"clusterId": "no spaces"}, id="no cluster id"),
        pytest.param(OPERATOR, {"bootstrap": {"mintToken": "yes"}}, id="no switch"),
        pytest.param(OPERATOR, {"bootstrap": {"tokenPrefix": "BF-1"}}, id="no prefix of an id"),
        pytest.param(
            OPERATOR, {"networkPolicy": {"shardTo": [{"cidr": "10.0.0.0/8"}]}}, id="no peer"
        ),
    ],
)
def test_values_that_cannot_work_are_refused(chart: Chart, wrong: dict[str, Any]) -> None:
    assert len(violations(chart.schema, merged(chart.values, wrong))) == 1


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_a_schema_is_written_as_its_writer_writes_it(chart: Chart) -> None:
    assert chart.schema_file.read_text() == json.dumps(chart.schema, indent=2) + "\n"
