"""What a chart repeats is what it repeats: definitions, shared templates, versions."""

import pytest
import yaml

from bigfleet import __version__
from tests.architecture.tree import PACKAGE, ROOT
from tests.charts.charts import CHARTS, OPERATOR, Chart

SOURCES = sorted((PACKAGE / "kube" / "crds").glob("*.yaml"))
COPIES = sorted((OPERATOR.folder / "definitions").glob("*.yaml"))


def test_the_operator_chart_holds_every_definition_unchanged() -> None:
    assert len(SOURCES) == 3
    remedy = "cp src/bigfleet/kube/crds/*.yaml deploy/helm/bigfleet-operator/definitions/"
    wanted = {path.name: path.read_bytes() for path in SOURCES}
    assert {path.name: path.read_bytes() for path in COPIES} == wanted, remedy


def test_a_definition_is_one_document_that_the_template_can_annotate() -> None:
    for path in COPIES:
        (definition,) = yaml.safe_load_all(path.read_text())
        assert definition["kind"] == "CustomResourceDefinition"


def test_the_shared_templates_are_the_same_in_every_chart() -> None:
    texts = {(chart.folder / "templates" / "_shared.tpl").read_text() for chart in CHARTS}
    assert len(texts) == 1


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_a_chart_installs_the_version_it_lies_beside(chart: Chart) -> None:
    assert chart.about["appVersion"] == __version__
    assert chart.about["kubeVersion"] == ">=1.31.0-0"


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_a_chart_names_no_registry(chart: Chart) -> None:
    assert chart.values["image"]["repository"] == "bigfleet"
    assert chart.values["image"]["tag"] == ""


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_the_page_of_a_chart_explains_every_value(chart: Chart) -> None:
    page = (chart.folder / "README.md").read_text()
    missing = [key for key in chart.values if f"`{key}" not in page]
    assert missing == []


def test_the_page_about_charts_names_each_of_them() -> None:
    page = (ROOT / "docs" / "charts.md").read_text()
    assert [chart.name for chart in CHARTS if f"deploy/helm/{chart.name}" not in page] == []
