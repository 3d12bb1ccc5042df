"""Charts as helm renders them, and what they would run."""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.charts.charts import CHARTS, Chart
from tests.e2e.assets import require

NAMESPACE = "fleet"
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """A chart with values it must work with."""

    chart: Chart
    values: Path

    def __str__(self) -> str:
        return f"{self.chart}-{self.values.stem}"

    def objects(self, namespace: str = NAMESPACE) -> list[Object]:
        text = rendered(self.chart.folder, "--values", str(self.values), namespace=namespace)
        return [each for each in yaml.safe_load_all(text) if each]


TRIALS = [Trial(chart, values) for chart in CHARTS for values in chart.trials]


def helm(*words: str, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    command = [str(require("helm")), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@cache
def rendered(chart: Path, *words: str, namespace: str = NAMESPACE) -> str:
    done = helm("template", "fleet", str(chart), "--namespace", namespace, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def of_kind(objects: Sequence[Object], *kinds: str) -> list[Object]:
    return [each for each in objects if each["kind"] in kinds]


@dataclass(frozen=True, slots=True)
class Workload:
    """One pod of a Deployment or StatefulSet, as it would be made."""

    owner: Object
    config: Object | None

    @property
    def pod_name(self) -> str:
        return f"{self.owner['metadata']['name']}-0"

    @property
    def template(self) -> Object:
        found: Object = self.owner["spec"]["template"]
        return found

    @property
    def containers(self) -> list[Object]:
        spec = self.template["spec"]
        return [*spec.get("initContainers", ()), *spec["containers"]]

    @property
    def words(self) -> list[str]:
        """Of its first container, as the kubelet passes them."""
        words = self.containers[0]["args"]
        return [word.replace("$(POD_NAME)", self.pod_name) for word in words]

    def pod(self) -> Object:
        metadata = {"name": self.pod_name, "labels": self.template["metadata"]["labels"]}
        # Claims of a StatefulSet are volumes of its pods.
        claims = self.owner["spec"].get("volumeClaimTemplates", [])
        names = [claim["metadata"]["name"] for claim in claims]
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        spec = dict(self.template["spec"])
        spec["volumes"] = [*spec["volumes"], *volumes]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def workloads(objects: Sequence[Object]) -> Iterator[Workload]:
    configs = {each["metadata"]["name"]: each for each in of_kind(objects, "ConfigMap")}
    for owner in of_kind(objects, "Deployment", "StatefulSet"):
        volumes = owner["spec"]["template"]["spec"]["volumes"]
        names = [each["configMap"]["name"] for each in volumes if each["name"] == "config"]
        yield Workload(owner, configs[names[0]] if names else None)
