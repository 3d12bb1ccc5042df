"""What the rig is made of, and where each pinned piece lies once it is made.

The version of a piece is the one its committed go.mod requires; go.sum beside it pins the contents.
A piece lies in a folder of the cache named after its version and a digest of all that goes into it,
so a changed pin never meets an old build, and two trees share what they have in common.
"""

import hashlib
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TOOLCHAIN = Path(__file__).parent / "toolchain"
#: Anything here changes what is built.
BUILD_WORDS = ("-trimpath", "-buildvcs=false")


def cache_folder() -> Path:
    """Outside the tree: a clean checkout finds what an earlier one has built."""
    if named := os.environ.get("BIGFLEET_E2E_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bigfleet" / "e2e"


@dataclass(frozen=True)
class Source:
    """One committed Go module folder and the module whose version counts."""

    name: str
    module: str

    @property
    def folder(self) -> Path:
        return TOOLCHAIN / self.name

    @cached_property
    def version(self) -> str:
        return self.version_of(self.module)

    def version_of(self, module: str) -> str:
        found = re.search(rf"^(?:require|\t)\s*{re.escape(module)} (v\S+)", self._go_mod, re.M)
        assert found is not None, f"{self.folder}/go.mod does not require {module}"
        return found[1]

    @cached_property
    def go(self) -> str:
        """The oldest Go that builds it."""
        found = re.search(r"^go (\S+)$", self._go_mod, re.M)
        assert found is not None, f"{self.folder}/go.mod does not name its Go"
        return found[1]

    @property
    def place(self) -> Path:
        """Of everything made from it."""
        return cache_folder() / f"{self.name}-{self.version}-{self._digest}"

    @cached_property
    def _digest(self) -> str:
        of = [self.folder / "go.mod", self.folder / "go.sum"]
        parts = [path.read_bytes() for path in of]
        parts += [repr(made_from(self)).encode(), platform.machine().encode()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]

    @cached_property
    def _go_mod(self) -> str:
        return (self.folder / "go.mod").read_text()


@dataclass(frozen=True)
class Binary:
    """A program, and the variables by which the linker tells it its version."""

    package: str
    said_version: Mapping[str, str]


@dataclass(frozen=True)
class Definition:
    """A CustomResourceDefinition inside a published module."""

    module: str
    path: str


KUBERNETES = Source("kubernetes", "k8s.io/kubernetes")
ETCD = Source("etcd", "go.etcd.io/etcd/server/v3")
HELM = Source("helm", "helm.sh/helm/v3")
CRDS = Source("crds", "github.com/prometheus-operator/prometheus-operator")

_MAJOR, _MINOR, _ = KUBERNETES.version.removeprefix("v").split(".")
_KUBERNETES_SAYS = {
    "k8s.io/component-base/version.gitVersion": KUBERNETES.version,
    "k8s.io/component-base/version.gitMajor": _MAJOR,
    "k8s.io/component-base/version.gitMinor": _MINOR,
}
#: Charts are rendered for the Kubernetes they are installed into.
_HELM_SAYS = {
    "helm.sh/helm/v3/internal/version.version": HELM.version,
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": _MAJOR,
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": _MINOR,
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": _MAJOR,
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": _MINOR,
}
_AUTOSCALER = "k8s.io/autoscaler/cluster-autoscaler/apis"

BINARIES: Mapping[Source, Mapping[str, Binary]] = {
    KUBERNETES: {
        name: Binary(f"k8s.io/kubernetes/cmd/{name}", _KUBERNETES_SAYS)
        for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
    },
    ETCD: {"etcd": Binary("go.etcd.io/etcd/server/v3", {})},
    HELM: {"helm": Binary("helm.sh/helm/v3/cmd/helm", _HELM_SAYS)},
}
DEFINITIONS: Mapping[str, Definition] = {
    "provisioningrequests.yaml": Definition(
        _AUTOSCALER, "config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml"
    ),
    "servicemonitors.yaml": Definition(
        CRDS.module,
        "example/prometheus-operator-crd-full/monitoring.coreos.com_servicemonitors.yaml",
    ),
    "prometheusrules.yaml": Definition(
        CRDS.module,
        "example/prometheus-operator-crd-full/monitoring.coreos.com_prometheusrules.yaml",
    ),
}
NAMES = (*(name for pieces in BINARIES.values() for name in pieces), *DEFINITIONS)


def made_from(source: Source) -> object:
    """All that decides, beside go.mod and go.sum, what the folder of a source holds."""
    if source == CRDS:
        return sorted((name, of.module, of.path) for name, of in DEFINITIONS.items())
    pieces = BINARIES[source]
    return BUILD_WORDS, sorted(
        (n, b.package, sorted(b.said_version.items())) for n, b in pieces.items()
    )


def version_of(name: str) -> str:
    of = DEFINITIONS.get(name)
    return CRDS.version_of(of.module) if of else source_of(name).version


def source_of(name: str) -> Source:
    return next((source for source, pieces in BINARIES.items() if name in pieces), CRDS)
