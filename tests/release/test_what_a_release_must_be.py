"""What `make release` refuses, on releases made by hand; the real one is tried by the target."""

import re
import tarfile
from pathlib import Path

import pytest

from bigfleet import __version__
from tests.architecture.tree import ROOT
from tests.release.trial import IN_SDIST, TrialFailed, check_sdist, tried, why_not_same


def sdist_of(folder: Path, names: tuple[str, ...]) -> Path:
    path = folder / "bigfleet-9.9.9.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"bigfleet-9.9.9/{name}"))
    return path


def test_a_source_release_without_its_tests_is_refused(tmp_path: Path) -> None:
    check_sdist(sdist_of(tmp_path, IN_SDIST))
    with pytest.raises(TrialFailed, match=r"lacks tests/conftest\.py$"):
        check_sdist(sdist_of(tmp_path, tuple(n for n in IN_SDIST if not n.startswith("tests"))))


def test_a_wheel_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bigfleet-9.9.9-py3-none-any.whl").touch()
    with pytest.raises(TrialFailed, match=f"and not bigfleet-{__version__}-py3-none-any.whl"):
        tried(tmp_path, tmp_path / "place")


def test_a_file_that_one_wheel_lacks_is_named() -> None:
    assert why_not_same({"a.py": "1", "b.py": "2"}, {"a.py": "1", "b.py": "2"}) == ""
    assert why_not_same({"a.py": "1", "b.py": "2"}, {"a.py": "1"}) == "1 files differ: b.py"


def test_every_place_that_names_the_version_names_this_one() -> None:
    named = {
        "pyproject.toml": f'version = "{__version__}"',
        "deploy/images/Dockerfile": f"bigfleet:{__version__}",
        "docs/charts.md": f"bigfleet:{__version__}",
        "deploy/helm/bigfleet/Chart.yaml": f"appVersion: {__version__}",
        "deploy/helm/bigfleet-operator/Chart.yaml": f"appVersion: {__version__}",
        "deploy/helm/bigfleet-podwatch/Chart.yaml": f"appVersion: {__version__}",
    }
    assert [name for name, text in named.items() if text not in (ROOT / name).read_text()] == []


def test_the_change_log_has_a_section_for_this_version_and_one_for_the_next() -> None:
    sections = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[:2] == ["Unreleased", __version__]
