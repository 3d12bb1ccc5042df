"""Versions are pinned, contents are pinned by hash, and a piece is found where it lies."""

import re
from pathlib import Path

import pytest

from tests.e2e.assets import found, missing, require
from tests.e2e.pins import BINARIES, CRDS, DEFINITIONS, NAMES, Source, source_of, version_of

SOURCES = [*BINARIES, CRDS]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one, and nothing given."""
    monkeypatch.setenv("BIGFLEET_E2E_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("BIGFLEET_REQUIRE_E2E", raising=False)
    return tmp_path / "cache"


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_module_is_pinned_by_the_hash_of_its_contents(source: Source) -> None:
    sums = (source.folder / "go.sum").read_text()
    assert re.search(rf"^{re.escape(source.module)} {re.escape(source.version)} h1:", sums, re.M)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_definition_comes_from_a_module_pinned_by_hash(name: str) -> None:
    sums = (CRDS.folder / "go.sum").read_text()
    assert f"{DEFINITIONS[name].module} {version_of(name)} h1:" in sums


@pytest.mark.parametrize("source", BINARIES, ids=lambda source: source.name)
def test_every_program_is_a_tool_of_its_module(source: Source) -> None:
    words = (source.folder / "go.mod").read_text().split()
    assert {binary.package for binary in BINARIES[source].values()} <= set(words)


def test_staging_modules_are_those_of_the_release() -> None:
    kubernetes = source_of("kube-apiserver")
    replaced = re.findall(r"=> k8s\.io/\S+ (v\S+)", (kubernetes.folder / "go.mod").read_text())
    assert set(replaced) == {kubernetes.version.replace("v1.", "v0.", 1)}


def test_in_an_empty_cache_everything_is_missing() -> None:
    assert missing() == list(NAMES)


def test_what_was_built_is_found() -> None:
    built = put(source_of("etcd").place / "etcd")
    assert (found("etcd"), missing("etcd", "helm")) == (built, ["helm"])


def test_what_is_given_goes_before_what_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, given = put(source_of("helm").place / "helm"), put(tmp_path / "given" / "etcd")
    put(source_of("etcd").place / "etcd")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given.parent))
    assert (found("etcd"), found("helm")) == (given, built)


def test_a_test_that_lacks_a_piece_skips_and_names_the_remedy() -> None:
    with pytest.raises(pytest.skip.Exception, match="lacks kube-apiserver: run `make e2e-setup`"):
        require("kube-apiserver")


def test_a_test_that_lacks_a_piece_fails_where_the_rig_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BIGFLEET_REQUIRE_E2E", "1")
    with pytest.raises(pytest.fail.Exception, match="lacks kube-apiserver: run `make e2e-setup`"):
        require("kube-apiserver")


def test_another_version_lies_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = source_of("etcd").place
    folder = tmp_path / "etcd"
    folder.mkdir()
    for file in (source_of("etcd").folder).iterdir():
        (folder / file.name).write_text(file.read_text().replace("v3.6.16", "v3.6.99"))
    monkeypatch.setattr("tests.e2e.pins.TOOLCHAIN", tmp_path)
    after = Source("etcd", source_of("etcd").module).place
    assert (before.name[:13], after.name[:13]) == ("etcd-v3.6.16-", "etcd-v3.6.99-")
    assert before.name[13:] != after.name[13:]
