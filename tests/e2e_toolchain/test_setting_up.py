"""The set-up builds what is missing, once, whole or not at all, and says what it cannot do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.e2e.assets import missing
from tests.e2e.pins import BINARIES, CRDS, DEFINITIONS, NAMES, source_of
from tests.e2e.setting_up import NotSetUp, Progress, set_up

#: A `go` that builds at once: every output holds its package's name, every call is written down.
GO = """\
#!{python}
import json, os, sys
words = sys.argv[1:]
if words == ["env", "GOVERSION"]:
    print(os.environ.get("FAKE_VERSION", "go1.26.0"))
    sys.exit()
with open(os.environ["FAKE_CALLS"], "a") as calls:
    told = {{name: os.environ.get(name) for name in ("GOSUMDB", "GOFLAGS", "GOTOOLCHAIN")}}
    print(json.dumps([os.path.basename(os.getcwd()), words, told]), file=calls)
if words[:2] == ["mod", "download"]:
    print(os.environ["FAKE_MODULES"])
    sys.exit()
at = words.index("-o")
packages = words[at + 2:]
for package in packages:
    into = words[at + 1]
    into = into + package.rpartition("/")[2] if into.endswith("/") else into
    with open(into, "w") as made:
        made.write(package)
    if os.environ.get("FAKE_FAILS") in package.split("/"):
        sys.exit("module proxy not found")
"""


@pytest.fixture(autouse=True)
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only program there is; where it writes what it was asked for."""
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text(GO.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("FAKE_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("FAKE_MODULES", modules_of(tmp_path))
    monkeypatch.setenv("BIGFLEET_E2E_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path / "calls"


def modules_of(folder: Path, altered: str = "") -> str:
    """What `go mod download -json` says of modules that hold what the pins ask for."""
    told = []
    for line in (CRDS.folder / "go.sum").read_text().splitlines():
        path, version, content = line.split()
        if version.endswith("/go.mod"):
            continue
        place = folder / path.replace("/", "-")
        for definition in DEFINITIONS.values():
            (place / definition.path).parent.mkdir(parents=True, exist_ok=True)
            (place / definition.path).write_text("kind: CustomResourceDefinition")
        sums = {"Sum": altered or content, "Dir": str(place)}
        told.append(json.dumps({"Path": path, "Version": version, **sums}, indent=1))
    return "\n".join(told)


def calls(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def test_everything_is_built_once(go: Path) -> None:
    set_up(Progress())
    assert missing() == []
    built = {name: (source_of(name).place / name).read_text() for name in ("etcd", "kubectl")}
    assert built == {
        "etcd": "go.etcd.io/etcd/server/v3",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    }
    first = calls(go)
    assert len(first) == len(BINARIES) + 1
    set_up(Progress())
    assert calls(go) == first


def test_no_checksum_database_is_asked_and_no_other_go_is_fetched(go: Path) -> None:
    set_up(Progress())
    wanted = '"GOSUMDB": "off", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"'
    assert all(wanted in call for call in calls(go))


def test_only_what_is_not_given_is_built(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    set_up(Progress())
    assert not [call for call in calls(go) if "kube-apiserver" in call or "etcd" in call]
    assert missing() == []


def test_a_build_that_fails_leaves_nothing_and_tells_what_go_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAILS", "kube-scheduler")
    with pytest.raises(NotSetUp, match="module proxy not found") as failure:
        set_up(Progress())
    assert "KUBEBUILDER_ASSETS" in str(failure.value)
    assert missing() == list(NAMES)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_contents_other_than_the_pinned_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODULES", modules_of(tmp_path, altered="h1:other="))
    with pytest.raises(NotSetUp, match="its contents have changed"):
        set_up(Progress())


def test_without_go_the_message_says_what_is_missing_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotSetUp, match=r"lacks kube-apiserver.*Install Go 1\.25\.0 or later"):
        set_up(Progress())


def test_an_old_go_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VERSION", "go1.19.8")
    with pytest.raises(NotSetUp, match=r"needs Go 1\.25\.0 or later; \S+ is go1\.19\.8"):
        set_up(Progress())


def test_of_two_that_start_together_one_builds_and_both_find_everything(go: Path) -> None:
    words = [sys.executable, "-m", "tests.e2e.setting_up"]
    both = [
        subprocess.Popen(words, cwd=ROOT, env=os.environ, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert len(calls(go)) == len(BINARIES) + 1
