"""Charts of deploy/helm, rendered by the real helm: their rights are those the rig hands out."""

import asyncio
import json
import subprocess
from pathlib import Path

import yaml

from tests.architecture.tree import ROOT
from tests.e2e.assets import require
from tests.e2e.rig.api import Object

CHARTS = ROOT / "deploy" / "helm"
_RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


async def helm(*words: str, kubeconfig: Path | None = None) -> str:
    """What it prints; a complaint is an error."""
    more = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    process = await asyncio.create_subprocess_exec(
        str(require("helm")), *words, *more, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, errors = await process.communicate()
    assert process.returncode == 0, f"helm {' '.join(words)}: {errors.decode()}"
    return out.decode()


async def rendered(chart: str, namespace: str, **values: object) -> list[Object]:
    """Every object of the chart, released under its own name into that namespace."""
    words = ["template", chart, str(CHARTS / chart), "--namespace", namespace]
    for name, value in values.items():
        words += ["--set-json", f"{name}={json.dumps(value)}"]
    return [each for each in yaml.safe_load_all(await helm(*words)) if each]


def rights_in(objects: list[Object]) -> list[Object]:
    """Accounts, roles and bindings: what a process may, without the process."""
    return [each for each in objects if each["kind"] in _RIGHTS]
