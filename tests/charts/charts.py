"""The charts as they lie in deploy/helm, read without helm."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.architecture.tree import ROOT

HELM = ROOT / "deploy" / "helm"


@dataclass(frozen=True, slots=True)
class Chart:
    name: str

    @property
    def folder(self) -> Path:
        return HELM / self.name

    @property
    def schema_file(self) -> Path:
        return self.folder / "values.schema.json"

    @property
    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.schema_file.read_text())
        return found

    @property
    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((self.folder / "values.yaml").read_text())
        return found

    @property
    def about(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((self.folder / "Chart.yaml").read_text())
        return found

    @property
    def trials(self) -> list[Path]:
        """Values that a chart must render with."""
        return sorted((self.folder / "ci").glob("*.yaml"))

    @property
    def alerts(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / "alerts").glob("*.yaml"))
        groups = (group for file in files for group in yaml.safe_load(file.read_text()))
        return [rule for group in groups for rule in group["rules"]]

    @property
    def dashboards(self) -> dict[str, dict[str, Any]]:
        files = sorted((self.folder / "dashboards").glob("*.json"))
        return {file.stem: json.loads(file.read_text()) for file in files}

    def __str__(self) -> str:
        return self.name


BIGFLEET = Chart("bigfleet")
OPERATOR = Chart("bigfleet-operator")
PODWATCH = Chart("bigfleet-podwatch")
CHARTS = (BIGFLEET, OPERATOR, PODWATCH)
