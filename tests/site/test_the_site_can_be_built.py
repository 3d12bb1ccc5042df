"""What `make docs` relies on, without building the site."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.tree import ROOT, name_of
from tests.site.other_hosts import loaded_from_other_hosts
from tests.site.staging import files_of_the_site, stage

SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def navigated(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for inner in entry if isinstance(entry, list) else entry.values():
            yield from navigated(inner)


def test_every_page_stands_in_the_navigation_once() -> None:
    shown = list(navigated(SITE["nav"]))
    found = [name_of(path) for path in files_of_the_site() if path.suffix == ".md"]
    assert sorted(shown) == sorted(found)


def test_a_page_and_what_it_links_to_are_copied_to_the_same_places(tmp_path: Path) -> None:
    stage(tmp_path / "docs")
    for name in (
        "docs/architecture.md",
        "deploy/helm/bigfleet/README.md",
        "examples/fleets/idle-spot.yaml",
    ):
        assert (tmp_path / "docs" / name).read_text() == (ROOT / name).read_text()


def test_what_tests_read_after_the_language_of_a_block_is_not_on_the_site(tmp_path: Path) -> None:
    """The site's Markdown would not see the block begin, and take its end for the begin of one."""
    written = (ROOT / "docs/questions.md").read_text()
    assert "\n```console journal=" in written
    stage(tmp_path / "docs")
    shown = (tmp_path / "docs/docs/questions.md").read_text()
    assert len(shown.splitlines()) == len(written.splitlines())
    fences = [line for line in shown.splitlines() if line.startswith("```")]
    assert all(line.removeprefix("```").isalnum() or line == "```" for line in fences)


def test_a_page_that_is_gone_leaves_the_copy(tmp_path: Path) -> None:
    gone = tmp_path / "docs" / "gone.md"
    gone.parent.mkdir()
    gone.write_text("# Gone")
    stage(tmp_path / "docs")
    assert not gone.exists()


def test_a_broken_link_fails_the_build() -> None:
    """With --quiet the builder neither prints nor counts warnings, and --strict has no effect."""
    (build,) = [
        line for line in (ROOT / "Makefile").read_text().splitlines() if "docs build" in line
    ]
    assert "--strict" in build
    assert "--quiet" not in build
    assert set(SITE["validation"].values()) == {"warn"}


def test_the_theme_loads_no_scripts_from_elsewhere() -> None:
    assert SITE["theme"]["highlightjs"] is False


LOADS = {
    '<script src="https://cdn.example/x.js"></script>': 1,
    '<link rel="stylesheet" href="//fonts.example/css">': 1,
    "<style>@import url('https://fonts.example/css');</style>": 1,
    '<a href="https://kubernetes.io/">a link that a reader follows</a>': 0,
    '<script src="js/theme.js"></script>': 0,
}


@pytest.mark.parametrize("page", LOADS)
def test_what_is_loaded_from_another_host_is_found(tmp_path: Path, page: str) -> None:
    (tmp_path / "index.html").write_text(page)
    assert len(loaded_from_other_hosts(tmp_path)) == LOADS[page]
